import { describe, expect, it } from 'vitest'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { runtimeFamilyEnvelope } from './runtime-envelope.ts'
import { createRuntimeFault } from './faults.ts'

const RETURNING = [
  'task_create',
  'task_get',
  'task_update',
  'task_list',
  'task_next_actions',
  'audit_session_start',
  'merkle_finalize',
  'merkle_root',
]
const THROWING = [
  'server_ping',
  'server_health',
  'skill_list',
  'thought_record',
  'thought_record_list',
  'audit_verify_chain',
  'router_score',
  'router_call',
  'router_fallback',
  'router_stats',
]

function offer(name: string): Offer {
  return { name, responseSchema: { type: 'object', properties: { id: { type: 'string' } } } } as unknown as Offer
}

describe('runtime envelope', () => {
  it('wraps a success as { ok, data }', () => {
    expect(runtimeFamilyEnvelope.success({ id: 'x' }, offer('task_get'))).toEqual({ ok: true, data: { id: 'x' } })
  })

  it.each(RETURNING)('returns the domain errors of %s as values (failure pattern B)', (name) => {
    const refused = createRuntimeFault('ERR_INVALID_TRANSITION', 'no', { from: 'INIT', to: 'DONE' })
    expect(runtimeFamilyEnvelope.failure(refused, offer(name))).toEqual({
      structured: {
        ok: true,
        data: { ok: false, error: { code: 'ERR_INVALID_TRANSITION', message: 'no', from: 'INIT', to: 'DONE' } },
      },
      isError: false,
    })
  })

  it.each(THROWING)('returns the domain errors of %s as tool errors (failure pattern A)', (name) => {
    expect(
      runtimeFamilyEnvelope.failure(createRuntimeFault('ERR_SESSION_CLOSED', 'no', { session_id: 's' }), offer(name)),
    ).toEqual({
      structured: {
        ok: false,
        error: {
          code: 'HANDLER_ERROR',
          message: 'ERR_SESSION_CLOSED: no',
          details: { code: 'ERR_SESSION_CLOSED', session_id: 's' },
        },
      },
      isError: true,
    })
  })

  it.each([...RETURNING, ...THROWING])('returns refusals of the call chain as failure pattern A, for %s', (name) => {
    const refusals: readonly [Fault, string][] = [
      [{ kind: 'invalid-arguments', message: 'm', details: { issues: [] } }, 'INVALID_PARAMS'],
      [{ kind: 'internal', message: 'm' }, 'HANDLER_ERROR'],
      [{ kind: 'not-permitted', message: 'm' }, 'NOT_PERMITTED'],
      [{ kind: 'busy', message: 'm' }, 'BUSY'],
      [{ kind: 'timed-out', message: 'm' }, 'TIMED_OUT'],
    ]
    for (const [refusal, code] of refusals)
      expect(runtimeFamilyEnvelope.failure(refusal, offer(name))).toMatchObject({
        structured: { ok: false, error: { code } },
        isError: true,
      })
  })

  it('keeps all reasons of a refusal and its retry time', () => {
    const denied: Fault = {
      kind: 'not-permitted',
      message: 'Not now.',
      reasons: [{ rule: 'mode', message: 'This node is in read-only mode.' }],
      retryAfterMs: 1_000,
    }
    expect(runtimeFamilyEnvelope.failure(denied, offer('task_create')).structured).toEqual({
      ok: false,
      error: {
        code: 'NOT_PERMITTED',
        message: 'Not now.',
        details: {
          reasons: [{ rule: 'mode', message: 'This node is in read-only mode.' }],
          retry_after_ms: 1_000,
        },
      },
    })
  })

  it('has an output schema with an object root and resolvable references', () => {
    const recursive = {
      name: 'server_ping',
      responseSchema: { $ref: '#/$defs/tree', $defs: { tree: { type: 'object' } } },
    } as unknown as Offer
    expect(runtimeFamilyEnvelope.outputSchema?.(recursive)).toMatchObject({
      type: 'object',
      properties: { data: { $ref: '#/$defs/tree' } },
      $defs: { tree: { type: 'object' } },
    })
  })
})
