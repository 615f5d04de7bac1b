/**
 * Ring buffer: the newest items up to a capacity, in the order of their arrival. A new item replaces the oldest.
 *
 * Holds its items; otherwise pure.
 */
export class RingBuffer<Item> {
  readonly capacity: number
  readonly #items: Item[] = []
  /** The position of the next item once the buffer is full: that of the oldest. */
  #next = 0
  #pushed = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get size(): number {
    return this.#items.length
  }

  /** How many items were ever added: comparing two readings shows whether there were new ones. */
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

  /** The newest `count` items, the oldest of them first; all of them without a number. */
  newest(count = this.capacity): readonly Item[] {
    const ordered = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
    return count >= ordered.length ? ordered : ordered.slice(ordered.length - count)
  }
}
