/**
 * Actor name: for whom a node calls another one, in a word that it signs with the call (ADR 94).
 *
 *   claude · service:console-history · peer:ed25519:…/claude, who called us through a node of their own
 *
 * It is the name under which our own records have the caller: no credential, and nothing that opens anything.
 */
import { hash } from 'node:crypto'
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'

/** Neither blanks nor controls nor anything that a header, a row or a page would have to escape. */
const ACTOR = /^[A-Za-z0-9][A-Za-z0-9_./:-]{0,127}$/
const DIGEST_CHARACTERS = 22

export function isActorName(text: string): boolean {
  return ACTOR.test(text)
}

/** A name that is none of the kind above, such as one that came a long way, is told by its hash: two stay two. */
export function formatActorName(caller: Caller): string {
  const key = toCallerKey(caller)
  return isActorName(key) ? key : `caller:${hash('sha256', key, 'base64url').slice(0, DIGEST_CHARACTERS)}`
}
