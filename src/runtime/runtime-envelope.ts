/**
 * Runtime envelope: how the runtime family answers (spec 5 § 6).
 *
 *   success                {ok: true,  data}
 *   failure, pattern A     {ok: false, error: {code, message, details?}}             MCP isError
 *   failure, pattern B     {ok: true,  data: {ok: false, error: {code, message, …}}} a domain error of § 6.3's B tools
 *
 * Refusals by the chain (arguments, policy, deadline, a handler that threw) are pattern A for every tool.
 */
import type { FamilyEnvelope, JsonSchema, Offer } from '../bus/capability.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isRuntimeErrorCode } from './faults.ts'

/** Spec 5 § 6.3: the tools whose handlers return their errors. */
const RETURNS_ERRORS: ReadonlySet<string> = new Set([
  'task_create',
  'task_get',
  'task_update',
  'task_list',
  'task_next_actions',
  'audit_session_start',
  'merkle_finalize',
  'merkle_root',
])

/** § 6.2 names INVALID_PARAMS and HANDLER_ERROR; the others come from stages that spec 5 leaves open. */
const CODES: Readonly<Record<FaultKind, string>> = {
  'invalid-arguments': 'INVALID_PARAMS',
  internal: 'HANDLER_ERROR',
  failed: 'HANDLER_ERROR',
  conflict: 'HANDLER_ERROR',
  'not-found': 'NOT_FOUND',
  'not-permitted': 'NOT_PERMITTED',
  'approval-required': 'APPROVAL_REQUIRED',
  busy: 'BUSY',
  offline: 'OFFLINE',
  'timed-out': 'TIMED_OUT',
  cancelled: 'CANCELLED',
  'unknown-outcome': 'UNKNOWN_OUTCOME',
  unsupported: 'UNSUPPORTED',
}

/** Which of § 6.2's patterns a tool's own failures use; refusals by the chain are pattern A for every tool. */
export function selectErrorEnvelopePattern(tool: string): 'A' | 'B' {
  return RETURNS_ERRORS.has(tool) ? 'B' : 'A'
}

export const runtimeFamilyEnvelope: FamilyEnvelope = {
  name: 'runtime',
  isListedInShort: true,
  // Spec 5 § 6.1.
  success: (data) => ({ ok: true, data }),
  failure: (fault, offer) => {
    // Only the runtime's own codes are domain errors: a task_get that was denied or aborted is pattern A (ADR 5).
    if (isRuntimeErrorCode(fault.code) && RETURNS_ERRORS.has(offer.name)) {
      // Details come first, so that none of them can replace the code or the message.
      const error = { ...fault.details, code: fault.code, message: fault.message }
      return { structured: { ok: true, data: { ok: false, error } }, isError: false }
    }
    return { structured: { ok: false, error: middlewareError(fault) }, isError: true }
  },
  outputSchema,
}

/**
 * A domain error of a tool that throws keeps spec 5's form: `HANDLER_ERROR` with the code as the message's prefix; the
 * code is in the details as well, so that clients need not parse the message.
 */
function middlewareError(fault: Fault): JsonObject {
  const thrown = isRuntimeErrorCode(fault.code)
  const details = { ...fault.details, ...extraDetails(fault) }
  return {
    code: thrown ? 'HANDLER_ERROR' : CODES[fault.kind],
    message: thrown ? `${fault.code}: ${fault.message}` : fault.message,
    ...(Object.keys(details).length === 0 ? {} : { details }),
  }
}

function extraDetails({ code, reasons, retryAfterMs }: Fault): { readonly [key: string]: Json } {
  return {
    ...(code === undefined ? {} : { code }),
    ...(reasons === undefined ? {} : { reasons: reasons.map(({ rule, message }) => ({ rule, message })) }),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
  }
}

/** Open: § 6.2 allows "optional fields" beside code and message, and pattern B puts its details there. */
const ERROR: JsonSchema = {
  type: 'object',
  properties: { code: { type: 'string' }, message: { type: 'string' }, details: { type: 'object' } },
  required: ['code', 'message'],
}

const RETURNED_ERROR: JsonSchema = {
  type: 'object',
  properties: { ok: { const: false }, error: ERROR },
  required: ['ok', 'error'],
  additionalProperties: false,
}

/** Pattern A is included: clients of the 2025 revisions validate structured content even when `isError` is set. */
function outputSchema(offer: Offer): JsonSchema {
  // References inside a schema count from its root, so definitions move up with it.
  const { $defs, ...response } = offer.responseSchema ?? {}
  return {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      data: RETURNS_ERRORS.has(offer.name) ? { anyOf: [response, RETURNED_ERROR] } : response,
      error: ERROR,
    },
    required: ['ok'],
    additionalProperties: false,
    anyOf: [
      { properties: { ok: { const: true } }, required: ['data'] },
      { properties: { ok: { const: false } }, required: ['error'] },
    ],
    ...($defs === undefined ? {} : { $defs }),
  }
}
