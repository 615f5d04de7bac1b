/**
 * WebSocket frame: RFC 6455 from a device's side. Masked out, unmasked in.
 *
 *   FIN·opcode(1)  MASK·length(1, 3 or 9)  mask key(4)  payload
 */
import { concatBytes } from '../../core/bytes.ts'

export type WebSocketOpcode = 'text' | 'binary' | 'close' | 'ping' | 'pong' | 'continuation'

const OPCODES: Readonly<Record<WebSocketOpcode, number>> = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
}
const NAMES = new Map(Object.entries(OPCODES).map(([name, code]) => [code, name as WebSocketOpcode]))

export interface WebSocketFrame {
  readonly opcode: WebSocketOpcode
  readonly final: boolean
  readonly payload: Uint8Array
}

export function encodeWebSocketFrame(opcode: WebSocketOpcode, payload: Uint8Array, mask: Uint8Array): Uint8Array {
  const size = payload.length
  const length =
    size < 126
      ? [0x80 | size]
      : size < 65_536
        ? [0xfe, size >> 8, size & 0xff]
        : [0xff, 0, 0, 0, 0, (size >>> 24) & 0xff, (size >>> 16) & 0xff, (size >>> 8) & 0xff, size & 0xff]
  const masked = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))
  return concatBytes(Uint8Array.of(0x80 | OPCODES[opcode], ...length), mask, masked)
}

/**
 * The first complete frame of `bytes`; `undefined` while there is none, `'malformed'` for a frame that no server may
 * send.
 */
export function decodeWebSocketFrame(
  bytes: Uint8Array,
): { readonly frame: WebSocketFrame; readonly size: number } | 'malformed' | undefined {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  const opcode = NAMES.get(first & 0x0f)
  // Reserved bits belong to extensions, and servers do not mask (§ 5.1, § 5.2).
  if (opcode === undefined || (first & 0x70) !== 0 || (second & 0x80) !== 0) return 'malformed'
  const short = second & 0x7f
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0
  if (bytes.length < 2 + extra) return undefined
  let length = extra === 0 ? short : 0
  for (const byte of bytes.subarray(2, 2 + extra)) length = length * 256 + byte
  const size = 2 + extra + length
  if (bytes.length < size) return undefined
  return { frame: { opcode, final: (first & 0x80) !== 0, payload: bytes.slice(2 + extra, size) }, size }
}
