/**
 * Error code: the closed set of codes that nodes use for faults (spec 2 § 6, CONTRACT § 9), and their HTTP status.
 *
 *   fault.kind ─▶ code ─▶ status        code ─▶ fault.kind, where a peer speaks no more than the code
 */
import type { Fault, FaultKind } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'

export const HTTP_STATUS_BY_ERROR_CODE = {
  bad_request: 400,
  schema_mismatch: 400,
  invalid_signature: 401,
  unauthorized: 401,
  revoked: 403,
  not_found: 404,
  timeout: 408,
  expired: 410,
  rate_limited: 429,
  capacity_exceeded: 429,
  internal_error: 500,
  not_implemented: 501,
  partition: 503,
} as const

export type ErrorCode = keyof typeof HTTP_STATUS_BY_ERROR_CODE

const CODE_OF_KIND: Readonly<Record<FaultKind, ErrorCode>> = {
  'invalid-arguments': 'bad_request',
  'not-found': 'not_found',
  'not-permitted': 'unauthorized',
  'approval-required': 'unauthorized',
  conflict: 'bad_request',
  busy: 'capacity_exceeded',
  offline: 'partition',
  'timed-out': 'timeout',
  // The caller has gone; should somebody still read it, the call ran out of time.
  cancelled: 'timeout',
  failed: 'internal_error',
  'unknown-outcome': 'internal_error',
  unsupported: 'not_implemented',
  internal: 'internal_error',
}

const KIND_OF_CODE: Readonly<Record<ErrorCode, FaultKind>> = {
  bad_request: 'invalid-arguments',
  schema_mismatch: 'invalid-arguments',
  invalid_signature: 'not-permitted',
  unauthorized: 'not-permitted',
  revoked: 'not-permitted',
  not_found: 'not-found',
  timeout: 'timed-out',
  expired: 'not-permitted',
  rate_limited: 'busy',
  capacity_exceeded: 'busy',
  internal_error: 'failed',
  not_implemented: 'unsupported',
  partition: 'offline',
}

/** Every fault kind. */
export const FAULT_KINDS = Object.keys(CODE_OF_KIND) as readonly FaultKind[]

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(HTTP_STATUS_BY_ERROR_CODE, code)
}

/** A family's own code is not sent to other nodes; a code of this set is more exact than the kind and is kept. */
export function mapFaultToErrorCode(fault: Fault): ErrorCode {
  return fault.code !== undefined && isErrorCode(fault.code) ? fault.code : CODE_OF_KIND[fault.kind]
}

export function toFaultKind(code: ErrorCode): FaultKind {
  return KIND_OF_CODE[code]
}

/** CONTRACT § 5.4. Details that the contract names keep their place beside the message. */
export function toErrorBodyJson(fault: Fault): JsonObject {
  return {
    error: mapFaultToErrorCode(fault),
    message: fault.message,
    ...(fault.retryAfterMs === undefined ? {} : { retry_after_ms: fault.retryAfterMs }),
    ...fault.details,
  }
}
