/**
 * Router: finds the contract of a call, and a provider of that contract, or says why there is none.
 *
 *   name ─▶ contract (version, params, node, trust, hops) ─▶ available (slot, quarantine, freshness) ─▶ one of them
 *              │ nobody: not found, not permitted …              │ nobody: busy, quarantined, stale
 *
 * Synchronous from lookup to choice, so nothing can change in between. Of many providers it compares a few that are
 * drawn at random, so that the cost of a call does not grow with their number.
 */
import type { Fault } from '../core/fault.ts'
import { hasNoFreeSlot } from './provider-queue.ts'
import type { BusConfig } from './bus-config.ts'
import type { Call } from './call.ts'
import type { CapabilityName } from './capability.ts'
import { computeContractHash } from './contract.ts'
import type { ContractWithProviders } from './contract.ts'
import { isProviderNodeAmbiguous, matchesRouteRequest, hasLocalProvider } from './route-request-matching.ts'
import type { RouteRequest } from './route-request-matching.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { NodeDirectory } from './node-directory.ts'
import { hasRefusedParams } from './refused-params.ts'
import { createNoProviderFault } from './no-provider-fault.ts'
import type { CapabilityRegistry } from './registry.ts'
import { StickySessions } from './sticky-sessions.ts'
import { chooseProvider } from './routing-strategy.ts'
import { RunningCallTicket } from './call-ticket.ts'

export interface RouterOptions {
  readonly registry: CapabilityRegistry
  readonly nodes: NodeDirectory
  readonly config: BusConfig
  readonly random: () => number
}

/** Whether a provider is excluded this time, e.g. because it was already tried. */
type LeftOut = (entry: CapabilityEntry) => boolean

/** How many providers are compared; more would hardly improve the choice. */
const MAX_COMPARED = 16

export class CapabilityRouter {
  readonly sticky = new StickySessions()
  readonly #registry: CapabilityRegistry
  readonly #nodes: NodeDirectory
  readonly #config: BusConfig
  readonly #random: () => number
  readonly #freshnessMs: number

  constructor({ registry, nodes, config, random }: RouterOptions) {
    this.#registry = registry
    this.#nodes = nodes
    this.#config = config
    this.#random = random
    this.#freshnessMs = config.freshnessSeconds * 1_000
  }

  /** Where a name has one contract, and only this node serves it, every call of that name uses that contract. */
  soleContract(name: CapabilityName): ContractWithProviders | undefined {
    const { contracts } = this.#registry.contracts(name)
    const [first] = contracts
    return contracts.length === 1 && first?.entries.length === first?.localCount ? first : undefined
  }

  /**
   * The one contract that a call is resolved to: that of its session, else the first in the listed order that has a
   * provider for it. Where there is no provider, still one contract is returned, so that the call is recorded with it.
   */
  resolve(request: RouteRequest, nowMs: number): ContractWithProviders | undefined {
    const { contracts } = this.#registry.contracts(request.capability)
    if (contracts.length < 2) return contracts[0]
    const bound = this.#boundEntry(request, nowMs)
    if (bound?.contract !== undefined) return bound.contract
    const meant = contracts.filter((contract) => isMeant(contract, request))
    const able = meant.filter((contract) =>
      contract.placedOn(request.node).some((entry) => matchesRouteRequest(entry, request)),
    )
    const isReady = (entry: CapabilityEntry): boolean =>
      matchesRouteRequest(entry, request) && !this.#isStale(entry, nowMs) && !entry.health.isQuarantined(nowMs)
    return able.find((contract) => contract.placedOn(request.node).some(isReady)) ?? able[0] ?? meant[0] ?? contracts[0]
  }

