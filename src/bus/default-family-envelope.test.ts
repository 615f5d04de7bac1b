import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { offered } from '../../test/bus-village.ts'

const OFFER = offered({
  name: 'garden.tap.get',
  responseSchema: { type: 'object', properties: { open: { type: 'boolean' } }, required: ['open'] },
})

describe('the listed output schema of a bus capability', () => {
  const holds = new Ajv2020({ strict: false }).compile(defaultFamilyEnvelope.outputSchema?.(OFFER) ?? {})

  it('accepts a successful answer', () => {
    expect(holds({ ok: true, data: { open: true } })).toBe(true)
  })

  // The SDK of the 2025 revisions checks failures, too; one that does not fit reaches the model as a complaint about
  // schemas.
  it('accepts a failed answer', () => {
    const { structured } = defaultFamilyEnvelope.failure(
      { kind: 'approval-required', message: 'A person has to approve.' },
      OFFER,
    )
    expect(holds(structured)).toBe(true)
  })

  it.each([{ ok: true }, { ok: false }, { ok: true, data: { open: 'yes' } }, { ok: false, error: 'no' }])(
    'rejects %j',
    (answer) => {
      expect(holds(answer)).toBe(false)
    },
  )

  it('keeps the definitions of the response schema resolvable', () => {
    const recursive = offered({
      name: 'garden.tree.get',
      responseSchema: {
        $ref: '#/$defs/branch',
        $defs: { branch: { type: 'array', items: { $ref: '#/$defs/branch' } } },
      },
    })
    const holdsBranches = new Ajv2020({ strict: false }).compile(defaultFamilyEnvelope.outputSchema?.(recursive) ?? {})
    expect([holdsBranches({ ok: true, data: [[], [[]]] }), holdsBranches({ ok: true, data: [1] })]).toEqual([
      true,
      false,
    ])
  })
})
