import { describe, expect, it } from 'vitest'
import { isAllowedHost, isAllowedOrigin } from './listener-server.ts'

const rules = { allowedHosts: ['home.example'], allowedOrigins: ['https://app.example'] }

describe('host check', () => {
  it.each(['127.0.0.1:7420', 'localhost:7420', 'LOCALHOST', '[::1]:7420', '192.168.1.4:7420', 'home.example:7420'])(
    'takes %s',
    (host) => {
      expect(isAllowedHost(host, rules)).toBe(true)
    },
  )

  it.each([undefined, '', 'evil.example', 'localhost.evil.example', 'a@127.0.0.1', '127.0.0.1/x', '127.0.0.1 evil'])(
    'refuses %s',
    (host) => {
      expect(isAllowedHost(host, rules)).toBe(false)
    },
  )

  it('takes its own origin, none at all, and those that the owner allowed', () => {
    expect(isAllowedOrigin(undefined, '127.0.0.1:7420', rules)).toBe(true)
    expect(isAllowedOrigin('http://127.0.0.1:7420', '127.0.0.1:7420', rules)).toBe(true)
    expect(isAllowedOrigin('https://app.example', '127.0.0.1:7420', rules)).toBe(true)
  })

  it('refuses other origins, also on another port, also as null', () => {
    expect(isAllowedOrigin('http://127.0.0.1:8000', '127.0.0.1:7420', rules)).toBe(false)
    expect(isAllowedOrigin('null', '127.0.0.1:7420', rules)).toBe(false)
    expect(isAllowedOrigin('http://evil.example', 'evil.example', rules)).toBe(false)
  })
})
