/**
 * Tried providers: who was asked about one call so far, and which nodes were not reached, so that the next try goes elsewhere.
 *
 * Made only once a first answer was no good, or takes unusually long: most calls never need it.
 */
import type { Fault } from '../core/fault.ts'
import type { Call } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
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

  /** On a node that was reached, as long as there is one. */
  nextProvider(call: Call, router: CapabilityRouter, nowMs: number): CapabilityEntry | undefined {
    const elsewhere = router.route(
      call,
      nowMs,
      (entry) => this.#entries.has(entry) || this.#unreached.has(entry.nodeId),
    )
    if (elsewhere !== undefined || this.#unreached.size === 0) return elsewhere
    return router.route(call, nowMs, (entry) => this.#entries.has(entry))
  }
}
