import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { shortenDescription, shortenInputSchema, shortenOutputSchema } from './short-schema.ts'

const complete = {
  type: 'object',
  properties: {
    ref: { type: 'integer', minimum: 1, description: 'Which device.' },
    to: { anyOf: [{ type: 'string', maxLength: 20 }, { type: 'number' }] },
    mode: { type: 'string', enum: ['on', 'off'], default: 'on' },
    slots: {
      type: 'array',
      maxItems: 3,
      items: { type: 'object', properties: { from: { type: 'string', pattern: '^x' } } },
    },
  },
  required: ['ref'],
  additionalProperties: false,
}

describe('shortened schema', () => {
  it('keeps only argument names, types, enumerated values and required arguments', () => {
    expect(shortenInputSchema(complete)).toEqual({
      type: 'object',
      properties: {
        ref: { type: 'integer' },
        to: { type: ['string', 'number'] },
        mode: { enum: ['on', 'off'] },
        slots: { type: 'array', items: { type: 'object', properties: { from: { type: 'string' } } } },
      },
      required: ['ref'],
    })
  })

  it('accepts every value that the complete schema accepts', () => {
    const ajv = new Ajv2020({ strict: false })
    for (const value of [{ ref: 1 }, { ref: 2, to: 'x', mode: 'off', slots: [{ from: 'xy' }] }, { ref: 3, to: 4 }]) {
      expect(ajv.validate(complete, value)).toBe(true)
      expect(ajv.validate(shortenInputSchema(complete), value)).toBe(true)
      expect(ajv.validate(shortenOutputSchema(complete), value)).toBe(true)
    }
  })
})

describe('shortened description', () => {
  it('is at most 90 characters: the first sentence and what fits after it', () => {
    expect(shortenDescription('Tells it. The device says: go.')).toBe('Tells it. The device says: go.')
    const long = `${'A sentence of some length. '.repeat(9)}End.`
    expect(shortenDescription(long).length).toBeLessThanOrEqual(90)
  })
})
