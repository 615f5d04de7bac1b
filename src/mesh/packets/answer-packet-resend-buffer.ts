/**
 * Answer packet resend buffer: the latest packets of answers of one session, in case they are lost.
 *
 * Bounded in number and in size; a request for one that is not kept any more is answered with "forgotten". Packets are
 * kept as they were sent, so that an answer costs nothing until it is requested again, which is rare.
 */
const MAX_PACKETS = 128
const MAX_LENGTH = 1_048_576
const MAX_PACKET_LENGTH = 131_072

export class AnswerPacketResendBuffer {
  /** A ring buffer. */
  readonly #packets: (string | undefined)[] = []
  #next = 0
  #oldest = 0
  #length = 0

  store(packet: string): void {
    if (packet.length > MAX_PACKET_LENGTH) return
    this.#packets[this.#next++ % MAX_PACKETS] = packet
    this.#length += packet.length
    while (this.#next - this.#oldest >= MAX_PACKETS || this.#length > MAX_LENGTH)
      this.#drop(this.#oldest++ % MAX_PACKETS)
  }

  #drop(place: number): void {
    this.#length -= this.#packets[place]?.length ?? 0
    this.#packets[place] = undefined
  }

  /** The answer as it stood in its packet. */
  find(number: number): string | undefined {
    for (let at = this.#next - 1; at >= this.#oldest; at--) {
      const packet = this.#packets[at % MAX_PACKETS] ?? ''
      const text = packet.slice(packet.indexOf('\n') + 1)
      if (!text.includes(`[${number},`)) continue
      const answers = JSON.parse(text) as readonly (readonly [number, number, unknown])[]
      const found = answers.find(([each]) => each === number)
      if (found !== undefined) return JSON.stringify(found)
    }
    return undefined
  }
}
