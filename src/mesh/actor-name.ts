/**
 * Actor name: the caller for whom a node calls another node. The node signs the name with the call (ADR 94).
 *
 *   claude · service:console-history · peer:ed25519:…/claude, which called us through its own node
 *
 * It is the caller's name in our own records, and not a credential.
 */
import { hash } from 'node:crypto'
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'

/** No blanks, no control characters, and nothing that a header, a row or a page would have to escape. */
const ACTOR = /^[A-Za-z0-9][A-Za-z0-9_./:-]{0,127}$/
const DIGEST_CHARACTERS = 22

export function isActorName(text: string): boolean {
  return ACTOR.test(text)
}

/**
 * The name of a caller. A name of another form, such as one of a caller behind several nodes, is replaced by its hash,
 * so that two callers still have two names.
 */
export function formatActorName(caller: Caller): string {
  const key = toCallerKey(caller)
  return isActorName(key) ? key : `caller:${hash('sha256', key, 'base64url').slice(0, DIGEST_CHARACTERS)}`
}
