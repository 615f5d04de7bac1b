/**
 * Bus clock: day and time by the regulator's own clock, from its broadcasts.
 *
 *   07 00 ▸ two bytes of weather, then ss mm hh dd MM ww yy
 *
 * The last broadcast is advanced to the present, because one from before midnight has yesterday's date.
 */
import { fromBcd } from '../wire/bcd.ts'
import { CLOCK_READ_KEY } from './read-key.ts'
import type { RegisterShadow } from './register-shadow.ts'
import { SHADOW_CLOCK_SLACK_MS } from './register-shadow.ts'

export interface BusDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

export interface BusDateTime extends BusDate {
  /** Minutes since midnight. */
  readonly minute: number
  /** 0 is Monday. */
  readonly weekday: number
}

const CENTURY = 2_000

export function readBusTime(shadow: RegisterShadow, nowMs: number): BusDateTime | undefined {
  const entry = shadow.get(CLOCK_READ_KEY)
  if (entry === undefined || entry.payload.length < 9) return undefined
  const sinceMs = nowMs - entry.atMs
  // The broadcast is in the future: our own clock was set back, and the broadcast's age is unknown.
  if (sinceMs < -SHADOW_CLOCK_SLACK_MS) return undefined
  const digits = Array.from(entry.payload.subarray(2, 9), fromBcd)
  const [second = 60, minute = 60, hour = 24, day = 0, month = 0, , year] = digits
  if (second > 59 || minute > 59 || hour > 23 || day < 1 || day > 31 || month < 1 || month > 12) return undefined
  if (year === undefined) return undefined
  const now = new Date(Date.UTC(CENTURY + year, month - 1, day, hour, minute, second) + Math.max(0, sinceMs))
  return {
    year: now.getUTCFullYear(),
    month: now.getUTCMonth() + 1,
    day: now.getUTCDate(),
    minute: now.getUTCHours() * 60 + now.getUTCMinutes(),
    weekday: (now.getUTCDay() + 6) % 7,
  }
}

/** `2026-01-31`. */
export function formatBusDate({ year, month, day }: BusDate): string {
  return [year, month, day].map((part) => String(part).padStart(2, '0')).join('-')
}
