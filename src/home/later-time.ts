/**
 * Later time: when a call that is put off is due, from the words that people use for it.
 *
 *   in_minutes 10 · at "18:30" (today, or tomorrow where that is over) · at "2026-12-24T18:00"
 *
 * Times without a zone are those of the house.
 */
import { MAX_LATER_DELAY_MS } from './later-state.ts'

const CLOCK = /^(\d{1,2})[:.](\d{2})$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/
const MINUTE_MS = 60_000

/** The fault is a text that says what is wrong. */
export function parseDueTime(
  { in_minutes: minutes, at }: { readonly in_minutes?: number; readonly at?: string },
  nowMs: number,
): number | string {
  if ((minutes === undefined) === (at === undefined)) return 'Say either `in_minutes` or `at`.'
  const dueMs = minutes === undefined ? timeOf((at ?? '').trim(), nowMs) : nowMs + minutes * MINUTE_MS
  if (dueMs === undefined || Number.isNaN(dueMs)) return '`at` is a time such as 18:30 or 2026-12-24T18:00.'
  if (dueMs <= nowMs) return 'That time is over already.'
  if (dueMs > nowMs + MAX_LATER_DELAY_MS) return `A call can be planned ${MAX_LATER_DELAY_MS / 86_400_000} days ahead.`
  return dueMs
}

function timeOf(text: string, nowMs: number): number | undefined {
  const clock = CLOCK.exec(text)
  if (clock === null) return DATE_TIME.test(text) ? Date.parse(text.replace(' ', 'T')) : undefined
  const [hours, minutes] = [Number(clock[1]), Number(clock[2])]
  if (hours > 23 || minutes > 59) return undefined
  const due = new Date(nowMs)
  due.setHours(hours, minutes, 0, 0)
  if (due.getTime() <= nowMs) due.setDate(due.getDate() + 1)
  return due.getTime()
}
