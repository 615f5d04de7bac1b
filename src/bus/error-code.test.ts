import { describe, expect, it } from 'vitest'
import type { FaultKind } from '../core/fault.ts'
import {
  mapFaultToErrorCode,
  toErrorBodyJson,
  isErrorCode,
  toFaultKind,
  HTTP_STATUS_BY_ERROR_CODE,
} from './error-code.ts'
import type { ErrorCode } from './error-code.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { offered } from '../../test/bus-village.ts'

const CODES = Object.keys(HTTP_STATUS_BY_ERROR_CODE).filter(isErrorCode)

describe('error codes between nodes', () => {
  // Spec 2 § 6 and CONTRACT § 9.
  it.each<[ErrorCode, number]>([
    ['schema_mismatch', 400],
    ['unauthorized', 401],
    ['revoked', 403],
    ['not_found', 404],
    ['timeout', 408],
    ['expired', 410],
    ['capacity_exceeded', 429],
    ['rate_limited', 429],
    ['internal_error', 500],
    ['not_implemented', 501],
    ['partition', 503],
  ])('%s has the HTTP status %d', (code, status) => {
    expect(HTTP_STATUS_BY_ERROR_CODE[code]).toBe(status)
  })

  it('are partition for a quarantine and that of the fault kind for a family code', () => {
    expect(mapFaultToErrorCode({ kind: 'offline', code: 'quarantined', message: '' })).toBe('partition')
    expect(mapFaultToErrorCode({ kind: 'not-found', code: 'ERR_NO_SUCH_DEVICE', message: '' })).toBe('not_found')
    expect(mapFaultToErrorCode({ kind: 'busy', code: 'rate_limited', message: '' })).toBe('rate_limited')
  })

  it('map to a kind that maps back to the same code', () => {
    for (const code of CODES) expect(mapFaultToErrorCode({ kind: toFaultKind(code), code, message: '' })).toBe(code)
  })

  it('keep the information whether a retry is safe', () => {
    const safe: ReadonlySet<FaultKind> = new Set(['busy', 'offline'])
    const kinds: readonly FaultKind[] = ['busy', 'offline', 'timed-out', 'failed', 'internal', 'unknown-outcome']
    for (const kind of kinds) {
      const back = toFaultKind(mapFaultToErrorCode({ kind, message: '' }))
      expect(safe.has(back)).toBe(safe.has(kind))
    }
  })

  it('are sent with message, retry time and details', () => {
    const fault = {
      kind: 'busy',
      code: 'capacity_exceeded',
      message: 'later',
      retryAfterMs: 250,
      details: { alt_nodes: ['b'] },
    } as const
    const body = { error: 'capacity_exceeded', message: 'later', retry_after_ms: 250, alt_nodes: ['b'] }
    expect(toErrorBodyJson(fault)).toEqual(body)
    expect(defaultFamilyEnvelope.failure(fault, offered({ name: 'x' }))).toEqual({
      structured: { ok: false, error: body },
      isError: true,
    })
  })

  it('are a closed set of names', () => {
    expect([isErrorCode('toString'), isErrorCode('schema_invalid')]).toEqual([false, false])
  })
})
