/**
 * Sequence window: which numbers of one session were received. A caller numbers its calls; a number that was received
 * before, or is too far behind the newest one to tell, is refused (as RFC 4303 § 3.4.3 does for IPsec).
 *
 *   … refused │ 16,384 remembered, one bit each │ new
 *
 * It takes two kilobytes however many calls there are, and a flood cannot remove a recent number from it.
 */
const SIZE = 16_384
const WORD = 32

export class SequenceWindow {
  #highest = 0
  readonly #bits = new Uint32Array(SIZE / WORD)

  has(number: number): boolean {
    if (number > this.#highest) return false
    if (number <= this.#highest - SIZE) return true
    return ((this.#bits[this.#word(number)] ?? 0) & bit(number)) !== 0
  }

  /** Returns `false` when the number was received before. */
  see(number: number): boolean {
    if (this.has(number)) return false
    if (number > this.#highest) this.#advance(number)
    const word = this.#word(number)
    this.#bits[word] = (this.#bits[word] ?? 0) | bit(number)
    return true
  }

  #advance(to: number): void {
    if (to - this.#highest >= SIZE) this.#bits.fill(0)
    else
      for (let number = this.#highest + 1; number <= to; number++) {
        const word = this.#word(number)
        this.#bits[word] = (this.#bits[word] ?? 0) & ~bit(number)
      }
    this.#highest = to
  }

  #word(number: number): number {
    return Math.floor((number % SIZE) / WORD)
  }
}

function bit(number: number): number {
  return 1 << (number % WORD)
}
