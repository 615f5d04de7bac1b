/**
 * Mesh time: wall-clock times in messages, RFC 3339 in UTC with whole seconds (CONTRACT § 1.2), and how far two clocks
 * may differ.
 */
import { formatIsoTime } from '../../toolbox/iso-time.ts'
/** Devices without a battery-backed clock are up to a minute off before it is set (the doctor's limit). */
export const MAX_CLOCK_SKEW_MS = 60_000

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/

export function formatMeshTime(ms: number): string {
  return `${formatIsoTime(ms).slice(0, 19)}Z`
}

/** Returns `undefined` for anything but a UTC time with whole seconds or milliseconds. */
export function parseMeshTime(text: string): number | undefined {
  const ms = RFC3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
