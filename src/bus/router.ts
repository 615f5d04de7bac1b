/**
 * Router: finds the provider for a call, or says why there is none.
 *
 *   named ─▶ eligible (version, params, node, trust, hops) ─▶ available (slot, quarantine, freshness) ─▶ one of them
 *               │ nobody: not found, not permitted …              │ nobody: busy, quarantined, stale
 *
 * Synchronous from look to choice: nothing can change in between.
 *
 * Pure: time and chance are arguments.
 */
import type { Fault } from '../core/fault.ts'
import { isFull } from './admission.ts'
import type { BusConfig } from './bus-config.ts'
import type { Call } from './call.ts'
import { isAmbiguous, isEligible } from './eligible.ts'
import type { CapabilityEntry } from './entry.ts'
import type { NodeDirectory } from './node-directory.ts'
import { refusal } from './refusal.ts'
import type { Registry } from './registry.ts'
import { Sticky } from './sticky.ts'
import { choose } from './strategy.ts'

export interface RouterOptions {
  readonly registry: Registry
  readonly nodes: NodeDirectory
  readonly config: BusConfig
  readonly random: () => number
}

/** Who shall not get the call this time, e.g. because it was tried there. */
type LeftOut = (entry: CapabilityEntry) => boolean

export class Router {
  readonly sticky = new Sticky()
  readonly #registry: Registry
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

  /** `undefined` when nobody can take it now: see `queueFor` and `explain`. */
  route(call: Call, nowMs: number, isLeftOut?: LeftOut): CapabilityEntry | undefined {
    const { sessionId } = call
    if (sessionId === undefined) return this.#choose(call, nowMs, isLeftOut)
    const bound = this.sticky.bound(sessionId, call.capability, nowMs)
    const keep = bound !== undefined && isLeftOut?.(bound) !== true && this.#isViable(bound, call, nowMs)
    const entry = keep ? bound : this.#choose(call, nowMs, isLeftOut)
    if (entry !== undefined) this.sticky.bind(sessionId, entry, nowMs)
    return entry
  }

  /** The provider on this node in whose queue the call may wait, when that is all there is. */
  queueFor(call: Call, nowMs: number): CapabilityEntry | undefined {
    return this.#eligible(call).find((entry) => entry.isLocal && isFull(entry) && !entry.health.isQuarantined(nowMs))
  }

  /** Why `route` found nobody. */
  explain(call: Call, nowMs: number): Fault {
    return refusal(call, {
      named: this.#registry.named(call.capability),
      eligible: this.#eligible(call),
      isStale: (entry) => this.#isStale(entry, nowMs),
      nodes: this.#nodes,
      nowMs,
    })
  }

  /** The id that is meant by an id or a name, as a call has to carry it. */
  nodeId(idOrName: string): string {
    return this.#nodes.idOf(idOrName)
  }

  releaseSession(sessionId: string): void {
    this.sticky.release(sessionId)
  }

  /** Why a provider gets no calls now, whatever is asked of it; `undefined` when it could take one. */
  blockedBy(entry: CapabilityEntry, nowMs: number): 'busy' | 'quarantined' | 'stale' | undefined {
    if (this.#isStale(entry, nowMs)) return 'stale'
    if (entry.health.isQuarantined(nowMs)) return 'quarantined'
    return isFull(entry) || entry.busyUntilMs > nowMs ? 'busy' : undefined
  }

  #choose(call: Call, nowMs: number, isLeftOut: LeftOut | undefined): CapabilityEntry | undefined {
    const named = this.#registry.named(call.capability)
    const only = named[0]
    if (named.length === 1 && only !== undefined)
      return isLeftOut?.(only) !== true && this.#isViable(only, call, nowMs) ? only : undefined
    const eligible = this.#eligible(call)
    if (isAmbiguous(call, eligible)) return undefined
    const candidates = eligible.filter((entry) => this.#isAvailable(entry, nowMs) && isLeftOut?.(entry) !== true)
    // The first call after a quarantine goes to the one that was in it, or it would never be heard of again.
    const due = candidates.find((entry) => entry.health.isProbeDue(nowMs))
    return due ?? choose(candidates, { config: this.#config, nowMs, random: this.#random })
  }

  #eligible(call: Call): readonly CapabilityEntry[] {
    const eligible = this.#registry.named(call.capability).filter((entry) => isEligible(entry, call))
    // What acts on this node's own things stays here, however busy it is.
    const isBoundHere = eligible.some((entry) => entry.isLocal && entry.offer.anywhere !== true)
    return isBoundHere ? eligible.filter((entry) => entry.isLocal) : eligible
  }

  #isViable(entry: CapabilityEntry, call: Call, nowMs: number): boolean {
    return isEligible(entry, call) && this.#isAvailable(entry, nowMs)
  }

  #isAvailable(entry: CapabilityEntry, nowMs: number): boolean {
    return this.blockedBy(entry, nowMs) === undefined
  }

  #isStale(entry: CapabilityEntry, nowMs: number): boolean {
    return !entry.isLocal && nowMs - entry.lastSeenMs > this.#freshnessMs
  }
}
