/**
 * Bus load: which share of the time telegrams took, over the last ten seconds, one, five and fifteen minutes, and the
 * last hour.
 *
 * Computed from the number of symbols of each telegram, not from edges on the wire, so it is an estimate and is called
 * one.
 *
 * Pure, but for the account it is given.
 */
const SLICE_MS = 10_000
/** The slices of an hour, and the one that is being filled. */
const SLICES = 361

export const BUS_LOAD_WINDOWS = [
  ['10s', 10_000],
  ['1m', 60_000],
  ['5m', 300_000],
  ['15m', 900_000],
  ['1h', 3_600_000],
] as const

export class BusLoadMeter {
  readonly #slices = new Float64Array(SLICES)
  /** Number of the newest slice since 1970. */
  #head: number | undefined
  #sinceMs: number | undefined
  #totalMs = 0

  get totalMs(): number {
    return this.#totalMs
  }

  /** From now on the line can be heard. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#head = undefined
    this.#slices.fill(0)
  }

  /** The line can no longer be heard, so shares of the following time are unknown. */
  end(): void {
    this.#sinceMs = undefined
  }

  add(atMs: number, wireMs: number): void {
    this.#totalMs += wireMs
    if (this.#sinceMs === undefined) return
    const slice = this.#advance(atMs) % SLICES
    this.#slices[slice] = (this.#slices[slice] ?? 0) + wireMs
  }

  /** Only for whole slices, and only for windows during which the line was heard completely. */
  ratios(nowMs: number): readonly { readonly window: string; readonly ratio: number }[] {
    const sinceMs = this.#sinceMs
    if (sinceMs === undefined) return []
    const head = this.#advance(nowMs)
    return BUS_LOAD_WINDOWS.filter(([, ms]) => (head - ms / SLICE_MS) * SLICE_MS >= sinceMs).map(([window, ms]) => {
      let busyMs = 0
      for (let back = 1; back <= ms / SLICE_MS; back++) busyMs += this.#slices[(head - back) % SLICES] ?? 0
      return { window, ratio: Math.min(1, Number((busyMs / ms).toFixed(4))) }
    })
  }

  /** Clears the slices that time has passed by. */
  #advance(atMs: number): number {
    const now = Math.floor(atMs / SLICE_MS)
    const head = Math.max(this.#head ?? now, now)
    for (let slice = Math.max((this.#head ?? now) + 1, head - SLICES + 1); slice <= head; slice++)
      this.#slices[slice % SLICES] = 0
    this.#head = head
    return head
  }
}
