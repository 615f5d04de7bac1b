import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPrivateHost, parseUrlRule, findUrlArguments, explainForbiddenUrl } from './url-rule.ts'

const rules = ['https://files.example.org/firmware/', 'http://192.168.1.9:8080/', 'https://*.cdn.example.net/'].map(
  (text) => parseUrlRule(text) ?? expect.fail(text),
)
const isAllowed = (url: string): boolean => explainForbiddenUrl(url, rules) === undefined

describe('a URL rule', () => {
  it('allows URLs below its path and, with a wildcard, on subdomains', () => {
    expect(isAllowed('https://files.example.org/firmware/2.5.bin')).toBe(true)
    expect(isAllowed('https://files.example.org:443/firmware/a/b?c=d')).toBe(true)
    expect(isAllowed('http://192.168.1.9:8080/any')).toBe(true)
    expect(isAllowed('https://a.b.cdn.example.net/x')).toBe(true)
  })

  it.each([
    'https://files.example.org/firmwares/x',
    'https://files.example.org/firmware/../x',
    'https://files.example.org/firmware/%2E%2e/x',
    'https://files.example.org/firmware/..%2fx',
    String.raw`https://files.example.org/firmware\..\x`,
    'https://files.example.org:444/firmware/x',
    'http://files.example.org/firmware/x',
    'https://user@files.example.org/firmware/x',
    'https://files.example.org:pw@evil.example/firmware/x',
    'https://files.example.org/firmware/x#frag',
    'https://FILES.example.org/firmware/x',
    'https://files.example.org./firmware/x',
    'https://cdn.example.net/x',
    'https://evilcdn.example.net/x',
    'http://192.168.1.9/any',
    'http://192.168.1.9:8080@127.0.0.1/any',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://3232235777/',
    'http://[::ffff:127.0.0.1]/',
    'ftp://files.example.org/firmware/x',
    'javascript:alert(1)',
    ' https://files.example.org/firmware/x',
    'https://files.example.org/firmware/x y',
    'https://files.example.org/firmware/\u0000',
    '',
  ])('refuses %j', (url) => {
    expect(isAllowed(url)).toBe(false)
  })

  it('allows no URL whose host the WHATWG parser reads differently', () => {
    const piece = fc.constantFrom(
      'https://',
      'files.example.org',
      '/firmware/',
      '@',
      ':',
      '..',
      '%2e',
      '\\',
      '#',
      '?',
      '127.0.0.1',
      'evil.example',
      '[',
      ']',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const url = pieces.join('')
        expect(!isAllowed(url) || /^https:\/\/files\.example\.org(?::443)?\/firmware\//.test(url)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('names private addresses as inside the house in the refusal', () => {
    expect(explainForbiddenUrl('http://10.1.2.3/', [])).toBe(
      '10.1.2.3, an address inside the house, which devices.urls does not allow',
    )
    expect(explainForbiddenUrl('http://example.org/', [])).toBe('example.org, which devices.urls does not allow')
    for (const host of [
      '127.0.0.1',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.0.1',
      '169.254.1.1',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
      '::1',
      'router',
      'nas.local',
      'a.fritz.lan',
      'localhost',
    ])
      expect(isPrivateHost(host)).toBe(true)
    for (const host of ['8.8.8.8', '172.32.0.1', '100.128.0.1', 'example.org', 'local.example.org'])
      expect(isPrivateHost(host)).toBe(false)
  })

  it('with a wildcard does not allow names of the local network', () => {
    const rule = parseUrlRule('http://*.fritz.lan/')
    expect(explainForbiddenUrl('http://nas.fritz.lan/', rule === undefined ? [] : [rule])).toBeDefined()
  })
})

describe('URLs in tool arguments', () => {
  it('are found by argument name and by their form, at any depth', () => {
    const body = {
      url: 'a sentence',
      image_url: 'x',
      question: 'what is at http://example.org?',
      text: ' HTTP://example.org',
      deep: { list: ['//evil.example/x', 'plain'], imageUrl: 'y' },
      curl: 'hair',
      urls: ['one', 'two'],
    }
    expect(findUrlArguments(body).map(({ path, url }) => `${path} ${url}`)).toEqual([
      'url a sentence',
      'image_url x',
      'text  HTTP://example.org',
      'deep.list //evil.example/x',
      'deep.imageUrl y',
      'urls one',
      'urls two',
    ])
  })
})
