/**
 * Weekday words: days of the week as people say them, in English and German, one or several at a time.
 */
import { normaliseText } from './normalised-text.ts'

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const GERMAN = ['montag', 'dienstag', 'mittwoch', 'donnerstag', 'freitag', 'samstag', 'sonntag']
const SHORT: Readonly<Record<string, number>> = {
  mo: 0,
  di: 1,
  mi: 2,
  do: 3,
  fr: 4,
  sa: 5,
  so: 6,
  mon: 0,
  tue: 1,
  tues: 1,
  wed: 2,
  thu: 3,
  thur: 3,
  thurs: 3,
  fri: 4,
  sat: 5,
  sun: 6,
  sonnabend: 5,
}
const SEVERAL: Readonly<Record<string, readonly number[]>> = {
  weekday: [0, 1, 2, 3, 4],
  weekdays: [0, 1, 2, 3, 4],
  workdays: [0, 1, 2, 3, 4],
  werktag: [0, 1, 2, 3, 4],
  werktage: [0, 1, 2, 3, 4],
  werktags: [0, 1, 2, 3, 4],
  weekend: [5, 6],
  weekends: [5, 6],
  wochenende: [5, 6],
  daily: [0, 1, 2, 3, 4, 5, 6],
  everyday: [0, 1, 2, 3, 4, 5, 6],
  'every day': [0, 1, 2, 3, 4, 5, 6],
  taeglich: [0, 1, 2, 3, 4, 5, 6],
}

/** The English names of the days; `undefined` for text that names no day. */
export function parseWeekdays(text: string): readonly string[] | undefined {
  const normalised = normaliseText(text).replace(/^am /, '')
  const named = [normalised, normalised.replace(/s$/, '')].flatMap((word) => {
    const index = [WEEKDAYS.findIndex((day) => day === word), GERMAN.indexOf(word), SHORT[word] ?? -1].find(
      (at) => at >= 0,
    )
    return index === undefined ? [] : [index]
  })
  const days = SEVERAL[normalised] ?? named.slice(0, 1)
  return days.length === 0 ? undefined : days.map((day) => WEEKDAYS[day] ?? '')
}
