/**
 * Later time: parses the words that people use for the time at which a planned call is due.
 *
 *   in_minutes 10 · at "18:30" or "6:30 pm" (today, or tomorrow where that is over) · at "tomorrow 07:00" ·
 *   at "2026-12-24T18:00"
 *
 * Times without a zone are those of the house.
 */
import { MAX_LATER_DELAY_MS } from './later-state.ts'

/** A time of day needs minutes, `am`, `pm` or `Uhr`: `7` alone could mean anything. */
const CLOCK =
  /^(?:(today|heute|tomorrow|morgen)[ ,]+)?(?:at |um )?(\d{1,2})(?:[:.](\d{2}))? ?(am|pm|a\.m\.|p\.m\.|uhr)?$/i
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[T ]([01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/
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
  if (clock === null) return dateTimeOf(text)
  const [, day = '', hourText, minuteText, half = ''] = clock
  if (minuteText === undefined && half === '') return undefined
  const hours = hourOf(Number(hourText), half.toLowerCase().replaceAll('.', ''))
  const minutes = Number(minuteText ?? 0)
  if (hours === undefined || minutes > 59) return undefined
  const due = new Date(nowMs)
  if (/^(?:tomorrow|morgen)$/i.test(day)) due.setDate(due.getDate() + 1)
  due.setHours(hours, minutes, 0, 0)
  if (day === '' && due.getTime() <= nowMs) due.setDate(due.getDate() + 1)
  return due.getTime()
}

/** The hour on a 24-hour clock; `undefined` if it is valid on neither clock. */
function hourOf(hour: number, half: string): number | undefined {
  if (half !== 'am' && half !== 'pm') return hour > 23 ? undefined : hour
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half === 'pm' ? 12 : 0)
}

/** A date such as the 31st of November is refused instead of being read as the 1st of December. */
function dateTimeOf(text: string): number | undefined {
  const date = DATE_TIME.exec(text)
  if (date === null) return undefined
  const [year, month, day] = [Number(date[1]), Number(date[2]), Number(date[3])]
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return undefined
  return Date.parse(text.replace(' ', 'T'))
}
