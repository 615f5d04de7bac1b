/**
 * Ids: ULIDs, which sort by time and map losslessly onto W3C trace ids.
 *
 *   01K9Z3N8QK 6R3M0V6V5A8B4C2D   10 characters of milliseconds, 16 of chance, Crockford base 32
 *
 * Draws from the system's source of chance; otherwise pure.
 */
import { chanceBytes } from './chance.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

let lastMs = -1
const lastChance = new Uint8Array(16)

/** Monotonic within the process: ids minted in one millisecond still sort in the order they were minted. */
export function ulid(nowMs: number = Date.now()): string {
  // A clock that went back must not produce an id that sorts before one already handed out.
  const ms = Math.max(nowMs, lastMs)
  if (ms === lastMs) increment(lastChance)
  else drawChance(lastChance)
  lastMs = ms
  let text = ''
  for (let left = ms, digit = 0; digit < 10; digit++, left = Math.floor(left / 32)) text = ALPHABET[left % 32] + text
  for (const value of lastChance) text += ALPHABET[value]
  return text
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

function drawChance(target: Uint8Array): void {
  const bytes = chanceBytes(target.length)
  for (let index = 0; index < target.length; index++) target[index] = (bytes[index] ?? 0) & 31
}

/** Carries leftwards; 80 bits of chance do not overflow within a millisecond. */
function increment(digits: Uint8Array): void {
  for (let index = digits.length - 1; index >= 0; index--) {
    const next = ((digits[index] ?? 0) + 1) & 31
    digits[index] = next
    if (next !== 0) return
  }
}
