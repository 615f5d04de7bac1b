/**
 * Packet frames: packets one after another on a stream of bytes. A packet is two lines, its words and its JSON, neither
 * of which has a line feed inside.
 *
 *   hbp2 … LF [ … ] LF │ hbp2 … LF [ … ] LF │ …
 *
 * Pure, given its own memory of what has come so far.
 */
// By import: the global is a getter, and this is asked for every packet.
import { Buffer } from 'node:buffer'
import { fromUtf8 } from '../../core/bytes.ts'

const LINE_FEED = 0x0a
const NOTHING = Buffer.alloc(0)

/** What a packet has around its calls or answers, at most. */
export const MAX_PACKET_OVERHEAD_BYTES = 65_536

export function encodePacketFrame(packet: string): string {
  return `${packet}\n`
}

export class PacketFrameReader {
  readonly #maxBytes: number
  /** What has come of a packet that is not complete, at the beginning of a buffer with room for more. */
  #store: Buffer = NOTHING
  #held = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The packets that are complete now; `undefined` when one is larger than anybody may send. */
  feed(chunk: Buffer): readonly string[] | undefined {
    if (this.#held === 0) return this.#read(chunk)
    this.#hold(chunk)
    // Nothing has become complete: looking through all of it for every byte would be what a member with time wants.
    if (!chunk.includes(LINE_FEED)) return this.#held > this.#maxBytes ? undefined : []
    return this.#read(this.#store.subarray(0, this.#held))
  }

  #read(bytes: Buffer): readonly string[] | undefined {
    const packets: string[] = []
    let at = 0
    for (;;) {
      const end = endOfPacket(bytes, at)
      if ((end < 0 ? bytes.length : end) - at > this.#maxBytes) return undefined
      if (end < 0) break
      // What is no text is no packet either.
      packets.push(fromUtf8(bytes, at, end) ?? '')
      at = end + 1
    }
    this.#held = 0
    this.#store = NOTHING
    if (at < bytes.length) this.#hold(bytes.subarray(at))
    return packets
  }

  #hold(bytes: Buffer): void {
    const length = this.#held + bytes.length
    if (length > this.#store.length) {
      const larger = Buffer.allocUnsafe(2 * length)
      this.#store.copy(larger, 0, 0, this.#held)
      this.#store = larger
    }
    bytes.copy(this.#store, this.#held)
    this.#held = length
  }
}

function endOfPacket(bytes: Buffer, start: number): number {
  const endOfWords = bytes.indexOf(LINE_FEED, start)
  return endOfWords < 0 ? -1 : bytes.indexOf(LINE_FEED, endOfWords + 1)
}
