/**
 * Pending call table: the running calls of one session, by number.
 *
 * Numbers count up and most calls are short, so each has a place in a ring; a call that still runs when its place is
 * needed moves to a map. A map alone would be too slow under load: whenever V8 rehashes a map, the old table keeps
 * pointing to the new one, and a dead table in old space keeps everything alive that was in any later one. Whole calls
 * then survive until the next full garbage collection, and the short collections take ten times as long.
 */
const PLACES = 1_024

export class PendingCallTable<Value> {
  /** The number at each place; 0 for an empty one, because calls count from 1. */
  readonly #numbers = new Float64Array(PLACES)
  readonly #values: (Value | undefined)[] = []
  readonly #lasting = new Map<number, Value>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(number: number): Value | undefined {
    const place = placeOf(number)
    return this.#numbers[place] === number ? this.#values[place] : this.#lasting.get(number)
  }

  has(number: number): boolean {
    return this.get(number) !== undefined
  }

  set(number: number, value: Value): void {
    this.delete(number)
    const place = placeOf(number)
    const there = this.#values[place]
    if (there !== undefined) this.#lasting.set(this.#numbers[place] ?? 0, there)
    this.#numbers[place] = number
    this.#values[place] = value
    this.#size++
  }

  delete(number: number): void {
    const place = placeOf(number)
    if (this.#numbers[place] === number) {
      if (this.#values[place] === undefined) return
      this.#numbers[place] = 0
      this.#values[place] = undefined
      this.#size--
    } else if (this.#lasting.size > 0 && this.#lasting.delete(number)) this.#size--
  }

  /** A copy of the present values, in no order, so that the caller may remove them while iterating. */
  values(): readonly Value[] {
    const all: Value[] = [...this.#lasting.values()]
    for (const value of this.#values) if (value !== undefined) all.push(value)
    return all
  }
}

function placeOf(number: number): number {
  return number & (PLACES - 1)
}
