import { expect, it } from 'vitest'
import { redactServerAddress } from './server-address-redaction.ts'

it.each([
  ['nats://192.168.1.5:4222', 'nats://192.168.1.5:4222'],
  ['broker.lan', 'broker.lan'],
  ['tls://ada:pa@ss@broker.lan:4222', 'tls://broker.lan:4222'],
  ['nats://token@[::1]:4222', 'nats://[::1]:4222'],
])('%s is shown as %s', (address, shown) => {
  expect(redactServerAddress(address)).toBe(shown)
})
