import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toUtf8 } from '../../core/bytes.ts'
import { decodeAcknowledgement, decodeHomeseerReply } from './http-exchange.ts'

const read = (text: string) => decodeHomeseerReply(toUtf8(text))

describe('HomeSeer reply', () => {
  it('is decoded from the bare words ok and error', () => {
    expect(read('ok\r\n')).toEqual({ ok: true, value: { kind: 'word', word: 'ok' } })
    expect(read('error\r\n')).toEqual({ ok: false, fault: { kind: 'refused', reason: 'error', text: 'error' } })
  })

  it('is decoded from a Response text', () => {
    expect(read('{"Response":"4.2.22.4"}\r\n')).toEqual({ ok: true, value: { kind: 'response', text: '4.2.22.4' } })
  })

  it('is a refusal if its text begins with Error, although the status is 200', () => {
    expect(read('{"Response":"Error, bad request"}')).toEqual({
      ok: false,
      fault: { kind: 'refused', reason: 'bad-request', text: 'Error, bad request' },
    })
    expect(read('{"Response":"Error: unknown request"}')).toMatchObject({ fault: { reason: 'unsupported' } })
  })

  it('distinguishes a refused login and disabled JSON from other refusals', () => {
    expect(read('{"Response":"Error, login failed"}')).toEqual({ ok: false, fault: { kind: 'unauthorised' } })
    expect(read('{"Response":"Error, JSON control is disabled"}')).toMatchObject({ fault: { kind: 'json-disabled' } })
  })

  it('is classified by the beginning of a refusal, in bounded time', () => {
    expect(read(`error: json${' json'.repeat(100)} is disabled`)).toMatchObject({
      fault: { kind: 'refused', reason: 'other' },
    })
    expect(read(`error${' json'.repeat(1_000_000)}`)).toMatchObject({ fault: { kind: 'refused', reason: 'other' } })
  })

  it('is unauthorised for a login page, and a page for other HTML', () => {
    expect(read('<html><input type="password"></html>')).toEqual({ ok: false, fault: { kind: 'unauthorised' } })
    expect(read('<html>done</html>')).toEqual({ ok: true, value: { kind: 'page' } })
  })

  it('is decoded behind a byte order mark, and from Latin-1', () => {
    expect(decodeHomeseerReply(fromHex('ef bb bf 5b 31 5d'))).toEqual({ ok: true, value: { kind: 'json', value: [1] } })
    expect(decodeHomeseerReply(fromHex('22 4b fc 63 68 65 22'))).toEqual({
      ok: true,
      value: { kind: 'json', value: 'Küche' },
    })
  })

  it('has half a surrogate pair replaced', () => {
    expect(read(String.raw`{"Devices":[{"ref":1,"name":"Song \ud83d"}]}`)).toMatchObject({
      value: { value: { Devices: [{ name: 'Song \ufffd' }] } },
    })
  })

  it('has numbers, nesting and keys that JSON cannot carry removed, and keeps the rest', () => {
    const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
    expect(
      read(`{"Devices":[{"ref":1,"worth":1e999,"deep":${deep},"__proto__":{"ref":2},"name":"Lamp"},{"ref":2}]}`),
    ).toMatchObject({ value: { value: { Devices: [{ ref: 1, worth: null, name: 'Lamp' }, { ref: 2 }] } } })
    const read24 = read(`{"Devices":[{"ref":1,"deep":${deep}}]}`)
    expect(JSON.stringify(read24)).toBe(
      `{"ok":true,"value":{"kind":"json","value":{"Devices":[{"ref":1,"deep":${'['.repeat(21)}null${']'.repeat(21)}}]}}}`,
    )
  })

  it('is recognised as an image by its first bytes', () => {
    expect(decodeHomeseerReply(fromHex('ff d8 ff e0'))).toMatchObject({
      value: { kind: 'image', mimeType: 'image/jpeg' },
    })
    expect(decodeHomeseerReply(fromHex('89 50 4e 47'))).toMatchObject({
      value: { kind: 'image', mimeType: 'image/png' },
    })
  })

  it('is malformed if it is truncated', () => {
    expect(read('{"Devices":[{"ref":1')).toEqual({
      ok: false,
      fault: { kind: 'malformed', detail: 'data that is cut off or not JSON' },
    })
  })

  it('is malformed if its bytes are not text', () => {
    // `ok`, compressed: a gzip member as RFC 1952 § 2.3 has it.
    const compressed = fromHex('1f 8b 08 00 00 00 00 00 00 03 cb cf 06 00 47 dd dc 79 02 00 00 00')
    expect(decodeHomeseerReply(compressed)).toEqual({
      ok: false,
      fault: { kind: 'malformed', detail: 'bytes that are no text' },
    })
  })

  it('acknowledges only with ok where ok is expected', () => {
    expect(decodeAcknowledgement({ kind: 'response', text: 'OK' })).toEqual({ ok: true, value: undefined })
    expect(decodeAcknowledgement({ kind: 'response', text: 'device is busy' })).toMatchObject({
      fault: { kind: 'refused', reason: 'other', text: 'device is busy' },
    })
    expect(decodeAcknowledgement({ kind: 'json', value: {} })).toMatchObject({ fault: { kind: 'malformed' } })
    expect(decodeAcknowledgement({ kind: 'text', text: '' })).toMatchObject({ fault: { kind: 'malformed' } })
  })

  it('never makes the decoder throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeHomeseerReply(bytes).ok).toBeTypeOf('boolean')
      }),
    )
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(read(text).ok).toBeTypeOf('boolean')
      }),
    )
  })
})