  /** Why a call cannot be resolved to one contract; `undefined` where it can. */
  ambiguity(request: RouteRequest, contract: ContractWithProviders, nowMs: number): Fault | undefined {
    if (!this.#isAmbiguous(request, contract) || this.#boundEntry(request, nowMs) !== undefined) return undefined
    return this.#explain(request, contract, nowMs)
  }

  /** `undefined` when nobody can take it now: see `queueFor` and `explain`. */
  route(call: Call, nowMs: number, isLeftOut?: LeftOut): CapabilityEntry | undefined {
    const contract = this.#contractOf(call, nowMs)
    if (contract === undefined) return undefined
    const { sessionId } = call
    if (sessionId === undefined) return this.#choose(call, contract, { nowMs, isLeftOut })
    const bound = this.sticky.bound(sessionId, call.capability, nowMs)
    const isStillBound =
      bound?.contract === contract && isLeftOut?.(bound) !== true && this.#isViable(bound, call, nowMs)
    const entry = isStillBound ? bound : this.#choose(call, contract, { nowMs, isLeftOut })
    if (entry !== undefined) this.sticky.bind(sessionId, entry, nowMs)
    return entry
  }

  /** When all providers are busy, the one in whose queue the fewest calls wait. */
  queueFor(call: Call, nowMs: number): CapabilityEntry | undefined {
    const contract = this.#contractOf(call, nowMs)
    if (contract === undefined || this.#isAmbiguous(call, contract)) return undefined
    const full = this.#some(
      call,
      contract,
      (entry) => matchesRouteRequest(entry, call) && this.#isWorthWaiting(entry, nowMs),
    )
    return full.reduce<CapabilityEntry | undefined>(
      (best, entry) => (best === undefined || queueLoad(entry) < queueLoad(best) ? entry : best),
      undefined,
    )
  }

  /**
   * When the first provider that asked to be left alone takes calls again; `undefined` where that is not the reason.
   */
  freeAtMs(call: Call, nowMs: number): number | undefined {
    const contract = this.#contractOf(call, nowMs)
    const resting = contract
      ?.placedOn(call.node)
      .filter((entry) => entry.busyUntilMs > nowMs && matchesRouteRequest(entry, call) && !this.#isStale(entry, nowMs))
    return resting === undefined || resting.length === 0
      ? undefined
      : Math.min(...resting.map(({ busyUntilMs }) => busyUntilMs))
  }

  /** Why `route` found nobody. */
  explain(call: Call, nowMs: number): Fault {
    return this.#explain(call, this.#contractOf(call, nowMs), nowMs)
  }

  /** Brings the lists of who serves which contract of the call's name up to date. */
  regroup({ capability }: Call): void {
    this.#registry.regroup(capability)
  }

  /** The id that is meant by an id or a name, as a call has to carry it. */
  nodeId(idOrName: string): string {
    return this.#nodes.idOf(idOrName)
  }

  releaseSession(sessionId: string): void {
    this.sticky.release(sessionId)
  }

  /** Why a provider takes no calls now, whatever the call is; `undefined` when it could take one. */
  blockedBy(entry: CapabilityEntry, nowMs: number): 'busy' | 'quarantined' | 'stale' | undefined {
    if (this.#isStale(entry, nowMs)) return 'stale'
    if (entry.health.isQuarantined(nowMs)) return 'quarantined'
    return hasNoFreeSlot(entry) || entry.busyUntilMs > nowMs ? 'busy' : undefined
  }

  #contractOf(call: Call, nowMs: number): ContractWithProviders | undefined {
    const resolved = call.ticket instanceof RunningCallTicket ? call.ticket.contract : undefined
    // A nested call carries its parent's ticket but is about another capability.
    if (resolved?.offer.name !== call.capability) return this.resolve(call, nowMs)
    this.#registry.regroup(call.capability)
    return resolved
  }

  #explain(request: RouteRequest, contract: ContractWithProviders | undefined, nowMs: number): Fault {
    const named = this.#registry.contracts(request.capability)
    return createNoProviderFault(request, {
      named: this.#registry.named(request.capability),
      eligible: (contract?.placedOn(request.node) ?? []).filter((entry) => matchesRouteRequest(entry, request)),
      ambiguous:
        contract !== undefined && isProviderNodeAmbiguous(request, contract, named)
          ? nodesOf(request, named.contracts)
          : [],
      isStale: (entry) => this.#isStale(entry, nowMs),
      nodes: this.#nodes,
      nowMs,
    })
  }

  /** The provider of the request's session, if it still exists and may be called. */
  #boundEntry(request: RouteRequest, nowMs: number): CapabilityEntry | undefined {
    if (request.sessionId === undefined) return undefined
    const bound = this.sticky.bound(request.sessionId, request.capability, nowMs)
    return bound !== undefined && matchesRouteRequest(bound, request) ? bound : undefined
  }

