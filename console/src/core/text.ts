/**
 * Text: what strangers wrote, made fit to be shown. Names of devices, descriptions of tools, strings out of telegrams
 * and thoughts of agents are data; here they lose what could reorder, hide or imitate other text.
 *
 * Pure. Markup needs no treatment: nothing in this console ever becomes markup.
 */

/** Controls, direction marks, zero-width and other format characters, line and paragraph separators. */
const TRICKS = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu
/** More marks on one letter than any script uses climb over the neighbouring lines. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu

/**
 * Latin letters, digits and signs, in which no trick can hide: most text by far, and lists of thousands are full of it.
 */
const HARMLESS = /^[ -~\n\t\u00A1-\u00AC\u00AE-\u024F…]*$/

export function plain(text: string, maxLength = 2_000): string {
  const shown = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  if (HARMLESS.test(shown)) return shown
  return shown
    .replaceAll(TRICKS, (character) => (character === '\n' || character === '\t' ? character : '\uFFFD'))
    .replaceAll(PILED_MARKS, '$1')
}

/** On one line. */
export function line(text: string, maxLength = 200): string {
  return plain(text, maxLength).replaceAll(/\s+/g, ' ').trim()
}

/** Text out of JSON of unknown shape. */
export function textOf(value: unknown, maxLength?: number): string {
  if (typeof value === 'string') return plain(value, maxLength)
  if (value === undefined || value === null) return '–'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return plain(JSON.stringify(value), maxLength)
}

/** The name of a member as words: `movesHardware` and `moves_hardware` are both "moves hardware". */
export function nameText(name: string): string {
  const words = line(name, 60).replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, ' ')
  return words.replaceAll(/\b[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase())
}

/** The same of a value, for somebody who does not read JSON: lists by their items, yes and no. */
export function valueText(value: unknown, maxLength = 200): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return plain(value.map((item) => textOf(item, maxLength)).join(', '), maxLength)
  return textOf(value, maxLength)
}

export function firstSentence(text: string, maxLength = 160): string {
  return line(/^[\s\S]*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, maxLength)
}
