/**
 * Say: sentences that are true and can be spoken, with strangers' words kept apart from ours.
 *
 * Every name, state or reason that comes from a device, a system or a person stands between quotation marks and is cut,
 * so that text which somebody planted in a name cannot pass for ours.
 */
import { sanitizeLine } from '../core/stranger-text.ts'

const MAX_QUOTED = 60
const MAX_QUOTED_LONG = 240

export function quoteText(text: string): string {
  return `“${sanitizeLine(text, MAX_QUOTED).replaceAll(/[“”„«»"]/g, '’')}”`
}

/** For a sentence of another family, which may have names in it. */
export function quoteLong(text: string): string {
  return `“${sanitizeLine(text, MAX_QUOTED_LONG).replaceAll(/[“”„«»"]/g, '’')}”`
}

/** `a, b and c`. */
export function sayList(items: readonly string[]): string {
  if (items.length <= 1) return items[0] ?? ''
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

export function sayCount(number: number, one: string, more = `${one}s`): string {
  return `${number} ${number === 1 ? one : more}`
}

export function sayAge(seconds: number | undefined): string {
  if (seconds === undefined) return 'age unknown'
  if (seconds < 90) return `${Math.round(seconds)} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  return seconds < 129_600 ? `${Math.round(seconds / 3_600)} h ago` : `${Math.round(seconds / 86_400)} days ago`
}

/** One decimal, and none where there is none. */
export function sayDegrees(celsius: number): string {
  return `${Math.round(celsius * 10) / 10} °C`
}

/** The first letter of a sentence, whatever it begins with. */
export function capitalise(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase())
}
