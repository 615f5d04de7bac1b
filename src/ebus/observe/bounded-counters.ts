/**
 * Bounded counters: counters by label, limited in number. Further labels are counted together as `other`.
 *
 * Pure, but for the series it is given.
 */
export class BoundedCounters {
  readonly #capacity: number
  readonly #counts = new Map<number, { count: number }>()
  #other = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#counts.size
  }

  /** The count of labels without a counter of their own. */
  get overflow(): number {
    return this.#other
  }

  add(label: number): void {
    const known = this.#counts.get(label)
    if (known !== undefined) known.count++
    else if (this.#counts.size < this.#capacity) this.#counts.set(label, { count: 1 })
    else this.#other++
  }

  /** The largest counters first. */
  top(count: number): readonly (readonly [label: number, count: number])[] {
    return Array.from(this.#counts, ([label, counted]) => [label, counted.count] as const)
      .toSorted((left, right) => right[1] - left[1] || left[0] - right[0])
      .slice(0, count)
  }
}
