import { describe, expect, it } from 'vitest'
import { isLoopback } from './loopback.ts'

describe('loopback host', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '[::1]', '::ffff:127.0.0.1', '[::ffff:7f00:1]', 'localhost', 'LOCALHOST'])(
    'includes %s',
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
  ])('does not include %s', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})
