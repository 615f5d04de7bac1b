/**
 * Packet processing queue: packets that came in together, taken one after the other. What follows from the first, down
 * to what is written to the socket for it, is done before the second is looked at: the far end then works on the one
 * while this end works on the other, instead of both waiting for each other with all calls in one heap.
 *
 *   packets of one read:   first ▸ its promises ▸ sent │ second ▸ its promises ▸ sent │ …      all in one turn
 *
 * Pure: no packet is kept beyond the turn of the event loop in which it arrived.
 */
export class PacketProcessingQueue<Item> {
  readonly #take: (item: Item) => void
  readonly #waiting: Item[] = []
  #isTaking = false

  constructor(take: (item: Item) => void) {
    this.#take = take
  }

  add(item: Item): void {
    if (this.#isTaking) {
      this.#waiting.push(item)
      return
    }
    this.#isTaking = true
    queueMicrotask(this.#rest)
    this.#take(item)
  }

  /** The transport has delivered all packets of this read by now. */
  readonly #rest = (): void => {
    if (this.#waiting.length === 0) this.#isTaking = false
    // Runs after the promises that are pending now, and those that follow from them.
    else process.nextTick(this.#next)
  }

  readonly #next = (): void => {
    const item = this.#waiting.shift()
    queueMicrotask(this.#rest)
    if (item !== undefined) this.#take(item)
  }
}
