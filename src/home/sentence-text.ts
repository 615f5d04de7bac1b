/**
 * Sentence text: sentences that can be spoken, with untrusted text kept apart from ours. Every name, state or reason
 * that comes from a device, a system or a person is quoted and cut, so that text in a name cannot be mistaken for ours.
 */
import { sanitizeLine } from '../core/untrusted-text.ts'

const MAX_QUOTED = 60
const MAX_QUOTED_LONG = 240

export function quoteForSentence(text: string): string {
  return `“${sanitizeLine(text, MAX_QUOTED).replaceAll(/[“”„«»"]/g, '’')}”`
}

/** For a sentence of another family, which may contain names. */
export function quoteLongText(text: string): string {
  return `“${sanitizeLine(text, MAX_QUOTED_LONG).replaceAll(/[“”„«»"]/g, '’')}”`
}

/** At most so many names, and then how many more there are. */
export function listQuotedNamesUpTo(
  things: readonly { readonly name: string }[],
  max: number,
  beforeCount = '',
): readonly string[] {
  const shown = things.slice(0, max).map(({ name }) => quoteForSentence(name))
  return things.length <= max ? shown : [...shown, `${beforeCount}${things.length - max} more`]
}

/** `a, b and c`. */
export function formatList(items: readonly string[]): string {
  if (items.length <= 1) return items[0] ?? ''
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

export function formatCount(number: number, one: string, more = `${one}s`): string {
  return `${number} ${number === 1 ? one : more}`
}

export function formatAgeInWords(seconds: number | undefined): string {
  if (seconds === undefined) return 'age unknown'
  if (seconds < 90) return `${Math.round(seconds)} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  return seconds < 129_600 ? `${Math.round(seconds / 3_600)} h ago` : `${Math.round(seconds / 86_400)} days ago`
}

/** One decimal, unless it is zero. */
export function formatDegrees(celsius: number): string {
  return `${Math.round(celsius * 10) / 10} °C`
}

/** A day in the time zone of the house, as in a date argument: `2026-12-24`. */
export function formatLocalDate(timeMs: number): string {
  const date = new Date(timeMs)
  return `${date.getFullYear()}-${padTwo(date.getMonth() + 1)}-${padTwo(date.getDate())}`
}

/** `2026-12-24 18:30` in the time zone of the house. */
export function formatLocalMinute(timeMs: number): string {
  const date = new Date(timeMs)
  return `${formatLocalDate(timeMs)} ${padTwo(date.getHours())}:${padTwo(date.getMinutes())}`
}

function padTwo(value: number): string {
  return String(value).padStart(2, '0')
}

/** The first letter of a sentence, whatever it begins with. */
export function capitaliseSentence(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase())
}
