/**
 * Entry: one event of the ledger and the exact bytes that stand for it in the tree.
 *
 *   {"at":"2026-01-01T00:00:00.000Z","kind":"call.enter","seq":57,"tool":"task_list","v":1}
 *
 * The ledger sets `v`, `seq` and `at`; everything else comes from the module that reports the event. The sequence
 * orders events; the time is that of the wall clock and only advisory.
 */
import { Buffer } from 'node:buffer'
import { fromUtf8 } from '../core/bytes.ts'
import { canonicalJson, isCanonicalJsonText, isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

/** A C2SP entry bundle prefixes each entry with a 16-bit length. */
export const MAX_ENTRY_BYTES = 65_535

/** What a module reports. A field that is `undefined` is left out. */
export interface LedgerEvent {
  /** Dotted, lower case, such as `call.enter`. */
  readonly kind: string
  readonly [field: string]: Json | undefined
}

/** What the ledger stores: the event and the three fields that the ledger sets. */
export interface LedgerEntry {
  readonly v: 1
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly [field: string]: Json
}

/** The result of appending an event. */
export interface AppendReceipt {
  /** Its sequence number, which is its index in the tree. */
  readonly seq: number
  /** RFC 3339, UTC, milliseconds. */
  readonly at: string
  readonly leafHash: Uint8Array
}

export interface StoredEntry {
  readonly entry: LedgerEntry
  /** The leaf of the tree. */
  readonly bytes: Uint8Array
}

/** The bytes of an entry, before they are decoded. */
export interface StoredEntryBytes {
  readonly seq: number
  readonly bytes: Uint8Array
}

export type EntryFault =
  | { readonly kind: 'too-long'; readonly bytes: number }
  | { readonly kind: 'not-utf8' }
  | { readonly kind: 'not-json' }
  | { readonly kind: 'not-canonical' }
  | { readonly kind: 'bad-field'; readonly field: 'v' | 'seq' | 'kind' | 'at' }

/** `bodyHash` is the commitment to a body that is stored beside the log. */
export interface LedgerAssignedFields {
  readonly seq: number
  readonly at: string
  readonly bodyHash: string | undefined
}

const KIND = /^[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*$/
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?<day>0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

const OWN_FIELDS = ['v', 'seq', 'at', 'body_hash'] as const
/** The kinds that were found valid: there are few, and each occurs very often. */
const KNOWN_KINDS = new Set<string>()
const MAX_KNOWN_KINDS = 500

function isKind(kind: string): boolean {
  if (KNOWN_KINDS.has(kind)) return true
  if (!KIND.test(kind)) return false
  if (KNOWN_KINDS.size < MAX_KNOWN_KINDS) KNOWN_KINDS.add(kind)
  return true
}

/** Throws when the event has a field that the ledger sets, an invalid kind, or too much content. */
export function encodeEntry(event: LedgerEvent, { seq, at, bodyHash }: LedgerAssignedFields): Uint8Array {
  if (!isKind(event.kind)) throw new TypeError(`event kind ${JSON.stringify(event.kind)} is not dotted lower case`)
  for (const field of OWN_FIELDS)
    if (event[field] !== undefined) throw new TypeError(`event field ${field} is the ledger's to give`)
  // The buffer comes from Node's pool: allocating one separately costs five times as much.
  const bytes = Buffer.from(canonicalJson({ ...event, v: 1, seq, at, body_hash: bodyHash }), 'utf8')
  if (bytes.length > MAX_ENTRY_BYTES)
    throw new RangeError(`${event.kind} event of ${bytes.length} bytes, ${MAX_ENTRY_BYTES} allowed`)
  return bytes
}

/** The event as it will be read from the log, for code that needs it before the entry is written. */
export function createLedgerEntry(event: LedgerEvent, { seq, at, bodyHash }: LedgerAssignedFields): LedgerEntry {
  const fields = Object.entries(event).filter((field): field is [string, Json] => field[1] !== undefined)
  return { ...Object.fromEntries(fields), kind: event.kind, v: 1, seq, at, ...(bodyHash && { body_hash: bodyHash }) }
}

export function decodeEntry(bytes: Uint8Array): Result<LedgerEntry, EntryFault> {
  if (bytes.length > MAX_ENTRY_BYTES) return fail({ kind: 'too-long', bytes: bytes.length })
  const text = fromUtf8(bytes)
  if (text === undefined) return fail({ kind: 'not-utf8' })
  const value = parseJsonOrUndefined(text)
  if (!isJsonObject(value)) return fail({ kind: 'not-json' })
  if (!isCanonicalJsonText(text, value)) return fail({ kind: 'not-canonical' })
  if (value['v'] !== 1) return fail({ kind: 'bad-field', field: 'v' })
  if (!isSequenceNumber(value['seq'])) return fail({ kind: 'bad-field', field: 'seq' })
  if (typeof value['kind'] !== 'string' || !isKind(value['kind'])) return fail({ kind: 'bad-field', field: 'kind' })
  if (!isTime(value['at'])) return fail({ kind: 'bad-field', field: 'at' })
  return ok(value as LedgerEntry)
}

/** Returns the readable entries; `verify` reports the others. */
export function decodeReadableEntries(rows: readonly { readonly bytes: Uint8Array }[]): readonly StoredEntry[] {
  return rows.flatMap(({ bytes }) => {
    const decoded = decodeEntry(bytes)
    return decoded.ok ? [{ entry: decoded.value, bytes }] : []
  })
}

export function isSequenceNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

let lastTime: string | undefined

function isTime(value: Json | undefined): boolean {
  if (typeof value !== 'string') return false
  // Consecutive entries often have the same time.
  if (value === lastTime) return true
  const day = TIME.exec(value)?.groups?.['day']
  if (day === undefined) return false
  // Days up to 28 exist in every month; only later ones need the calendar, which costs more than all the rest.
  const isOne = Number(day) <= 28 || new Date(Date.parse(value)).getUTCDate() === Number(day)
  if (isOne) lastTime = value
  return isOne
}

// Reads a field of an entry, if it has the expected type. A log that was tampered with may have any value there.

export function readEntryTextField(entry: LedgerEntry, field: string): string | undefined {
  const value: Json | undefined = entry[field]
  return typeof value === 'string' ? value : undefined
}

export function readEntryNumberField(entry: LedgerEntry, field: string): number | undefined {
  const value: Json | undefined = entry[field]
  return typeof value === 'number' ? value : undefined
}

/** Empty where there is no list; items that are not texts are left out. */
export function readEntryTextListFieldOrEmpty(entry: LedgerEntry, field: string): readonly string[] {
  const value: Json | undefined = entry[field]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** A time as RFC 3339, in milliseconds. */
export function readEntryTimeField(entry: LedgerEntry, field: string): number | undefined {
  const value = readEntryTextField(entry, field)
  const timeMs = value === undefined ? NaN : Date.parse(value)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

/** When the entry was written, by the wall clock of that time. */
export function readEntryTime({ at }: LedgerEntry): number {
  return Date.parse(at)
}
