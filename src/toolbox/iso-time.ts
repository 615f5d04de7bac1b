/**
 * ISO time: ISO 8601 in UTC with milliseconds, the one spelling of a time in records and answers, so that text sorts as
 * time does.
 */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** The contracts use `null` for an unknown time. */
export function isoTimeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : isoTime(ms)
}
