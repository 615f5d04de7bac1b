/**
 * Trust: which callers a capability is for (spec 2 `trust_required`).
 *
 *   unknown < member < trusted < anchor        `self`: only this node's own principals and services
 *
 * Levels are a matter between nodes. Principals of this node are judged by role and policy, which is the guard's work.
 *
 * Pure.
 */
import type { Fault } from '../core/fault.ts'
import type { Caller, TrustLevel } from './call.ts'
import type { CapabilityDescriptor } from './capability.ts'

const RANK: Readonly<Record<TrustLevel, number>> = { unknown: 0, member: 1, trusted: 2, anchor: 3 }

export function isTrusted(caller: Caller, required: CapabilityDescriptor['trustRequired']): boolean {
  if (caller.kind !== 'peer') return true
  return required !== 'self' && RANK[caller.level] >= RANK[required]
}

export function untrusted(caller: Caller, descriptor: Pick<CapabilityDescriptor, 'name' | 'trustRequired'>): Fault {
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
