/**
 * Visibility: which offers a principal's lists show. A function of role and token restrictions and of nothing else,
 * so that a list can be cached and never changes as a side effect of a call (MCP 2026-07-28, tools).
 *
 * It only hides. What a caller names although it is not listed still goes to the guard, which refuses it by the same
 * rules, with reasons, and leaves the attempt in the ledger.
 */
import type { Offer } from '../bus/capability.ts'
import { explainCallerRefusal } from '../guard/caller-rights.ts'
import { matchesAnyPattern } from '../guard/pattern.ts'
import type { FacePrincipal } from './face-bus.ts'

export type ViewerStanding = Pick<FacePrincipal, 'role' | 'restrictions'>

export function isOfferVisible(offer: Offer, { role, restrictions = {} }: ViewerStanding): boolean {
  if (offer.face.kind === 'service') return false
  const { effects, devices } = restrictions
  // A tool that belongs to one device names it here, as its assessments do. Others name theirs in each call.
  const device = typeof offer.params['device'] === 'string' ? offer.params['device'] : undefined
  const narrowed = {
    ...(effects === undefined ? {} : { effects }),
    ...(devices === undefined || device === undefined ? {} : { devices }),
  }
  const { effect, trustRequired, forApprovers } = offer
  const caller = { kind: 'principal', id: '', role, restrictions: narrowed } as const
  const standing = { effect, trustRequired, target: device, inProfile: true, forApprovers }
  if (explainCallerRefusal(caller, standing).length > 0) return false
  // Spec 3: a device's user-only tools are for people. A token made out for that device is such a person's.
  if (offer.params['userOnly'] !== true) return true
  return role === 'admin' || (device !== undefined && devices !== undefined && matchesAnyPattern(devices, device))
}
