/**
 * Arrivals: what became of the last command to each device after its caller had been answered, and which number a device
 * shows when it was told another.
 *
 *   told ─▶ pending ─▶ arrived (how late) | not-arrived
 *
 * Holds memory, a bounded amount of it.
 */
export interface LastCommand {
  /** As the caller wished it. */
  readonly wanted: string
  readonly atMs: number
  readonly outcome: 'pending' | 'arrived' | 'not-arrived'
  readonly afterMs?: number
}

const MAX_DEVICES = 1_000

export class Arrivals {
  readonly #last = new Map<number, LastCommand>()
  readonly #shown = new Map<number, Map<number, number>>()

  last(ref: number): LastCommand | undefined {
    return this.#last.get(ref)
  }

  note(ref: number, command: LastCommand): void {
    keep(this.#last, ref, command)
  }

  /** Which value the device showed when it had been told this one before. */
  shownFor(ref: number, told: number): number | undefined {
    return this.#shown.get(ref)?.get(told)
  }

  learnShown(ref: number, told: number, shown: number): void {
    const known = this.#shown.get(ref) ?? new Map<number, number>()
    known.set(told, shown)
    keep(this.#shown, ref, known)
  }
}

/** The one that was used longest ago makes room. */
function keep<Value>(entries: Map<number, Value>, ref: number, value: Value): void {
  entries.delete(ref)
  const [oldest] = entries.keys()
  if (entries.size >= MAX_DEVICES && oldest !== undefined) entries.delete(oldest)
  entries.set(ref, value)
}
