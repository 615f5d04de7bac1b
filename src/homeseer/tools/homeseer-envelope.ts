/**
 * Envelope: how the HomeSeer family answers (spec 4, “Actionable Errors”).
 *
 *   success  {result}
 *   failure  {error: {code, message, retryable, fixHint, suggestedNextToolCalls[], details?}}     MCP isError
 *
 * Arguments that do not fit the schema are answered in the same form.
 */
import type { Outcome } from '../../bus/call.ts'
import type { FamilyEnvelope, JsonSchema, Offer } from '../../bus/capability.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import { omitUndefined, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { sanitizeJson } from '../../core/untrusted-text.ts'
import {
  FIX_HINT_FIELD,
  isHs4ErrorCode,
  SUGGESTED_CALLS_FIELD,
  toSuggestedCallJson,
  type Hs4ErrorCode,
  type SuggestedToolCall,
} from './faults.ts'

/** The codes for faults of the chain or the guard, which do not know the family's ten codes. */
const CODES: Readonly<Record<FaultKind, Hs4ErrorCode>> = {
  'invalid-arguments': 'BAD_REQUEST',
  'not-found': 'NOT_FOUND',
  'not-permitted': 'POLICY_DENY',
  'approval-required': 'POLICY_DENY',
  conflict: 'BAD_REQUEST',
  // A limit is the owner's policy, too; `retryable` tells it apart from a refusal.
  busy: 'POLICY_DENY',
  offline: 'NETWORK',
  'timed-out': 'TIMEOUT',
  cancelled: 'TIMEOUT',
  failed: 'HS4_ERROR',
  'unknown-outcome': 'UNKNOWN',
  unsupported: 'UNSUPPORTED_ON_TARGET',
  internal: 'INTERNAL',
}

/**
 * Kinds after which the same call may succeed later. An unknown outcome is never retried: the change may have happened.
 */
const RETRYABLE: ReadonlySet<FaultKind> = new Set(['offline', 'timed-out', 'busy', 'internal'])

/** The default `error.fixHint`, written for the model that has to act on it. */
const HINTS: Readonly<Record<Hs4ErrorCode, string>> = {
  AUTH: 'Check user and password of HomeSeer in the configuration.',
  NETWORK: 'Check that HomeSeer runs and that its address is right, then try again.',
  BAD_REQUEST: 'Correct the arguments; `details` says which.',
  NOT_FOUND: 'Resolve the name again and use the ref or id that comes back.',
  HS4_ERROR: 'Look at HomeSeer itself: its log, the device, its settings.',
  POLICY_DENY: 'Put every reason in `details.reasons` right, or ask the owner.',
  TIMEOUT: 'Try again; if it stays slow, raise the timeout.',
  UNSUPPORTED_ON_TARGET: 'Use another way; this HomeSeer cannot do this one.',
  INTERNAL: 'Try once more; the log of the gateway says what went wrong.',
  UNKNOWN: 'Read the state back before trying again: the change may have happened.',
}
const APPROVAL_HINT =
  'A person was asked (`details.approval`). Tell the user; once they agree, make this very call again unchanged.'
const MISSING_HINT = 'Make the call in suggestedNextToolCalls, with words of your own for intent and reason.'
const DECIDED_HINT = 'A person decided this. Tell the user; do not try to get around it.'
/** The fault is on the way to HomeSeer, not in HomeSeer. */
const AWAY_HINT = 'Another node was asked, and cannot be reached now. Try again later, or tell the user.'
const NODE_HINT = 'Name one of the nodes in the message, or leave `_node` out.'
const LATER_HINT = 'Wait for `details.retryAfterMs`, then make the same call.'

export const homeseerFamilyEnvelope: FamilyEnvelope = {
  name: 'homeseer',
  isListedInShort: true,
  // Names, states and events are untrusted text, so they are cleaned here. Event files are not cleaned when they are
  // read, because a rollback restores what it found.
  success: (data) => ({ result: sanitizeJson(data) }),
  failure: (fault, offer, listed = (tool) => tool) => ({
    structured: sanitizeJson({ error: errorJson(fault, offer, listed) }),
    isError: true,
  }),
  outputSchema,
}

/** What the tools that only read have in common. */
export const HOMESEER_READ_DEFAULTS = { family: homeseerFamilyEnvelope, effect: 'reads' } as const

export function createHomeseerOutcome(data: Json): Outcome {
  return ok({ data })
}

export function toHomeseerAnswerOrFault(result: Result<Json, Fault>): Outcome {
  return result.ok ? createHomeseerOutcome(result.value) : fail(result.fault)
}

function errorJson(fault: Fault, offer: Offer, listed: (tool: string) => string): JsonObject {
  const code = codeOf(fault)
  const { [SUGGESTED_CALLS_FIELD]: own, [FIX_HINT_FIELD]: hint, next: step, ...known } = fault.details ?? {}
  // The fault's own suggestion contains the arguments of the failed call; the usual one only its name.
  const next = Array.isArray(own) ? own : (nextStep(fault, step) ?? usualNext(code, offer).map(toSuggestedCallJson))
  const details = { ...known, ...extraDetails(fault), ...adminDetails(fault) }
  return {
    code,
    message: fault.message,
    retryable: RETRYABLE.has(fault.kind),
    fixHint: typeof hint === 'string' ? hint : hintFor(fault, code),
    suggestedNextToolCalls: next.map((call) => renameCall(call, listed)),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  }
}

