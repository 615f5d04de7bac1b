import { describe, expect, it } from 'vitest'
import { draftOf, fieldsOf, readDraft } from './schema.ts'

const SCHEMA = {
  type: 'object',
  required: ['ref', 'mode', 'ready'],
  properties: {
    ref: { type: 'integer', minimum: 0, maximum: 9_007_199_254_740_991 },
    celsius: { type: 'number', minimum: 5, maximum: 30 },
    mode: { enum: ['auto', 'off', 3] },
    ready: { type: 'boolean', default: true },
    name: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    slots: { type: 'array', items: {} },
    shared: { $ref: '#/$defs/pin' },
  },
  $defs: { pin: { type: 'string', format: 'password' } },
}

describe('form from a schema', () => {
  it('has a field per property, and a property with a default is not required', () => {
    const fields = fieldsOf(SCHEMA)
    expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ['ref', 'integer', true],
      ['celsius', 'number', false],
      ['mode', 'choice', true],
      ['ready', 'boolean', false],
      ['name', 'text', false],
      ['slots', 'json', false],
      ['shared', 'text', false],
    ])
    expect([fields[0]?.minimum, fields[0]?.maximum, fields[6]?.secret]).toEqual([0, undefined, true])
  })

  it('parses typed text into arguments', () => {
    const fields = fieldsOf(SCHEMA)
    const draft = { ref: '7', celsius: '20.5', mode: '3', ready: false, name: '', slots: '[1]' }
    expect(readDraft(fields, draft)).toEqual({
      ok: true,
      body: { ref: 7, celsius: 20.5, mode: 3, ready: false, slots: [1] },
    })
  })

  it('reports missing and invalid arguments', () => {
    const fields = fieldsOf(SCHEMA)
    expect(readDraft(fields, {})).toEqual({ ok: false, flaw: 'ref is needed.' })
    expect(readDraft(fields, { ref: '1.5', mode: '3' })).toEqual({ ok: false, flaw: 'ref is not a whole number.' })
    expect(readDraft(fields, { ref: '1', mode: '3', slots: '[' })).toEqual({ ok: false, flaw: 'slots is not JSON.' })
  })

  it('returns the same arguments it was filled in with', () => {
    const fields = fieldsOf(SCHEMA)
    const body = { ref: 7, mode: 'auto', ready: true, slots: [{ a: 1 }] }
    expect(readDraft(fields, draftOf(fields, body))).toEqual({ ok: true, body })
  })

  it('has no fields for an invalid schema', () => {
    for (const strange of [{}, { properties: 7 }, { properties: null }, { properties: [] }])
      expect(fieldsOf(strange)).toEqual([])
    expect(fieldsOf({ properties: { a: 'x' } })[0]?.kind).toBe('json')
  })
})
