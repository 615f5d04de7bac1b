/**
 * Route request matching: whether a provider could serve a call, whatever its present load and health: by version,
 * node, trust and params (spec 2 § 5.5).
 *
 *   { model: 'one-of', ctx: 'minimum' }      offered { model: ['a', 'b'], ctx: 8192 }
 *                                            requested { model: 'a', ctx: 4096 }   ✓
 *
 * A matcher of params is data, which travels in a manifest, or a function, which stays on its node. Keys that the
 * matcher does not name, or that the caller does not ask for, do not matter.
 */
import type { Call } from './call.ts'
import type { CapabilityVersion, Offer, ParamsMatchRules, ParamsMatcherFunction } from './capability.ts'
import type { ContractWithProviders, SameNameContracts } from './contract.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { hasRequiredTrust } from './caller.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** The parts of a call that decide which provider may serve it. Without a version, any version will do. */
export interface RouteRequest extends Pick<
  Call,
  'capability' | 'body' | 'caller' | 'hopBudget' | 'node' | 'sessionId' | 'schemaHash'
> {
  readonly versionReq: CapabilityVersion | undefined
}

export function matchesRouteRequest(entry: CapabilityEntry, request: RouteRequest): boolean {
  return (
    (request.versionReq === undefined || satisfiesVersion(entry.offer.version, request.versionReq)) &&
    matchesRequestedNode(entry, request) &&
    hasRequiredTrust(request.caller, entry.offer.trustRequired) &&
    canServeParams(entry.offer, request.body)
  )
}

/** CONTRACT § 2.1: the same major, and at least the minor asked for. */
export function satisfiesVersion(offered: CapabilityVersion, requested: CapabilityVersion): boolean {
  return offered[0] === requested[0] && offered[1] >= requested[1]
}

/**
 * Whether the provider is on the requested node, or on this one if no hops are left; a call never goes back to the node
 * that it came from.
 */
export function matchesRequestedNode(entry: CapabilityEntry, { node, hopBudget, caller }: RouteRequest): boolean {
  if (node !== undefined && node !== entry.nodeId) return false
  return entry.isLocal || (hopBudget > 0 && entry.nodeId !== caller.id)
}

/** Whether a provider of this node serves the request. */
export function hasLocalProvider({ entries, localCount }: ContractWithProviders, request: RouteRequest): boolean {
  for (let at = 0; at < localCount; at++) {
    const entry = entries[at]
    if (entry !== undefined && matchesRouteRequest(entry, request)) return true
  }
  return false
}

/**
 * A capability that is bound to its node and offered by several others must be called with a node's name: another
 * house's temperature is as wrong an answer as opening another house's door. What this node serves itself is never
 * ambiguous.
 */
export function isProviderNodeAmbiguous(
  request: RouteRequest,
  contract: ContractWithProviders,
  named: SameNameContracts,
): boolean {
  if (request.node !== undefined || !named.hasBound || hasLocalProvider(contract, request)) return false
  let hasBound = false
  let nodeId: string | undefined
  let isSeveral = false
  for (const { entries, isBoundToNode } of named.contracts)
    for (const entry of entries) {
      if (isSeveral && !isBoundToNode) break
      if (!matchesRouteRequest(entry, request)) continue
      hasBound ||= isBoundToNode
      isSeveral ||= nodeId !== undefined && nodeId !== entry.nodeId
      nodeId ??= entry.nodeId
      if (hasBound && isSeveral) return true
    }
  return false
}

type Test = ParamsMatchRules[string]

export function canServeParams(offer: Offer, body: JsonObject): boolean {
  const { matches } = offer
  if (matches === undefined) return true
  const requested = body['params']
  if (!isJsonObject(requested)) return true
  if (typeof matches === 'function') return isServedBy(matches, offer.params, requested)
  return matchesParams(matches, offer.params, requested)
}

/**
 * A matcher of a service from outside that throws, or returns a promise, has not confirmed that it serves the params.
 */
function isServedBy(matches: ParamsMatcherFunction, offered: JsonObject, requested: JsonObject): boolean {
  try {
    const answer: unknown = matches(offered, requested)
    return answer === true
  } catch {
    return false
  }
}

/** The params that a caller can ask for. A matcher that is a function does not say which it uses. */
export function pickRequestableParams({ matches, params }: Offer): JsonObject {
  if (typeof matches !== 'object') return params
  return Object.fromEntries(Object.entries(params).filter(([param]) => Object.hasOwn(matches, param)))
}

/** Whether `other` can serve whatever params `offer` can. */
export function canServeSameParams(other: Offer, offer: Offer): boolean {
  const { matches } = other
  if (matches === undefined) return true
  if (typeof matches === 'function')
    return offer.matches !== undefined && isServedBy(matches, other.params, offer.params)
  const own = offer.matches ?? {}
  // `offer` takes any value of a param that it does not test; `other` does not.
  if (typeof own === 'object' && Object.keys(matches).some((param) => !Object.hasOwn(own, param))) return false
  // A caller may ask for any value of a list, so `other` must have all of them.
  const whole = Object.entries(matches).map(([param, test]) => [param, test === 'one-of' ? 'subset' : test] as const)
  return matchesParams(Object.fromEntries(whole), other.params, offer.params)
}

export function matchesParams(matcher: ParamsMatchRules, offered: JsonObject, requested: JsonObject): boolean {
  for (const param of Object.keys(requested)) {
    const test = Object.hasOwn(matcher, param) ? matcher[param] : undefined
    if (test === undefined) continue
    // The instance does not offer the param at all, so it cannot promise a value.
    if (!Object.hasOwn(offered, param)) return false
    if (!TESTS[test](offered[param] as Json, requested[param] as Json)) return false
  }
  return true
}

const TESTS: Readonly<Record<Test, (offered: Json, requested: Json) => boolean>> = {
  equals: same,
  'one-of': (offered, requested) => listed(offered).some((value) => same(value, requested)),
  minimum: (offered, requested) => typeof offered === 'number' && typeof requested === 'number' && offered >= requested,
  subset: (offered, requested) =>
    listed(requested).every((wanted) => listed(offered).some((value) => same(value, wanted))),
}

function listed(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

function same(left: Json, right: Json): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  return canonicalJson(left) === canonicalJson(right)
}
