import { describe, expect, it } from 'vitest'
import type { Outcome } from '../bus/call.ts'
import { fail, ok } from '../core/result.ts'
import { decodeFault, decodeReplyBody, toMeshFaultJson, encodeReplyBody } from './mesh-answer.ts'
import { createMeshRefusal } from './mesh-refusal.ts'

describe('answer between nodes', () => {
  it.each<[string, Outcome]>([
    ['a success', ok({ data: { open: 40 } })],
    ['a replayed success', ok({ data: null, replayed: true })],
    ['a refusal', fail({ kind: 'failed', code: 'internal_error', message: 'm', details: { cause: 'x' } })],
    ['an answer of a device', ok({ data: 1, from: { device: 'speaker-1' } })],
    ['a fault of what was begun', fail({ kind: 'busy', code: 'capacity_exceeded', message: 'm', begun: true })],
    ['a fault of what was not begun', fail({ kind: 'offline', code: 'partition', message: 'm', begun: false })],
    ['a replayed refusal', fail({ kind: 'failed', code: 'internal_error', message: 'm', replayed: true })],
  ])('decodes %s as it was encoded', (_, outcome) => {
    const there = outcome.ok
      ? decodeReplyBody(encodeReplyBody(outcome.value))
      : fail(decodeFault(toMeshFaultJson(outcome.fault)))
    expect(there).toEqual(outcome)
  })

  it('takes "begun" only from the provider, and ignores claims about the answering node', () => {
    expect(decodeFault({ error: 'partition', message: 'm', begun: 'no' })).not.toHaveProperty('begun')
    expect(decodeFault({ error: 'partition', message: 'm' })).not.toHaveProperty('begun')
    // It is about this node's own connection, which no other node can know.
    expect(decodeFault({ error: 'partition', message: 'm', ownSide: true })).not.toHaveProperty('ownSide')
    expect(decodeReplyBody({ ok: true, data: 1, from: { node: 'another' }, device: 5 })).toEqual(ok({ data: 1 }))
    expect(encodeReplyBody({ data: 1, from: { node: 'this', device: 'd' } })).toEqual({
      ok: true,
      data: 1,
      device: 'd',
    })
  })

  it('says that nothing was begun when the message gate refuses the call', () => {
    expect(toMeshFaultJson(createMeshRefusal('expired', 'skew', 'Too late.'))).toMatchObject({ begun: false })
  })

  it('accepts only the value true for "replayed"', () => {
    expect(decodeReplyBody({ ok: true, data: 1, replayed: 'yes' })).toEqual(ok({ data: 1 }))
    expect(decodeFault({ error: 'internal_error', message: 'm', replayed: 1 })).not.toHaveProperty('replayed')
  })
})
