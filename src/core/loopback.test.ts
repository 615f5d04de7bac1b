import { describe, expect, it } from 'vitest'
import { isLoopback } from './loopback.ts'

describe('loopback', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '[::1]', '::ffff:127.0.0.1', '[::ffff:7f00:1]', 'localhost', 'LOCALHOST'])(
    'is %s',
    (host) => {
      expect(isLoopback(host)).toBe(true)
    },
  )

  it.each([
    '10.0.0.1',
    '::',
    '0.0.0.0',
    '::ffff:10.0.0.1',
    '[::ffff:a00:1]',
    '127.example.org',
    '127.0.0',
    '10.127.0.0.1',
    '127.0.0.1.evil',
    'localhost.example',
    '',
  ])('is not %s', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})
