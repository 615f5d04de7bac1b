/**
 * Entry field: what an entry says under a name, if it is of the kind that is asked for. A log that somebody wrote into
 * may have anything there.
 *
 * Pure.
 */
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from './entry.ts'

export function textField(entry: LedgerEntry, field: string): string | undefined {
  const value: Json | undefined = entry[field]
  return typeof value === 'string' ? value : undefined
}

export function numberField(entry: LedgerEntry, field: string): number | undefined {
  const value: Json | undefined = entry[field]
  return typeof value === 'number' ? value : undefined
}

/** Empty where there is no list; what is no text in it is left out. */
export function textsField(entry: LedgerEntry, field: string): readonly string[] {
  const value: Json | undefined = entry[field]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** A time as RFC 3339, in milliseconds. */
export function timeField(entry: LedgerEntry, field: string): number | undefined {
  const value = textField(entry, field)
  const timeMs = value === undefined ? NaN : Date.parse(value)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

/** When the entry was written, by the wall clock of then. */
export function entryTime({ at }: LedgerEntry): number {
  return Date.parse(at)
}
