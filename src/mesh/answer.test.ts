import { describe, expect, it } from 'vitest'
import type { Outcome } from '../bus/call.ts'
import { fail, ok } from '../core/result.ts'
import { decodeFault, decodeReply, faultBody, replyBody } from './answer.ts'

describe('answer', () => {
  it.each<[string, Outcome]>([
    ['a success', ok({ data: { open: 40 } })],
    ['a replayed success', ok({ data: null, replayed: true })],
    ['a refusal', fail({ kind: 'failed', code: 'internal_error', message: 'm', details: { cause: 'x' } })],
    ['a replayed refusal', fail({ kind: 'failed', code: 'internal_error', message: 'm', replayed: true })],
  ])('brings %s to the other node as it was', (_, outcome) => {
    const there = outcome.ok ? decodeReply(replyBody(outcome.value)) : fail(decodeFault(faultBody(outcome.fault)))
    expect(there).toEqual(outcome)
  })

  it('takes nothing but true for a replay', () => {
    expect(decodeReply({ ok: true, data: 1, replayed: 'yes' })).toEqual(ok({ data: 1 }))
    expect(decodeFault({ error: 'internal_error', message: 'm', replayed: 1 })).not.toHaveProperty('replayed')
  })
})
