import { describe, expect, it } from 'vitest'
import { toHomeseerAuditEntryJson, passesAuditFilter } from './homeseer-audit.ts'

const entry = {
  kind: 'call.enter',
  seq: 7,
  at: '2026-01-01T00:00:00.000Z',
  tool: 'hs4.devices.set',
  principal: 'claude',
  trace_id: 'T',
}
const exit = (more: object) => ({ kind: 'call.exit', at: '2026-01-01T00:00:00.250Z', ...more })

describe('HomeSeer audit entry', () => {
  it.each([
    [undefined, undefined, 'allowed'],
    [exit({ outcome: 'ok' }), undefined, 'success'],
    [exit({ outcome: 'ok' }), { dryRun: true }, 'dry_run'],
    [exit({ outcome: 'ok' }), { result: 'planned' }, 'dry_run'],
    [exit({ outcome: 'denied', error_code: 'not-permitted' }), undefined, 'blocked'],
    [exit({ outcome: 'error' }), undefined, 'error'],
    [{ kind: 'call.aborted', at: entry.at }, undefined, 'error'],
  ])('%j with %j yields %s', (end, result, expected) => {
    expect(toHomeseerAuditEntryJson({ entry, end, args: undefined, result }).result).toBe(expected)
  })

  it.each([
    ['approval.requested', 'allowed'],
    ['approval.approved', 'allowed'],
    ['approval.denied', 'blocked'],
    ['approval.expired', 'blocked'],
    ['change.committed', 'allowed'],
    ['change.failed', 'error'],
    ['change.unknown', 'error'],
  ])('%s yields %s', (kind, expected) => {
    const shown = toHomeseerAuditEntryJson({
      entry: { ...entry, kind },
      end: undefined,
      args: undefined,
      result: undefined,
    })
    expect(shown).toMatchObject({ action: kind, result: expected })
  })

  it('distinguishes the person who decided from the caller', () => {
    const denied = { ...entry, kind: 'approval.denied', by: 'owner' }
    expect(
      toHomeseerAuditEntryJson({ entry: denied, end: undefined, args: undefined, result: undefined }),
    ).toMatchObject({
      principal: 'claude',
      decidedBy: 'owner',
    })
  })

  it('contains its position in the ledger, its duration and the reasons of a refusal', () => {
    const end = exit({ outcome: 'denied', error_code: 'not-permitted', reasons: ['confirm'] })
    expect(toHomeseerAuditEntryJson({ entry, end, args: { ref: 1 }, result: undefined })).toEqual({
      id: 'ledger:7',
      timestamp: '2026-01-01T00:00:00.000Z',
      tool: 'hs4.devices.set',
      action: 'devices.set',
      result: 'blocked',
      dryRun: false,
      principal: 'claude',
      auditRef: 'trace:T',
      durationMs: 250,
      errorCode: 'not-permitted',
      reasons: ['confirm'],
      target: { ref: 1 },
    })
  })

  it('passes the filters that it matches', () => {
    const shown = toHomeseerAuditEntryJson({ entry, end: exit({ outcome: 'ok' }), args: undefined, result: undefined })
    expect(passesAuditFilter(shown, { limit: 1, tool: 'hs4.devices.set', result: 'success', traceId: 'T' })).toBe(true)
    // As clients know it that refuse dots.
    expect(passesAuditFilter(shown, { limit: 1, tool: 'hs4_devices_set' })).toBe(true)
    expect(passesAuditFilter(shown, { limit: 1, result: 'error' })).toBe(false)
    expect(passesAuditFilter(shown, { limit: 1, since: '2026-01-01T00:00:00.001Z' })).toBe(false)
    expect(passesAuditFilter(shown, { limit: 1, action: 'change.prepared' })).toBe(false)
  })
})
