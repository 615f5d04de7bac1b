import { expect, it } from 'vitest'
import { formatHttpUrl } from './http-address.ts'

it.each([
  ['127.0.0.1', 'http://127.0.0.1:7420'],
  ['home.local', 'http://home.local:7420'],
  ['fe80::1', 'http://[fe80::1]:7420'],
  ['0.0.0.0', 'http://127.0.0.1:7420'],
  ['::', 'http://[::1]:7420'],
])('a listener at %s is reached at %s', (host, url) => {
  expect(formatHttpUrl(host, 7420)).toBe(url)
})
