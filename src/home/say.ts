/**
 * Say: sentences that are true and can be spoken, with strangers' words kept apart from ours.
 *
 * A name that looks like a name is spoken as it is; anything else stands between quotation marks and is cut, so that
 * text which somebody planted in a name cannot pass for ours.
 *
 * Pure.
 */
const PLAIN_NAME = /^[\p{L}\p{N}][\p{L}\p{N} .,'’()/&+-]*$/u
const MAX_PLAIN = 40
const MAX_WORDS = 6
const MAX_QUOTED = 60
/** Control, format (zero-width, bidirectional), private use and unassigned characters. */
const UNSPEAKABLE = /[\p{C}\u2028\u2029]+/gu

export function sayName(name: string): string {
  const clean = name.replaceAll(UNSPEAKABLE, ' ').replaceAll(/\s+/g, ' ').trim()
  const isPlain = clean.length <= MAX_PLAIN && clean.split(' ').length <= MAX_WORDS && PLAIN_NAME.test(clean)
  return isPlain ? clean : quote(clean)
}

export function quote(text: string): string {
  const clean = text.replaceAll(UNSPEAKABLE, ' ').replaceAll(/[“”"]/g, '’').replaceAll(/\s+/g, ' ').trim()
  const cut = clean.length <= MAX_QUOTED ? clean : `${clean.slice(0, MAX_QUOTED - 1).toWellFormed()}…`
  return `“${cut}”`
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
