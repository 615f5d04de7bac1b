import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { DELEGATING_CHANGE_STEPS, defineChange } from '../../bus/capability-definition.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import { createAdminRefusalDetails } from '../admin/admin-envelope.ts'
import { ok } from '../../core/result.ts'
import { homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import { createHs4Fault, createHomeseerReadFault, createHomeseerWriteFault } from './faults.ts'

const { offer } = defineChange({
  family: homeseerFamilyEnvelope,
  name: 'hs4.admin.users.create',
  title: 'x',
  description: 'x',
  effect: 'admin',
  input: z.strictObject({}),
  output: z.looseObject({ list: z.array(z.looseObject({})) }),
  ...DELEGATING_CHANGE_STEPS,
  act: () => ok({ data: {} }),
})

function error(fault: Fault): unknown {
  const { structured, isError } = homeseerFamilyEnvelope.failure(fault, offer)
  expect(isError).toBe(true)
  return (structured as { error: unknown }).error
}

describe('HomeSeer envelope', () => {
  it.each<[FaultKind, string, boolean]>([
    ['invalid-arguments', 'BAD_REQUEST', false],
    ['not-found', 'NOT_FOUND', false],
    ['not-permitted', 'POLICY_DENY', false],
    ['approval-required', 'POLICY_DENY', false],
    ['conflict', 'BAD_REQUEST', false],
    ['busy', 'POLICY_DENY', true],
    ['offline', 'NETWORK', true],
    ['timed-out', 'TIMEOUT', true],
    ['cancelled', 'TIMEOUT', false],
    ['failed', 'HS4_ERROR', false],
    ['unknown-outcome', 'UNKNOWN', false],
    ['unsupported', 'UNSUPPORTED_ON_TARGET', false],
    ['internal', 'INTERNAL', true],
  ])('encodes %s as %s, retryable %s', (kind, code, retryable) => {
    expect(error({ kind, message: 'x' })).toMatchObject({
      code,
      retryable,
      fixHint: expect.stringMatching(/\w/),
      suggestedNextToolCalls: expect.any(Array),
    })
  })

  it('encodes unknown-outcome as UNKNOWN, whatever code the fault has', () => {
    expect(error({ kind: 'unknown-outcome', code: 'TIMEOUT', message: 'x' })).toMatchObject({ code: 'UNKNOWN' })
  })

  it.each(['approval-denied', 'owner', 'emergency-stop'])(
    'contains no workaround in the fix hint for a refusal by %s',
    (rule) => {
      const reasons = [
        { rule: 'confirm', message: 'no confirm' },
        { rule, message: 'no' },
      ]
      expect(error({ kind: 'not-permitted', message: 'x', reasons })).toMatchObject({
        fixHint: 'A person decided this. Tell the user; do not try to get around it.',
      })
    },
  )

  it('contains the reasons of a refusal, and for administration the fields of a success', () => {
    const reasons = [
      { rule: 'admin-enabled', message: 'off' },
      { rule: 'change-ticket', message: 'no ticket' },
    ]
    const claims = { maintenanceWindowId: 'sunday', riskLevel: 'high' } as const
    const details = createAdminRefusalDetails({ domain: 'users', claims, requireTicket: true, auditRef: 'trace:1' })
    expect(error({ kind: 'not-permitted', message: 'x', reasons, details })).toMatchObject({
      details: {
        reasons: ['off', 'no ticket'],
        rules: ['admin-enabled', 'change-ticket'],
        envelope: {
          result: 'failed',
          precheck: [
            { check: 'policy', status: 'fail' },
            { check: 'maintenance_window', status: 'pass', required: true },
            { check: 'change_ticket', status: 'fail', required: true },
          ],
          steps: [],
          rollback: 'not_needed',
          auditRef: 'trace:1',
          operationTier: 'admin',
          domain: 'users',
          maintenanceWindowId: 'sunday',
          changeTicket: null,
          riskLevel: 'high',
        },
      },
    })
  })

  it('names another node, not HomeSeer, when the fault is about a node', () => {
    const away = { kind: 'offline', code: 'partition', message: 'x', details: { reason: 'away' } } as const
    expect(error(away)).toMatchObject({
      code: 'NETWORK',
      retryable: true,
      fixHint: 'Another node was asked, and cannot be reached now. Try again later, or tell the user.',
    })
    const unknown = { kind: 'not-found', code: 'not_found', message: 'x', details: { reason: 'node' } } as const
    expect(error(unknown)).toMatchObject({ fixHint: 'Name one of the nodes in the message, or leave `_node` out.' })
  })

  it('contains suggested next calls with arguments, apart from the details', () => {
    const next = [{ name: 'hs4.devices.get', args: { refs: [1] } }]
    const envelope = error(createHs4Fault('NOT_FOUND', 'x', { next, fixHint: 'look', details: { ref: 1 } }))
    expect(envelope).toEqual({
      code: 'NOT_FOUND',
      message: 'x',
      retryable: false,
      fixHint: 'look',
      suggestedNextToolCalls: next,
      details: { ref: 1 },
    })
  })

  it('has an output schema that admits success and failure', () => {
    expect(homeseerFamilyEnvelope.outputSchema?.(offer)).toEqual({
      type: 'object',
      properties: {
        result: {
          type: 'object',
          properties: { list: { type: 'array', items: { type: 'object' } } },
          required: ['list'],
        },
        error: { type: 'object', required: ['code', 'message', 'retryable', 'fixHint'] },
      },
      anyOf: [{ required: ['result'] }, { required: ['error'] }],
    })
  })
})

describe('faults of the HomeSeer connection', () => {
  it.each([
    [{ kind: 'unauthorised' }, 'AUTH'],
    [{ kind: 'unreachable', code: 'ECONNREFUSED', reached: false }, 'NETWORK'],
    [{ kind: 'timed-out', afterMs: 1, reached: false }, 'TIMEOUT'],
    [{ kind: 'http-status', status: 404 }, 'UNSUPPORTED_ON_TARGET'],
    [{ kind: 'http-status', status: 500 }, 'HS4_ERROR'],
    [{ kind: 'http-status', status: 400 }, 'BAD_REQUEST'],
    [{ kind: 'http-status', status: 302 }, 'HS4_ERROR'],
    [{ kind: 'refused', reason: 'error', text: 'error' }, 'HS4_ERROR'],
    [{ kind: 'refused', reason: 'unsupported', text: 'unknown request' }, 'UNSUPPORTED_ON_TARGET'],
    [{ kind: 'json-disabled', text: 'off' }, 'HS4_ERROR'],
    [{ kind: 'malformed', detail: 'x' }, 'HS4_ERROR'],
    [{ kind: 'too-large', limitBytes: 1 }, 'HS4_ERROR'],
  ] as const)('a read that fails with %j is %s', (fault, code) => {
    expect(createHomeseerReadFault(fault, 'reading').code).toBe(code)
  })

  it('a change is unknown-outcome when its answer was lost, and offline when it never arrived', () => {
    expect(createHomeseerWriteFault({ kind: 'timed-out', afterMs: 1, reached: true }, 'x').kind).toBe('unknown-outcome')
    expect(createHomeseerWriteFault({ kind: 'malformed', detail: 'x' }, 'x').kind).toBe('unknown-outcome')
    expect(createHomeseerWriteFault({ kind: 'unreachable', code: 'ECONNREFUSED', reached: false }, 'x').kind).toBe(
      'offline',
    )
    expect(createHomeseerWriteFault({ kind: 'refused', reason: 'error', text: 'error' }, 'x').kind).toBe('failed')
  })
})
