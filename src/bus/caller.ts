/**
 * Caller: the names under which callers are known in records, and which callers a capability is for.
 *
 *   claude                      a principal of this node
 *   access-point:kitchen        a voice backend that this node connects to
 *   service:console-history     a service of this node
 *   peer:ed25519:…              another node
 *   peer:ed25519:…/claude       somebody for whom that node says that it calls (ADR 94)
 *
 * Neither a principal's name nor a node's id has a slash in it; no token's name has a colon, so none is one of these.
 * Trust levels (spec 2 `trust_required`) are a matter between nodes: unknown < member < trusted < anchor, and `self` for
 * this node's own principals and services, whom the guard judges by role and policy.
 */
import type { Caller, TrustLevel } from './call.ts'
import type { Fault } from '../core/fault.ts'
import type { CapabilityDescriptor } from './capability.ts'

const PEER = 'peer:'
const SLASH = '/'

/** The key under which approvals, grants, idempotency keys, tokens and records belong to a caller. */
export function toCallerKey(caller: Caller): string {
  const account = toAccountKey(caller)
  return caller.kind === 'peer' && caller.actor !== undefined ? account + SLASH + caller.actor : account
}

/**
 * The account that is responsible for a caller. Budgets and limits are kept per account, because a node can invent any
 * number of callers.
 */
export function toAccountKey(caller: Caller): string {
  return caller.kind === 'principal' ? caller.id : `${caller.kind}:${caller.id}`
}

/** The account that is responsible for a caller key, as keys are stored in records. */
export function toAccountKeyFromCallerKey(key: string): string {
  const end = key.startsWith(PEER) ? key.indexOf(SLASH) : -1
  return end < 0 ? key : key.slice(0, end)
}

/** Which node a caller key is about, and for whom it says that it calls; `undefined` for a caller of our own. */
export function parsePeerCallerKey(
  key: string,
): { readonly node: string; readonly actor: string | undefined } | undefined {
  if (!key.startsWith(PEER)) return undefined
  const account = toAccountKeyFromCallerKey(key)
  return {
    node: account.slice(PEER.length),
    actor: account === key ? undefined : key.slice(account.length + SLASH.length),
  }
}

const RANK: Readonly<Record<TrustLevel, number>> = { unknown: 0, member: 1, trusted: 2, anchor: 3 }

export function hasRequiredTrust(caller: Caller, required: CapabilityDescriptor['trustRequired']): boolean {
  if (caller.kind !== 'peer') return true
  return required !== 'self' && RANK[caller.level] >= RANK[required]
}

export function createUntrustedCallerFault(
  caller: Caller,
  descriptor: Pick<CapabilityDescriptor, 'name' | 'trustRequired'>,
): Fault {
  const level = caller.kind === 'peer' ? caller.level : 'local'
  const message =
    descriptor.trustRequired === 'self'
      ? `${descriptor.name} is not for other nodes.`
      : `${descriptor.name} is for nodes of level ${descriptor.trustRequired} and above; ${caller.id} is ${level}.`
  return {
    kind: 'not-permitted',
    code: 'unauthorized',
    message,
    reasons: [{ rule: 'trust-required', message }],
  }
}
