/**
 * Protocol error: JSON-RPC errors, where there is no envelope. Tool faults are never turned into these: they are
 * results, in their family's envelope, so that a model can correct itself.
 */
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'

export interface McpProtocolError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject
}

export const PARSE_ERROR_CODE = -32_700
export const INVALID_REQUEST_ERROR_CODE = -32_600
export const INVALID_PARAMS_ERROR_CODE = -32_602
export const INTERNAL_ERROR_CODE = -32_603
/** From the range that JSON-RPC leaves to servers: refused or not possible now; `data.kind` says which. */
export const SERVER_ERROR_CODE = -32_000
/** Of revision 2026-07-28. */
export const HEADER_MISMATCH_ERROR_CODE = -32_020
export const MISSING_CAPABILITY_ERROR_CODE = -32_021

/** The error for a fault of a resource or a prompt. */
export function toMcpProtocolError(fault: Fault): McpProtocolError {
  const { message } = fault
  const data = faultData(fault)
  switch (fault.kind) {
    case 'not-found':
    case 'invalid-arguments':
      return { code: INVALID_PARAMS_ERROR_CODE, message, data }
    case 'internal':
      return { code: INTERNAL_ERROR_CODE, message }
    default:
      return { code: SERVER_ERROR_CODE, message, data }
  }
}

function faultData({ kind, code, reasons, retryAfterMs, details }: Fault): JsonObject {
  return {
    kind,
    ...(code === undefined ? {} : { code }),
    ...(reasons === undefined ? {} : { reasons: reasons.map(({ rule, message }) => ({ rule, message })) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(details === undefined ? {} : { details }),
  }
}
