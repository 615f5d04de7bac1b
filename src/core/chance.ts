/**
 * Chance: random bytes in small pieces, drawn from the system in large ones. A call to the system for every salt would
 * cost more than the hash that it salts.
 *
 * Draws from the system's source of chance.
 */
import { randomFillSync } from 'node:crypto'

const pool = new Uint8Array(8_192)
let used = pool.length

/** Never hands the same bytes out twice, and does not keep what it has handed out. */
export function chanceBytes(length: number): Uint8Array {
  if (length > pool.length) return randomFillSync(new Uint8Array(length))
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = pool.slice(used, used + length)
  pool.fill(0, used, used + length)
  used += length
  return bytes
}
