/**
 * Offer visibility: which offers a principal's lists show. Depends only on role and token restrictions, so that a list
 * can be cached and never changes as a side effect of a call (MCP 2026-07-28, tools).
 *
 * It only hides. A call of something that is not listed still goes to the guard, which refuses it by the same rules,
 * with reasons, and records the attempt in the ledger.
 */
import type { Offer } from '../bus/capability.ts'
import { listCallerRefusalReasons } from '../guard/call-permission.ts'
import { matchesAnyPattern } from '../guard/name-pattern.ts'
import type { FacePrincipal } from './face-bus.ts'

export type ViewerRights = Pick<FacePrincipal, 'role' | 'restrictions'>

export function isOfferVisible(offer: Offer, { role, restrictions = {} }: ViewerRights): boolean {
  if (offer.face.kind === 'service') return false
  const { effects, devices } = restrictions
  // A tool of one device names the device in its params, as its assessments do. Other tools name theirs in each call.
  const device = typeof offer.params['device'] === 'string' ? offer.params['device'] : undefined
  const narrowed = {
    ...(effects === undefined ? {} : { effects }),
    ...(devices === undefined || device === undefined ? {} : { devices }),
  }
  const { effect, trustRequired, forApprovers } = offer
  const caller = { kind: 'principal', id: '', role, restrictions: narrowed } as const
  const standing = { effect, trustRequired, target: device, inProfile: true, forApprovers }
  if (listCallerRefusalReasons(caller, standing).length > 0) return false
  // Spec 3: a device's user-only tools are for people. A token that is restricted to that device belongs to such a
  // person.
  if (offer.params['userOnly'] !== true) return true
  return role === 'admin' || (device !== undefined && devices !== undefined && matchesAnyPattern(devices, device))
}
