/**
 * Eligible: whether a provider could ever serve a call, whatever it is doing at the moment.
 *
 * Pure.
 */
import type { Call } from './call.ts'
import { satisfies } from './capability.ts'
import type { Version } from './capability.ts'
import type { Contract, NamedContracts } from './contract.ts'
import type { CapabilityEntry } from './entry.ts'
import { servesParams } from './params.ts'
import { isTrusted } from './trust.ts'

/** Of a call, what decides who may serve it. Without a version, any. */
export interface RouteRequest extends Pick<
  Call,
  'capability' | 'body' | 'caller' | 'hopBudget' | 'node' | 'sessionId' | 'schemaHash'
> {
  readonly versionReq: Version | undefined
}

export function isEligible(entry: CapabilityEntry, request: RouteRequest): boolean {
  return (
    (request.versionReq === undefined || satisfies(entry.offer.version, request.versionReq)) &&
    isPlaced(entry, request) &&
    isTrusted(request.caller, entry.offer.trustRequired) &&
    servesParams(entry.offer, request.body)
  )
}

/** On the node that was asked for; here, if no hops are left; never back where the call came from. */
export function isPlaced(entry: CapabilityEntry, { node, hopBudget, caller }: RouteRequest): boolean {
  if (node !== undefined && node !== entry.nodeId) return false
  return entry.isLocal || (hopBudget > 0 && entry.nodeId !== caller.id)
}

/** By a provider of this node itself. */
export function isServedHere({ entries, localCount }: Contract, request: RouteRequest): boolean {
  for (let at = 0; at < localCount; at++) {
    const entry = entries[at]
    if (entry !== undefined && isEligible(entry, request)) return true
  }
  return false
}

/**
 * What belongs to one house and is offered by several others has to be asked of one of them by name: a temperature of
 * another house is as wrong an answer as a door opened there. What this node serves itself is never ambiguous.
 */
export function isAmbiguous(request: RouteRequest, contract: Contract, named: NamedContracts): boolean {
  if (request.node !== undefined || !named.hasBound || isServedHere(contract, request)) return false
  let hasBound = false
  let nodeId: string | undefined
  let isSeveral = false
  for (const { entries, isBoundToNode } of named.contracts)
    for (const entry of entries) {
      if (isSeveral && !isBoundToNode) break
      if (!isEligible(entry, request)) continue
      hasBound ||= isBoundToNode
      isSeveral ||= nodeId !== undefined && nodeId !== entry.nodeId
      nodeId ??= entry.nodeId
      if (hasBound && isSeveral) return true
    }
  return false
}