/** The one step that a fault names, as a call of this contract. */
function nextStep({ details }: Fault, given: Json | undefined): readonly Json[] | undefined {
  const waiting = details?.['approval']
  const step = given ?? (isJsonObject(waiting) ? waiting['next'] : undefined)
  if (!isJsonObject(step) || typeof step['tool'] !== 'string') return undefined
  const args = step['arguments']
  return [toSuggestedCallJson({ name: step['tool'], ...(isJsonObject(args) ? { args } : {}) })]
}

/** Another node may have suggested it, in any form. */
function renameCall(call: Json, listed: (tool: string) => string): Json {
  if (!isJsonObject(call) || typeof call['name'] !== 'string') return call
  return { ...call, name: listed(call['name']) }
}

/** The kind decides if the guard knows more than the family did. */
function codeOf({ kind, code }: Fault): Hs4ErrorCode {
  return isHs4ErrorCode(code) && kind !== 'unknown-outcome' ? code : CODES[kind]
}

/** Reasons that no arguments can change. */
const DECIDED: ReadonlySet<string> = new Set(['approval-denied', 'owner', 'emergency-stop'])

function hintFor({ kind, code: given, details, reasons = [] }: Fault, code: Hs4ErrorCode): string {
  if (kind === 'approval-required') return APPROVAL_HINT
  if (kind === 'invalid-arguments' && details?.['next'] !== undefined) return MISSING_HINT
  // A code of the bus (spec 2 § 6): no provider of this family was called.
  if (kind === 'offline' && given === 'partition') return AWAY_HINT
  if (kind === 'not-found' && details?.['reason'] === 'node') return NODE_HINT
  if (reasons.some(({ rule }) => DECIDED.has(rule))) return DECIDED_HINT
  return kind === 'busy' ? LATER_HINT : HINTS[code]
}

/** Spec 4's `suggestedNextToolCalls`, by code; every failure names at least one call that can be made unchanged. */
function usualNext(code: Hs4ErrorCode, { name }: Offer): readonly SuggestedToolCall[] {
  const health: SuggestedToolCall = { name: 'hs4.health.get' }
  const selftest: SuggestedToolCall = { name: 'hs4.selftest.run' }
  const audit = (result: string): SuggestedToolCall => ({
    name: 'hs4.audit.query',
    args: { tool: name, result, limit: 10 },
  })
  switch (code) {
    case 'AUTH':
    case 'TIMEOUT':
      return [health]
    case 'NETWORK':
    case 'HS4_ERROR':
      return [health, selftest]
    case 'POLICY_DENY':
      return [audit('blocked')]
    case 'INTERNAL':
      return [audit('error')]
    case 'UNKNOWN':
      return [selftest, audit('error')]
    default:
      return [{ name: 'hs4.help.route', args: { goal: `use ${name}` } }]
  }
}

function extraDetails({ reasons, retryAfterMs }: Fault): JsonObject {
  return {
    ...(reasons === undefined
      ? {}
      : { reasons: reasons.map(({ message }) => message), rules: reasons.map(({ rule }) => rule) }),
    ...omitUndefined({ retryAfterMs }),
  }
}

/**
 * A refused administration call still answers with the contract's envelope, so that one reader is enough. The details
 * about the call come with the fault (admin/admin-envelope.ts); the result is added here, where the reasons are known.
 */
function adminDetails({ reasons = [], details }: Fault): JsonObject {
  const envelope = details?.['envelope']
  if (!isJsonObject(envelope) || envelope['result'] !== undefined) return {}
  const { precheck, ...call } = envelope
  const statusOf = (check: Json | undefined): string => {
    if (check === 'policy') return 'fail'
    const rule = check === 'change_ticket' ? 'change-ticket' : 'maintenance-window'
    if (reasons.some((reason) => reason.rule.startsWith(rule))) return 'fail'
    // A call that was not found has not been checked.
    return call['domain'] === null ? 'skipped' : 'pass'
  }
  const checks = Array.isArray(precheck) ? (precheck as readonly JsonObject[]) : []
  return {
    envelope: {
      result: 'failed',
      precheck: checks.map(({ check, ...more }) => ({ check: check ?? null, status: statusOf(check), ...more })),
      steps: [],
      rollback: 'not_needed',
      ...call,
    },
  }
}

/** Short, because every tool of the list contains it. */
const ERROR: JsonSchema = {
  type: 'object',
  required: ['code', 'message', 'retryable', 'fixHint'],
}

/** Drops keywords without information, because models read the list of sixty tools and pay for every word. */
function slim(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(slim)
  if (typeof schema !== 'object' || schema === null) return schema
  const informative = Object.entries(schema).filter(([keyword, value]) => !saysNothing(keyword, value))
  return Object.fromEntries(informative.map(([keyword, value]) => [keyword, slim(value)]))
}

function saysNothing(keyword: string, value: unknown): boolean {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  if (keyword === 'maximum' || keyword === 'minimum') return Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
  return isEmpty && ['properties', 'additionalProperties', 'items'].includes(keyword)
}

/** Failures are admitted, too: clients of the 2025 era check structured content even when `isError` is set. */
function outputSchema(offer: Offer): JsonSchema {
  const { $defs, ...response } = offer.responseSchema ?? {}
  return {
    type: 'object',
    properties: { result: slim(response), error: ERROR },
    anyOf: [{ required: ['result'] }, { required: ['error'] }],
    ...($defs === undefined ? {} : { $defs }),
  }
}
