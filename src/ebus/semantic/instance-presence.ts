/**
 * Instance presence: whether a numbered thing exists, without flickering.
 *
 *   unknown ──first look finds it──▶ present
 *   absent ──twice in a row──▶ present
 *   present ──not, three times──▶ absent
 *
 * A request without an answer does not count.
 */
export interface DebouncedPresence {
  readonly present: boolean
  /** Consecutive reads that contradict the present state. */
  readonly doubts: number
}

const TO_APPEAR = 2
const TO_GO = 3

export function stepPresence(before: DebouncedPresence | undefined, found: boolean): DebouncedPresence {
  if (before === undefined) return { present: found, doubts: 0 }
  if (before.present === found) return before.doubts === 0 ? before : { present: found, doubts: 0 }
  const doubts = before.doubts + 1
  return doubts >= (found ? TO_APPEAR : TO_GO) ? { present: found, doubts: 0 } : { present: before.present, doubts }
}
