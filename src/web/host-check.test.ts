import { describe, expect, it } from 'vitest'
import { isAllowedHost, isAllowedOrigin } from './listener-server.ts'

const rules = { allowedHosts: ['home.example'], allowedOrigins: ['https://app.example'] }

describe('host check', () => {
  it.each(['127.0.0.1:7420', 'localhost:7420', 'LOCALHOST', '[::1]:7420', '192.168.1.4:7420', 'home.example:7420'])(
    'allows the host %s',
    (host) => {
      expect(isAllowedHost(host, rules)).toBe(true)
    },
  )

  it.each([undefined, '', 'evil.example', 'localhost.evil.example', 'a@127.0.0.1', '127.0.0.1/x', '127.0.0.1 evil'])(
    'refuses the host %s',
    (host) => {
      expect(isAllowedHost(host, rules)).toBe(false)
    },
  )

  it('allows its own origin, a missing origin, and those that the owner configured', () => {
    expect(isAllowedOrigin(undefined, '127.0.0.1:7420', rules)).toBe(true)
    expect(isAllowedOrigin('http://127.0.0.1:7420', '127.0.0.1:7420', rules)).toBe(true)
    expect(isAllowedOrigin('https://app.example', '127.0.0.1:7420', rules)).toBe(true)
  })

  it('refuses other origins, another port and the origin null', () => {
    expect(isAllowedOrigin('http://127.0.0.1:8000', '127.0.0.1:7420', rules)).toBe(false)
    expect(isAllowedOrigin('null', '127.0.0.1:7420', rules)).toBe(false)
    expect(isAllowedOrigin('http://evil.example', 'evil.example', rules)).toBe(false)
  })
})
