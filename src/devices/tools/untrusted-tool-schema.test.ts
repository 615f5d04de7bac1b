import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { explainSchemaBoundsViolation } from '../../bus/schema-bounds.ts'
import { compileSchema } from '../../bus/schema-compiler.ts'
import type { JsonObject } from '../../core/json.ts'
import { rebuildDeviceToolSchema } from './untrusted-tool-schema.ts'

describe('the listed schema of a device tool', () => {
  it('contains types, bounds, defaults and choices as the firmware lists them', () => {
    const schema = {
      type: 'object',
      properties: {
        volume: { type: 'integer', minimum: 0, maximum: 100 },
        on: { type: 'boolean', default: true },
        theme: { type: 'string', enum: ['light', 'dark'], maxLength: 5 },
      },
      required: ['volume', 'ghost'],
    }
    expect(rebuildDeviceToolSchema(schema)).toEqual({
      type: 'object',
      properties: {
        volume: { type: 'integer', minimum: 0, maximum: 100 },
        on: { type: 'boolean', default: true },
        theme: { type: 'string', enum: ['light', 'dark'], maxLength: 5 },
      },
      required: ['volume'],
      additionalProperties: false,
    })
  })

  it('drops unknown keywords and cleans the text of the device', () => {
    const schema = {
      $ref: 'http://evil.example/schema',
      properties: {
        a: { type: 'string', pattern: '(a+)+$', description: 'say\u200B hi', default: 'x\u202Ey', $comment: 'do this' },
        b: { type: 'object', properties: { c: { type: 'array', items: { type: 'number', title: 'no' } } } },
        d: { type: ['string', 'null'], anyOf: [] },
        e: true,
      },
    } as unknown as JsonObject
    expect(rebuildDeviceToolSchema(schema)).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string', description: 'say hi', default: 'xy' },
        b: {
          type: 'object',
          properties: { c: { type: 'array', items: { type: 'number' } } },
          additionalProperties: false,
        },
        d: {},
        e: {},
      },
      additionalProperties: false,
    })
  })

  it('is undefined for argument names with spaces or invisible characters', () => {
    expect(rebuildDeviceToolSchema({ properties: { 'a b': {} } })).toBeUndefined()
    expect(rebuildDeviceToolSchema({ properties: { 'a\u200B': {} } })).toBeUndefined()
    expect(rebuildDeviceToolSchema({ properties: { x: { type: 'object', properties: { '\n': {} } } } })).toBeUndefined()
  })

  it('keeps a property called __proto__ without changing the prototype', () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as JsonObject
    expect(JSON.stringify(rebuildDeviceToolSchema(schema))).toContain('"__proto__"')
    expect(({} as { type?: string }).type).toBeUndefined()
  })

  it('always compiles', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
        const shown = rebuildDeviceToolSchema({ properties: { x: schema as JsonObject } })
        if (shown === undefined) return
        expect(explainSchemaBoundsViolation(shown)).toBeUndefined()
        expect(() => compileSchema(shown, 'fast')).not.toThrow()
      }),
    )
  })
})
