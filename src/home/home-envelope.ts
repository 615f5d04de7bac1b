/**
 * Home envelope: how the tools of the home answer. Every answer has `say`, a sentence that is true and can be spoken.
 *
 *   success                 {say, things?, ask?, next?, id? …}
 *   waits for a person      {say, approval: {id, state, expires_at?, next}}       no error: waiting is a state
 *   failure                 {say, quoted, error: {code, rules?}, next?}            MCP isError
 */
import type { FamilyEnvelope } from '../bus/capability.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { omitUndefined, isJsonObject } from '../core/json.ts'
import { quoteForSentence, quoteLongText } from './sentence-text.ts'

export const homeFamilyEnvelope: FamilyEnvelope = {
  name: 'home',
  isListedInShort: true,
  success: (data) => (isJsonObject(data) ? data : { say: '', data }),
  failure: (fault) => {
    const approval = waitingIn(fault)
    return approval === undefined
      ? { structured: failureJson(fault), isError: true }
      : { structured: approval, isError: false }
  },
}

function waitingIn({ kind, details }: Fault): JsonObject | undefined {
  const approval = details?.['approval']
  if (kind !== 'approval-required' || !isJsonObject(approval)) return undefined
  const label = typeof details?.['label'] === 'string' ? `: ${quoteForSentence(details['label'])}` : ''
  const node = typeof details?.['node_name'] === 'string' ? ` on ${quoteForSentence(details['node_name'])}` : ''
  return {
    say: `I have asked a person to confirm this${label}${node}. Nothing was done yet. Once they agree, ask for the same again and it is done.`,
    approval: quoteProse(approval),
  }
}

/** What an identifier, a code or a time looks like. A sentence does not. */
const IDENTIFIER = /^[\w.:/+[\]-]{1,160}$/

/** Another node may have written this text, and may have put a sentence where an identifier belongs. */
function quoteUnlessIdentifier(text: string): string {
  return IDENTIFIER.test(text) ? text : quoteForSentence(text)
}

/** An answer with an `id` got its `next` here, with the caller's own arguments, so it is not quoted. */
function quoteProse({ id, state, expires_at: expiresAt, resource, next }: JsonObject): JsonObject {
  return {
    ...Object.fromEntries(
      Object.entries({ id, state, expires_at: expiresAt, resource }).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, quoteUnlessIdentifier(value)]] : [],
      ),
    ),
    ...(next === undefined || typeof id !== 'string' ? {} : { next }),
  }
}

/**
 * Sentences that are true for every fault of a kind. The family's own message may contain names of devices, so it is
 * quoted.
 */
const SENTENCES: Readonly<Record<FaultKind, string>> = {
  'invalid-arguments': 'The arguments do not fit. Nothing was done.',
  'not-found': 'There is no such thing. Nothing was done.',
  'not-permitted': 'This is not permitted. Nothing was done.',
  'approval-required': 'A person has to agree first. Nothing was done.',
  conflict: 'It is in a state that does not allow this. Nothing was done.',
  busy: 'Too much is going on; try again in a moment. Nothing was done.',
  offline: 'It cannot be reached now. Nothing was done.',
  'timed-out': 'There was no answer in time.',
  cancelled: 'The call was withdrawn.',
  failed: 'It did not work.',
  'unknown-outcome': 'It was told, and nobody knows whether it took effect. Check the state before trying again.',
  unsupported: 'This cannot be done here. Nothing was done.',
  internal: 'Something went wrong inside the gateway.',
}

function failureJson({ kind, code, message, reasons, retryAfterMs, details }: Fault): JsonObject {
  const rules: Json[] = (reasons ?? []).map(({ rule }) => quoteUnlessIdentifier(rule))
  const next = details?.['next']
  return {
    say: SENTENCES[kind],
    quoted: quoteLongText(message),
    error: {
      code: quoteUnlessIdentifier(code ?? kind),
      ...(rules.length === 0 ? {} : { rules }),
      ...omitUndefined({ retry_after_ms: retryAfterMs }),
    },
    ...(isJsonObject(next) ? { next } : {}),
  }
}
