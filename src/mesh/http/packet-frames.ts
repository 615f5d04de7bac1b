/**
 * Packet frames: packets one after another on a stream of bytes, each behind its length.
 *
 *   4 bytes, big endian │ that many bytes │ …
 *
 * Pure, given its own memory of what has come so far.
 */
const LENGTH_BYTES = 4

export function framed(packet: string): Uint8Array {
  const length = Buffer.byteLength(packet)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + length)
  frame.writeUInt32BE(length)
  frame.write(packet, LENGTH_BYTES)
  return frame
}

export class FrameReader {
  readonly #maxBytes: number
  #held: Buffer = Buffer.alloc(0)

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The packets that are complete now; `undefined` when one would be larger than anybody may send. */
  feed(chunk: Buffer): readonly Uint8Array[] | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const packets: Uint8Array[] = []
    let at = 0
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readUInt32BE(at)
      if (length > this.#maxBytes) return undefined
      if (bytes.length - at - LENGTH_BYTES < length) break
      packets.push(bytes.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length))
      at += LENGTH_BYTES + length
    }
    this.#held = bytes.subarray(at)
    return packets
  }
}
