/**
 * ISO time: ISO 8601 in UTC with milliseconds, the one spelling of a time in records and answers, so that text sorts as
 * time does.
 */
export function formatIsoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** The contracts use `null` for an unknown time. */
export function formatIsoTimeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : formatIsoTime(ms)
}

/**
 * For times that come one after the other: formatting takes longer than hashing an entry of the ledger, and many entries
 * have the same time or the same second.
 */
export function createCachingIsoTimeFormatter(): (nowMs: number) => string {
  let last: { readonly ms: number; readonly text: string } | undefined
  /** The text of a time up to its second. */
  let lastSecond: { readonly second: number; readonly text: string } | undefined
  return (nowMs) => {
    if (last?.ms === nowMs) return last.text
    const second = Math.floor(nowMs / 1_000)
    if (lastSecond?.second !== second) {
      const text = new Date(nowMs).toISOString()
      lastSecond = { second, text: text.slice(0, text.lastIndexOf('.') + 1) }
    }
    const milliseconds = String(Math.floor(nowMs) - second * 1_000).padStart(3, '0')
    last = { ms: nowMs, text: `${lastSecond.text}${milliseconds}Z` }
    return last.text
  }
}
