/**
 * Tried providers: which providers were asked about one call so far, and which nodes were not reached, so that the next
 * attempt goes to another. Created only when the first attempt failed or takes unusually long: most calls never need
 * it.
 */
import type { Fault } from '../core/fault.ts'
import type { Call } from './call.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { CapabilityRouter } from './router.ts'

export class TriedProviders {
  readonly #entries: Set<CapabilityEntry>
  readonly #unreached = new Set<string>()

  constructor(first: CapabilityEntry) {
    this.#entries = new Set([first])
  }

  add(entry: CapabilityEntry): void {
    this.#entries.add(entry)
  }

  /** From another node, `offline` most likely means the whole node; here it means the device behind the provider. */
  failed(entry: CapabilityEntry, fault: Fault): void {
    if (fault.kind === 'offline' && !entry.isLocal && fault.ownSide !== true) this.#unreached.add(entry.nodeId)
  }

  /** Prefers a provider on a node that was reached, as long as there is one. */
  nextProvider(call: Call, router: CapabilityRouter, nowMs: number): CapabilityEntry | undefined {
    const onReachedNode = router.route(
      call,
      nowMs,
      (entry) => this.#entries.has(entry) || this.#unreached.has(entry.nodeId),
    )
    if (onReachedNode !== undefined || this.#unreached.size === 0) return onReachedNode
    return router.route(call, nowMs, (entry) => this.#entries.has(entry))
  }
}
