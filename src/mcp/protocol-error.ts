/**
 * Protocol error: what JSON-RPC says where there is no envelope to say it in. Tool faults never come here: they are
 * results, in their family's words, so that a model can correct itself.
 */
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'

export interface ProtocolFault {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject
}

export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
/** Of the range that JSON-RPC leaves to servers: refused or not possible now; `data.kind` says which. */
export const SERVER_ERROR = -32_000
/** 2026-07-28. */
export const HEADER_MISMATCH = -32_020
export const MISSING_CAPABILITY = -32_021

/** A fault of a resource or a prompt. */
export function toProtocolFault(fault: Fault): ProtocolFault {
  const { message } = fault
  const data = faultData(fault)
  switch (fault.kind) {
    case 'not-found':
    case 'invalid-arguments':
      return { code: INVALID_PARAMS, message, data }
    case 'internal':
      return { code: INTERNAL_ERROR, message }
    default:
      return { code: SERVER_ERROR, message, data }
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
