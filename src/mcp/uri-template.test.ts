import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUriTemplate, parseUriTemplate } from './uri-template.ts'

function match(template: string, uri: string): unknown {
  return parseUriTemplate(template)?.match(uri)
}

describe('URI template', () => {
  it('extracts its variables and decodes them', () => {
    expect(match('hs4://devices/{ref}/history', 'hs4://devices/47%2F11/history')).toEqual({ ref: '47/11' })
    expect(match('a://{x}/{y}', 'a://1/2')).toEqual({ x: '1', y: '2' })
    expect(match('a://files/{+path}', 'a://files/b/c')).toEqual({ path: 'b/c' })
  })

  it('accepts named query parameters in any order, none of them required', () => {
    const template = 'a://log/{id}{?from,to}'
    expect(match(template, 'a://log/1')).toEqual({ id: '1' })
    expect(match(template, 'a://log/1?to=12&from=3%204')).toEqual({ id: '1', to: '12', from: '3 4' })
    expect(match(template, 'a://log/1?other=2')).toBeUndefined()
  })

  it('does not match a part of a URI, a slash within a variable, or invalid encoding', () => {
    expect(match('a://{x}', 'a://b/c')).toBeUndefined()
    expect(match('a://{x}/end', 'xa://b/end')).toBeUndefined()
    expect(match('a://{x}', 'a://')).toBeUndefined()
    expect(match('a://{x}', 'a://%ff')).toBeUndefined()
    expect(match('a.b://{x}', 'acb://1')).toBeUndefined()
  })

  it('extracts any value that was encoded into it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        expect(match('a://{x}/z', `a://${encodeURIComponent(value)}/z`)).toEqual({ x: value })
      }),
    )
  })

  it('is not parsed with an unsupported expression', () => {
    for (const text of ['a://{#x}', 'a://{x', 'a://x}', 'a://{x*}', 'a://{{x}}'])
      expect([text, parseUriTemplate(text)]).toEqual([text, undefined])
    expect([isUriTemplate('a://{x}'), isUriTemplate('a://x')]).toEqual([true, false])
  })

  it('is not parsed if a URI could match in several ways', () => {
    for (const text of ['a://{x}{y}', 'a://{x}-{y}', '{+a}{+b}{+c}~', 'a://{+path}/{x}', 'a://{+a}/{+b}'])
      expect([text, parseUriTemplate(text)]).toEqual([text, undefined])
    expect(match('a://{x}/{y}/{+path}{?z}', 'a://1/2/3/4?z=5')).toEqual({ x: '1', y: '2', path: '3/4', z: '5' })
    expect(match('a://{x}#{y}', 'a://1#2')).toEqual({ x: '1', y: '2' })
    expect(match('a://{x}.json/{+path}.txt', 'a://b.json.json/c/d.txt')).toEqual({ x: 'b.json', path: 'c/d' })
  })
})
