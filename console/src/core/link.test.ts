import { describe, expect, it } from 'vitest'
import { linkFrom } from './link.ts'

describe('sign-in link for another person', () => {
  it('has the origin of this page, which others can reach as well', () => {
    const url = 'http://127.0.0.1:7420/#/sign-in/abc'
    expect(linkFrom(url, 'http://192.168.1.5:7420')).toBe('http://192.168.1.5:7420/#/sign-in/abc')
    expect(linkFrom(url, 'https://home.example')).toBe('https://home.example/#/sign-in/abc')
  })

  it("keeps the gateway's own address if this page came from a loopback address", () => {
    const url = 'http://192.168.1.5:7420/#/sign-in/abc'
    for (const origin of ['http://127.0.0.1:7420', 'http://localhost:7420', 'http://[::1]:7420'])
      expect(linkFrom(url, origin)).toBe(url)
  })
})
