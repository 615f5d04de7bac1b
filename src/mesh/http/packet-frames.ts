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

export function framed(packet: string): string {
  return `${packet}\n`
}

export class FrameReader {
  readonly #maxBytes: number
  #held: Buffer = NOTHING

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The packets that are complete now; `undefined` when one is larger than anybody may send. */
  feed(chunk: Buffer): readonly string[] | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
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
    this.#held = at === bytes.length ? NOTHING : bytes.subarray(at)
    return packets
  }
}

function endOfPacket(bytes: Buffer, start: number): number {
  const endOfWords = bytes.indexOf(LINE_FEED, start)
  return endOfWords < 0 ? -1 : bytes.indexOf(LINE_FEED, endOfWords + 1)
}
