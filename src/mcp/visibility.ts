/**
 * Visibility: which offers a principal's lists show. A function of role and token restrictions and of nothing else,
 * so that a list can be cached and never changes as a side effect of a call (MCP 2026-07-28, tools).
 *
 * It only hides. What a caller names although it is not listed for its role still goes to the guard, which refuses
 * it with reasons and leaves the attempt in the ledger.
 *
 * Pure.
 */
import type { Role } from '../bus/call.ts'
import type { Effect, Offer } from '../bus/capability.ts'
import type { Principal } from './face-bus.ts'

const ALL: readonly Effect[] = ['reads', 'records', 'writes', 'sensitive', 'admin']

/** An approver decides about the calls of others and makes none that change anything. */
const EFFECTS_OF: Readonly<Record<Role, readonly Effect[]>> = {
  observer: ['reads'],
  approver: ['reads'],
  agent: ALL,
  admin: ALL,
}

export function isVisible(offer: Offer, { role, restrictions }: Pick<Principal, 'role' | 'restrictions'>): boolean {
  if (offer.face.kind === 'service') return false
  if (!EFFECTS_OF[role].includes(offer.effect)) return false
  if (restrictions?.effects !== undefined && !restrictions.effects.includes(offer.effect)) return false
  const device = offer.params['device']
  const named = typeof device === 'string' && restrictions?.devices?.includes(device) === true
  if (typeof device === 'string' && restrictions?.devices !== undefined && !named) return false
  // Spec 3: a device's user-only tools are for people. A token made out for that device is such a person's.
  if (offer.params['userOnly'] === true) return role === 'admin' || named
  return true
}