  #choose(
    call: Call,
    contract: ContractWithProviders,
    { nowMs, isLeftOut }: { readonly nowMs: number; readonly isLeftOut: LeftOut | undefined },
  ): CapabilityEntry | undefined {
    const { entries } = contract
    const [only] = entries
    if (entries.length === 1 && only !== undefined && this.#isViable(only, call, nowMs))
      return isLeftOut?.(only) === true || this.#isAmbiguous(call, contract) ? undefined : only
    if (this.#isAmbiguous(call, contract)) return undefined
    const isCandidate: LeftOut = (entry) => isLeftOut?.(entry) !== true && this.#isViable(entry, call, nowMs)
    // The first call after a quarantine goes to the provider that was in it, or it would never be tried again.
    for (const entry of contract.ejected) if (entry.health.isProbeDue(nowMs) && isCandidate(entry)) return entry
    const candidates = this.#some(call, contract, isCandidate)
    const unrefused = candidates.filter((entry) => !hasRefusedParams(entry, call.body, nowMs))
    const pool = unrefused.length > 0 ? unrefused : candidates
    if (pool.length > 0) return chooseProvider(pool, { config: this.#config, nowMs, random: this.#random })
    return this.#letBack(call, contract, { nowMs, isLeftOut })
  }

  #isAmbiguous(request: RouteRequest, contract: ContractWithProviders): boolean {
    if (contract.entries.length === contract.localCount) return false
    return isProviderNodeAmbiguous(request, contract, this.#registry.contracts(request.capability))
  }

  /**
   * All providers that pass, or enough of them starting at a random place. A call of a capability that is bound to this
   * node stays on this node, however busy it is. The formula of spec 2 compares all providers.
   */
  #some(call: Call, contract: ContractWithProviders, passes: LeftOut): readonly CapabilityEntry[] {
    const { localCount, isBoundToNode } = contract
    if (call.node !== undefined) return contract.placedOn(call.node).filter(passes)
    const { entries } = contract
    const own = entries.slice(0, localCount).filter(passes)
    if (isBoundToNode && hasLocalProvider(contract, call)) return own
    const others = entries.length - localCount
    if (others <= MAX_COMPARED || this.#config.strategy === 'spec')
      return [...own, ...entries.slice(localCount).filter(passes)]
    const found = [...own]
    const start = Math.floor(this.#random() * others)
    for (let step = 0; step < others && found.length - own.length < MAX_COMPARED; step++) {
      const entry = entries[localCount + ((start + step) % others)]
      if (entry !== undefined && passes(entry)) found.push(entry)
    }
    return found
  }

  /**
   * At most half of the present providers are in quarantine. When the others have gone, the one whose quarantine ends
   * first is used again, because no other could serve the call.
   */
  #letBack(
    call: Call,
    contract: ContractWithProviders,
    { nowMs, isLeftOut }: { readonly nowMs: number; readonly isLeftOut: LeftOut | undefined },
  ): CapabilityEntry | undefined {
    if (contract.ejected.size === 0) return undefined
    // Pinning a provider does not make it the only one of its contract.
    const anywhere = { ...call, node: undefined }
    const present = contract.entries.filter(
      (entry) => matchesRouteRequest(entry, anywhere) && !this.#isStale(entry, nowMs),
    )
    const leftAlone = present.filter(({ health }) => health.isEjected())
    if (leftAlone.length <= Math.floor(present.length / 2)) return undefined
    const ejected = leftAlone.filter((entry) => matchesRouteRequest(entry, call))
    const [first] = ejected.toSorted((one, other) => one.health.quarantinedUntilMs - other.health.quarantinedUntilMs)
    if (first === undefined || first.health.isProbing || isLeftOut?.(first) === true) return undefined
    first.health.reset()
    contract.ejected.delete(first)
    return this.#isViable(first, call, nowMs) ? first : undefined
  }

  #isViable(entry: CapabilityEntry, call: Call, nowMs: number): boolean {
    return matchesRouteRequest(entry, call) && this.blockedBy(entry, nowMs) === undefined
  }

  #isWorthWaiting(entry: CapabilityEntry, nowMs: number): boolean {
    return hasNoFreeSlot(entry) && !this.#isStale(entry, nowMs) && !entry.health.isQuarantined(nowMs)
  }

  #isStale(entry: CapabilityEntry, nowMs: number): boolean {
    return !entry.isLocal && nowMs - entry.lastSeenMs > this.#freshnessMs
  }
}

/** A caller on another node names by its hash the contract that it validated its arguments against. */
function isMeant({ entries: [entry] }: ContractWithProviders, { schemaHash }: RouteRequest): boolean {
  return schemaHash === undefined || (entry !== undefined && computeContractHash(entry) === schemaHash)
}

function nodesOf(request: RouteRequest, contracts: readonly ContractWithProviders[]): readonly string[] {
  const eligible = contracts.flatMap(({ entries }) => entries.filter((entry) => matchesRouteRequest(entry, request)))
  return [...new Set(eligible.map(({ nodeId }) => nodeId))].toSorted()
}

function queueLoad({ waiting, inFlight, offer }: CapabilityEntry): number {
  return (waiting.size + inFlight) / offer.maxConcurrent
}
