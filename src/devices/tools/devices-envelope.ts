/**
 * Devices envelope: how the devices family answers.
 *
 *   success   content as the device gave it     structured { device, value, … } or the fleet tool's own answer
 *   failure   isError, the device's text        structured { error: { code, message, retryable, … } }
 */
import type { ContentBlock } from '../../bus/call.ts'
import type { FamilyEnvelope, JsonSchema, Offer } from '../../bus/capability.ts'
import { isRetriableFault } from '../../core/fault.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { DEVICE_ANSWER_SCHEMA } from './device-outcome.ts'

const CODES: Readonly<Record<FaultKind, string>> = {
  'invalid-arguments': 'invalid_arguments',
  'not-found': 'not_found',
  'not-permitted': 'not_permitted',
  'approval-required': 'approval_required',
  conflict: 'conflict',
  busy: 'busy',
  offline: 'device_offline',
  'timed-out': 'timed_out',
  cancelled: 'cancelled',
  failed: 'device_error',
  'unknown-outcome': 'unknown_outcome',
  unsupported: 'unsupported',
  internal: 'internal_error',
}

export const devicesFamilyEnvelope: FamilyEnvelope = {
  name: 'devices',
  isListedInShort: true,
  success: (data) => data,
  failure: (fault) => ({ structured: { error: toDeviceErrorJson(fault) }, isError: true, content: [textOf(fault)] }),
  outputSchema,
}

export function toDeviceErrorJson(fault: Fault): JsonObject {
  const { message, reasons, retryAfterMs, details } = fault
  return {
    code: codeOf(fault),
    message,
    retryable: isRetriableFault(fault) || isAway(fault),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    ...(reasons === undefined ? {} : { reasons: reasons.map(({ rule, message: why }) => ({ rule, message: why })) }),
    ...(details === undefined || Object.keys(details).length === 0 ? {} : { details }),
  }
}

/** Where the guard has a code for what became of a change, that one is used instead of the family's. */
function codeOf(fault: Fault): string {
  if (isAway(fault)) return 'device_asleep'
  return fault.kind === 'unknown-outcome' ? CODES[fault.kind] : (fault.code ?? CODES[fault.kind])
}

/** Whether the call was refused only because the device cannot be reached. */
function isAway({ kind, reasons = [] }: Fault): boolean {
  return kind === 'not-permitted' && reasons.length > 0 && reasons.every(({ rule }) => rule === 'device-asleep')
}

function textOf({ message }: Fault): ContentBlock {
  return { type: 'text', text: message }
}

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    retryable: { type: 'boolean' },
    retry_after_ms: { type: 'number' },
    reasons: { type: 'array' },
    details: { type: 'object' },
  },
  required: ['code', 'message', 'retryable'],
}

/**
 * Failures are in the schema as well: clients of the 2025 revisions check structured content even when `isError` is
 * set.
 */
function outputSchema({ responseSchema }: Offer): JsonSchema | undefined {
  // Every tool of every device has the same output schema, which would be half of a board's list, so it is not listed.
  if (responseSchema === DEVICE_ANSWER_SCHEMA) return undefined
  const { $defs, properties, required, type: _type, additionalProperties: _, ...rest } = responseSchema ?? {}
  return {
    type: 'object',
    properties: { ...(properties as Record<string, Json> | undefined), error: ERROR },
    anyOf: [{ required: required ?? [] }, { required: ['error'] }],
    ...rest,
    ...($defs === undefined ? {} : { $defs }),
  }
}
