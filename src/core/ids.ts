/**
 * Ids: ULIDs, which sort by time and map losslessly onto W3C trace ids.
 *
 *   01K9Z3N8QK 6R3M0V6V5A8B4C2D   10 characters of milliseconds, 16 random, Crockford base 32
 */
import { randomFillSync } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10
/** The 80 random bits as two numbers of 40 bits, eight digits each. */
const HALF = 2 ** 40
const HALF_BYTES = 5
/**
 * Ids are encoded two digits at a time: one is minted for every call, and usually only its last two digits differ from
 * the id before.
 */
const PAIRS = Array.from({ length: 1_024 }, (_, value) => `${ALPHABET[value >> 5]}${ALPHABET[value & 31]}`)

let lastMs = -1
let timeText = ''
let high = 0
/** The low half of the random bits without its last two digits, which are in `last`. */
let low = 0
let last = 0
/** All digits of the id but the last two. */
let prefix = ''

/** Monotonic within the process: ids created in one millisecond still sort in the order of their creation. */
export function newUlid(nowMs: number = Date.now()): string {
  // A clock that went back must not produce an id that sorts before an earlier one.
  if (nowMs > lastMs) drawAnew(nowMs)
  else if (++last === PAIRS.length) carry()
  return prefix + PAIRS[last]
}

/**
 * The first part of the id that was minted last. Ids of one millisecond share it, so keeping an id as head and tail
 * takes little memory.
 */
export function readLastMintedUlidPrefix(): string {
  return prefix
}

export function readLastMintedUlidSuffix(): string {
  return PAIRS[last] ?? ''
}

function drawAnew(nowMs: number): void {
  lastMs = nowMs
  timeText = ''
  for (let left = Math.floor(nowMs), digit = 0; digit < TIME_DIGITS; digit++, left = Math.floor(left / 32))
    timeText = `${ALPHABET[left % 32]}${timeText}`
  const chance = randomBytes(2 * HALF_BYTES)
  high = numberIn(chance, 0)
  low = numberIn(chance, HALF_BYTES)
  last = low % PAIRS.length
  low -= last
  prefix = prefixOf()
}

/** 80 random bits do not overflow within a millisecond. */
function carry(): void {
  last = 0
  low += PAIRS.length
  if (low === HALF) {
    low = 0
    high++
  }
  prefix = prefixOf()
}

function prefixOf(): string {
  return timeText + digitsOf(high) + digitsOf(low).slice(0, -2)
}

function numberIn(bytes: Uint8Array, at: number): number {
  return bytes.subarray(at, at + HALF_BYTES).reduce((sum, byte) => sum * 256 + byte, 0)
}

function digitsOf(half: number): string {
  const upper = Math.floor(half / 1_048_576)
  const lower = half - upper * 1_048_576
  return `${PAIRS[upper >> 10]}${PAIRS[upper & 1_023]}${PAIRS[lower >> 10]}${PAIRS[lower & 1_023]}`
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

// Random bytes: drawn from the system in large pieces and given out in small ones. A system call for every salt would
// cost more than the hash.

const pool = new Uint8Array(8_192)
let used = pool.length

/** Never returns the same bytes twice, and does not keep what it has returned. */
export function randomBytes(length: number): Uint8Array {
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
