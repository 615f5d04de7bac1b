/**
 * Ids: ULIDs, which sort by time and map losslessly onto W3C trace ids.
 *
 *   01K9Z3N8QK 6R3M0V6V5A8B4C2D   10 characters of milliseconds, 16 of chance, Crockford base 32
 *
 * Draws from the system's source of chance; otherwise pure.
 */
import { randomFillSync } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODES = Buffer.from(ALPHABET)
const TIME_DIGITS = 10
const CHANCE_DIGITS = 16

let lastMs = -1
const lastChance = new Uint8Array(CHANCE_DIGITS)
/** The id that was minted last, as characters; only what changes is written again. */
const text = Buffer.alloc(TIME_DIGITS + CHANCE_DIGITS)

/** Monotonic within the process: ids minted in one millisecond still sort in the order they were minted. */
export function ulid(nowMs: number = Date.now()): string {
  // A clock that went back must not produce an id that sorts before one already handed out.
  if (nowMs <= lastMs) {
    increment()
    return text.toString('latin1')
  }
  lastMs = nowMs
  for (let left = nowMs, digit = TIME_DIGITS - 1; digit >= 0; digit--, left = Math.floor(left / 32))
    text[digit] = CODES[left % 32] ?? 0
  chanceBytes(CHANCE_DIGITS).forEach((byte, digit) => setChance(digit, byte & 31))
  return text.toString('latin1')
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export function isUlid(text: string): boolean {
  return ULID.test(text)
}

/** The 128 bits of a ULID as the 32 hex digits of a W3C trace id. */
export function ulidToTraceId(id: string): string {
  let value = 0n
  for (const character of id) value = value * 32n + BigInt(ALPHABET.indexOf(character))
  return value.toString(16).padStart(32, '0')
}

export function traceIdToUlid(traceId: string): string {
  let value = BigInt(`0x${traceId}`)
  let text = ''
  for (let digit = 0; digit < 26; digit++, value /= 32n) text = ALPHABET[Number(value % 32n)] + text
  return text
}

/** Carries leftwards; 80 bits of chance do not overflow within a millisecond. */
function increment(): void {
  for (let digit = CHANCE_DIGITS - 1; digit >= 0; digit--) {
    const next = ((lastChance[digit] ?? 0) + 1) & 31
    setChance(digit, next)
    if (next !== 0) return
  }
}

function setChance(digit: number, value: number): void {
  lastChance[digit] = value
  text[TIME_DIGITS + digit] = CODES[value] ?? 0
}

// Chance: random bytes in small pieces, drawn from the system in large ones. A call to the system for every salt would
// cost more than the hash that it salts.

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
