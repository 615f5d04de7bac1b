import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromUtf8, toUtf8 } from '../core/bytes.ts'
import type { Json } from '../core/json.ts'
import { decodeEntry, encodeEntry, MAX_ENTRY_BYTES } from './entry.ts'

const place = { seq: 57, at: '2026-01-01T00:00:00.000Z', bodyHash: undefined }
const BYTES = '{"at":"2026-01-01T00:00:00.000Z","kind":"call.enter","seq":57,"tool":"task_list","v":1}'

describe('entry', () => {
  it('is canonical JSON with the sequence number and time from the ledger', () => {
    expect(fromUtf8(encodeEntry({ kind: 'call.enter', tool: 'task_list', reason: undefined }, place))).toBe(BYTES)
    expect(decodeEntry(toUtf8(BYTES))).toEqual({
      ok: true,
      value: { v: 1, seq: 57, at: '2026-01-01T00:00:00.000Z', kind: 'call.enter', tool: 'task_list' },
    })
  })

  it('decodes to the fields of the event, for any event', () => {
    const event = fc.dictionary(
      fc.string().filter((key) => !['v', 'seq', 'at', 'kind', 'body_hash'].includes(key)),
      fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
    )
    fc.assert(
      fc.property(event, (fields) => {
        const bytes = encodeEntry({ ...fields, kind: 'a.b' }, place)
        const decoded = decodeEntry(bytes)
        expect(decoded.ok && encodeEntry(withoutPlace(decoded.value), place)).toEqual(bytes)
      }),
    )
  })

  it.each([
    ['two spellings of one event', BYTES.replace('"seq":57', '"seq": 57'), 'not-canonical'],
    ['a key given twice', BYTES.replace('"seq":57', '"seq":57,"seq":57'), 'not-canonical'],
    ['keys out of order', '{"kind":"a","at":"2026-01-01T00:00:00.000Z","seq":0,"v":1}', 'not-canonical'],
    ['text after the object', `${BYTES} `, 'not-canonical'],
    ['a list', '[]', 'not-json'],
    ['half an object', BYTES.slice(0, 40), 'not-json'],
    ['nothing', '', 'not-json'],
    ['another version', BYTES.replace('"v":1', '"v":2'), 'bad-field'],
    ['a negative sequence number', BYTES.replace('57', '-1'), 'bad-field'],
    ['a kind in capitals', BYTES.replace('call.enter', 'Call.enter'), 'bad-field'],
    ['a kind that ends in a dot', BYTES.replace('call.enter', 'call.'), 'bad-field'],
    ['a day that is not', BYTES.replace('01-01', '02-30'), 'bad-field'],
    ['the 29th of February in a year without', BYTES.replace('01-01', '02-29'), 'bad-field'],
    ['the hour 24', BYTES.replace('T00', 'T24'), 'bad-field'],
    ['a time in another zone', BYTES.replace('.000Z', '.000+01:00'), 'bad-field'],
  ])('refuses %s', (_, text, kind) => {
    expect(decodeEntry(toUtf8(text))).toMatchObject({ ok: false, fault: { kind } })
  })

  it('refuses bytes that are not UTF-8 or longer than a bundle allows', () => {
    expect(decodeEntry(Uint8Array.of(0x7b, 0xff))).toEqual({ ok: false, fault: { kind: 'not-utf8' } })
    expect(decodeEntry(new Uint8Array(MAX_ENTRY_BYTES + 1))).toMatchObject({ fault: { kind: 'too-long' } })
  })

  it('throws on an invalid kind, on a reserved field and on an event that is too long', () => {
    expect(() => encodeEntry({ kind: 'Call' }, place)).toThrow('not dotted lower case')
    expect(() => encodeEntry({ kind: 'a', seq: 3 }, place)).toThrow("field seq is the ledger's")
    expect(() => encodeEntry({ kind: 'a', body_hash: 'x' }, place)).toThrow("field body_hash is the ledger's")
    expect(() => encodeEntry({ kind: 'a', text: 'x'.repeat(MAX_ENTRY_BYTES) }, place)).toThrow('65535 allowed')
  })

  it('may be exactly as long as a bundle allows', () => {
    const empty = encodeEntry({ kind: 'a', text: '' }, place).length
    expect(encodeEntry({ kind: 'a', text: 'x'.repeat(MAX_ENTRY_BYTES - empty) }, place)).toHaveLength(MAX_ENTRY_BYTES)
  })
})

function withoutPlace(entry: { readonly [field: string]: Json }): { kind: string } {
  const { v: _v, seq: _seq, at: _at, ...event } = entry
  return event as unknown as { kind: string }
}
