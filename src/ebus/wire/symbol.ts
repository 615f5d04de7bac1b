/**
 * Symbol: the bytes with a meaning of their own on an eBUS, and the escape that keeps data from looking like them.
 *
 *   logical A9 ─▶ A9 00        logical AA ─▶ A9 01        anything else ─▶ itself
 */
export const SYN = 0xaa
export const ESC = 0xa9
export const ACK = 0x00
export const NAK = 0xff
export const BROADCAST_ADDRESS = 0xfe

/** 1 start, 8 data and 1 stop bit at 2400 Bd. */
export const SYMBOL_DURATION_MS = 10_000 / 2_400
/** The AUTO-SYN generator sends a SYN when the bus has been silent for this long. */
export const AUTO_SYN_INTERVAL_MS = 40

/**
 * Returns the bytes that the bus carries for these logical bytes. SYN, ACK and NAK are sent unescaped and never pass
 * through this function.
 */
export function escapeBytes(logical: Uint8Array): Uint8Array {
  const wire: number[] = []
  for (const byte of logical) {
    if (byte === ESC) wire.push(ESC, 0x00)
    else if (byte === SYN) wire.push(ESC, 0x01)
    else wire.push(byte)
  }
  return Uint8Array.from(wire)
}

/**
 * Returns the logical byte that an escape pair stands for, or `undefined` when the second byte is neither 00 nor 01.
 */
export function unescapePair(second: number): number | undefined {
  if (second === 0x00) return ESC
  if (second === 0x01) return SYN
  return undefined
}
