/**
 * Ring buffer: the newest so many of something, in the order they came. The oldest makes room.
 *
 * Holds its items; otherwise pure.
 */
export class RingBuffer<Item> {
  readonly capacity: number
  readonly #items: Item[] = []
  /** Where the next one goes once the buffer is full: over the oldest. */
  #next = 0
  #pushed = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get size(): number {
    return this.#items.length
  }

  /** All there ever were: whoever remembers the number knows whether there was another. */
  get pushed(): number {
    return this.#pushed
  }

  push(item: Item): void {
    this.#pushed++
    if (this.#items.length < this.capacity) {
      this.#items.push(item)
      return
    }
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.capacity
  }

  replaceNewest(item: Item): void {
    if (this.#items.length === 0) this.#items.push(item)
    else this.#items[(this.#next + this.#items.length - 1) % this.#items.length] = item
  }

  /** The newest `count`, oldest of them first; all of them when no number is given. */
  newest(count = this.capacity): readonly Item[] {
    const ordered = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
    return count >= ordered.length ? ordered : ordered.slice(ordered.length - count)
  }
}
