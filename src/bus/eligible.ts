/**
 * Eligible: whether a provider could ever serve a call, whatever it is doing at the moment.
 *
 * Pure.
 */
import type { Call } from './call.ts'
import { satisfies } from './capability.ts'
import type { Effect } from './capability.ts'
import type { CapabilityEntry } from './entry.ts'
import { servesParams } from './params.ts'
import { isTrusted } from './trust.ts'

export function isEligible(entry: CapabilityEntry, call: Call): boolean {
  return (
    satisfies(entry.offer.version, call.versionReq) &&
    isPlaced(entry, call) &&
    isTrusted(call.caller, entry.offer.trustRequired) &&
    servesParams(entry.offer, call.body)
  )
}

/** On the node that was asked for; here, if no hops are left; never back where the call came from. */
export function isPlaced(entry: CapabilityEntry, call: Call): boolean {
  if (call.node !== undefined && call.node !== entry.nodeId) return false
  return entry.isLocal || (call.hopBudget > 0 && entry.nodeId !== call.caller.id)
}

/** Effects that may happen in any house, since they change nothing in it. */
const HARMLESS: ReadonlySet<Effect> = new Set(['reads', 'records'])

/** A change to things of one house, offered by several, has to say which. */
export function isAmbiguous(call: Call, eligible: readonly CapabilityEntry[]): boolean {
  if (call.node !== undefined || eligible.length < 2) return false
  const bound = eligible.filter(({ offer }) => offer.anywhere !== true && !HARMLESS.has(offer.effect))
  return new Set(bound.map((entry) => entry.nodeId)).size > 1
}
