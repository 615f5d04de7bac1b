/**
 * Bus configuration: what an owner may set about routing. `config/` maps the file's keys to it.
 *
 * Windows, thresholds and quarantine times are not here: they are part of spec 2 and the same on every node.
 */
export interface BusConfig {
  /** Take this node's own provider while it is healthy and not too loaded. */
  readonly preferLocal: boolean
  /** The share of its concurrency limit from which the local provider is no longer preferred. */
  readonly localLoadThreshold: number
  /** A peer that was not seen for longer than this gets no calls. */
  readonly freshnessSeconds: number
  /**
   * `spec` is the formula of spec 2 § 5.4, which sends all callers to the same provider; `peak-ewma` chooses the better
   * of two at random.
   */
  readonly strategy: 'peak-ewma' | 'spec'
  /** Ask a second provider when an idempotent call takes unusually long, and use whichever answers first. */
  readonly hedge?: boolean
  /** How many more providers one call may try where that is safe; 2 by default. */
  readonly retries?: number
}

export const DEFAULT_BUS_CONFIG: BusConfig = {
  preferLocal: true,
  localLoadThreshold: 0.8,
  freshnessSeconds: 60,
  strategy: 'peak-ewma',
}
