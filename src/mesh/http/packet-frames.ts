/**
 * Packet frames: consecutive packets on a stream of bytes. A packet has two lines, its header and its JSON, neither of
 * which contains a line feed.
 *
 *   hbp2 … LF [ … ] LF │ hbp2 … LF [ … ] LF │ …
 *
 * Pure, apart from the bytes that it holds.
 */
// Imported, because the global is a getter and this is called for every packet.
import { Buffer } from 'node:buffer'
import { fromUtf8 } from '../../core/bytes.ts'

const LINE_FEED = 0x0a
const NOTHING = Buffer.alloc(0)

/** The largest overhead of a packet around its calls or answers. */
export const MAX_PACKET_OVERHEAD_BYTES = 65_536

export function encodePacketFrame(packet: string): string {
  return `${packet}\n`
}

export class PacketFrameReader {
  readonly #maxBytes: number
  /** The bytes of an incomplete packet, at the beginning of a buffer with room for more. */
  #store: Buffer = NOTHING
  #held = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns the packets that are complete now; `undefined` when one is larger than allowed. */
  feed(chunk: Buffer): readonly string[] | undefined {
    if (this.#held === 0) return this.#read(chunk)
    this.#hold(chunk)
    // No packet has become complete. Searching the whole buffer after every byte would let a slow sender waste our
    // time.
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
      // Bytes that are not valid text are not a packet; the empty text is refused later.
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
