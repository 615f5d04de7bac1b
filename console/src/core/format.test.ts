import { describe, expect, it } from 'vitest'
import { ageText, askerOf, browserText, leftText, tookText } from './format.ts'

describe('browser name', () => {
  it.each([
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox 140 on Linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0',
      'Edge 138 on Windows',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
      'Safari 18 on iPhone',
    ],
    ['curl/8.5.0', undefined],
  ])('for %s is %s', (userAgent, words) => {
    expect(browserText(userAgent)).toBe(words)
  })
})

describe('caller of a waiting request', () => {
  it('is shown as a principal, as a node, or as an actor named by a node', () => {
    const asked = (principal: string, more = {}): string =>
      askerOf({ binding: { principal, tool: 'test.door' }, ...more })
    expect(asked('claude')).toBe('claude')
    expect(asked('peer:ed25519:AAAABBBBCCCCDDDD', { askedBy: 'attic' })).toBe('the node attic (ed25519:AAAABBBB…)')
    expect(asked('peer:ed25519:AAAABBBBCCCCDDDD/owner', { askedBy: 'attic', askedFor: 'owner' })).toBe(
      'owner, says the node attic (ed25519:AAAABBBB…)',
    )
  })
})

describe('times and durations', () => {
  it('are rounded according to their age', () => {
    expect([1_000, 30_000, 600_000, 7_200_000, 400_000_000].map(ageText)).toEqual([
      'just now',
      '30 s ago',
      '10 min ago',
      '2 h ago',
      '5 d ago',
    ])
    expect([500, 120_000].map(leftText)).toEqual(['1 s', '2 min'])
    expect([0.2, 7.25, 250, 1_500, 61_000].map(tookText)).toEqual(['< 1 ms', '7.3 ms', '250 ms', '1.5 s', '61 s'])
  })
})
