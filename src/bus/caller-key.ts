/**
 * Caller key: the names under which callers are known in records, and under which what is theirs is kept.
 *
 *   claude                      a principal of this node
 *   access-point:kitchen        a voice backend that this node connects to
 *   service:console-history     a service of this node
 *   peer:ed25519:…              another node
 *   peer:ed25519:…/claude       somebody for whom that node says that it calls (ADR 94)
 *
 * Neither a principal's name nor a node's id has a slash in it; no token's name has a colon, so none is one of these.
 *
 * Pure.
 */
import type { Caller } from './call.ts'

const PEER = 'peer:'
const SLASH = '/'

/** Under which approvals, grants, keys, tokens and records are a caller's own. */
export function callerKey(caller: Caller): string {
  const account = accountKey(caller)
  return caller.kind === 'peer' && caller.actor !== undefined ? account + SLASH + caller.actor : account
}

/** Who answers for a caller. Budgets and bounds are kept under this name: a node can make up any number of others. */
export function accountKey(caller: Caller): string {
  return caller.kind === 'principal' ? caller.id : `${caller.kind}:${caller.id}`
}

/** The same for a caller key, such as a row has it. */
export function accountOf(key: string): string {
  const end = key.startsWith(PEER) ? key.indexOf(SLASH) : -1
  return end < 0 ? key : key.slice(0, end)
}

/** Which node a caller key is about, and for whom it says that it calls; `undefined` for a caller of our own. */
export function peerOf(key: string): { readonly node: string; readonly actor: string | undefined } | undefined {
  if (!key.startsWith(PEER)) return undefined
  const account = accountOf(key)
  return {
    node: account.slice(PEER.length),
    actor: account === key ? undefined : key.slice(account.length + SLASH.length),
  }
}
