/**
 * Word: the words of a name or a label, for recognising what kind of thing it names, in any of the languages that people
 * name their devices in. Case does not matter; accents matter only where a table says so.
 *
 *   lamp      the word itself, accents or not
 *   *deur     a word that ends so: languages that write compounds as one word (Voordeur)
 *   alarm*    a word that begins so
 *   =lås      with its accents: without them it is another word in another language (las luces)
 */
export interface PlainAndAccentedWords {
  /** Without accents. */
  readonly plain: ReadonlySet<string>
  /** As written, in lower case. */
  readonly marked: ReadonlySet<string>
}

export function splitDeviceNameWords(...texts: readonly string[]): PlainAndAccentedWords {
  const spaced = texts
    .join(' ')
    // `FrontDoorLock`, `garageDoor` and `Gate2` are several words to a person.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu, ' ')
    .toLowerCase()
  return { plain: split(foldAccents(spaced)), marked: split(spaced.normalize('NFC')) }
}

function split(text: string): ReadonlySet<string> {
  return new Set(text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== ''))
}

/** Letters with a stroke through them have no accent that could be taken off. */
const STROKES: Readonly<Record<string, string>> = { ø: 'o', ł: 'l', đ: 'd', ß: 'ss', æ: 'ae', œ: 'oe', ı: 'i' }

export function foldAccents(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[øłđßæœı]/g, (letter) => STROKES[letter] ?? letter)
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
}

export interface WordTable {
  readonly exact: ReadonlySet<string>
  readonly marked: ReadonlySet<string>
  readonly endings: readonly string[]
  readonly markedEndings: readonly string[]
  readonly beginnings: readonly string[]
}

/** One line of words per language. */
export function createWordTable(...lines: readonly string[]): WordTable {
  const words = lines.flatMap((line) => line.split(' ')).filter((word) => word !== '')
  const withMark = (mark: string) =>
    words.filter((word) => word.startsWith(mark)).map((word) => word.slice(mark.length))
  return {
    exact: new Set(words.filter((word) => /^[\p{L}\p{M}\p{N}]+$/u.test(word)).map(foldAccents)),
    marked: new Set(withMark('=').map((word) => word.normalize('NFC'))),
    endings: words.filter((word) => /^\*[^=]/.test(word)).map((word) => foldAccents(word.slice(1))),
    markedEndings: withMark('*=').map((word) => word.normalize('NFC')),
    beginnings: words.filter((word) => word.endsWith('*')).map((word) => foldAccents(word.slice(0, -1))),
  }
}

/** The word that is in the table, as a person would find it in the name. */
export function findWordInTable({ plain, marked }: PlainAndAccentedWords, table: WordTable): string | undefined {
  for (const word of plain)
    if (
      table.exact.has(word) ||
      table.endings.some((ending) => word.endsWith(ending)) ||
      table.beginnings.some((beginning) => word.startsWith(beginning))
    )
      return word
  for (const word of marked)
    if (table.marked.has(word) || table.markedEndings.some((ending) => word.endsWith(ending))) return word
  return undefined
}

export function hasWordInTable(words: PlainAndAccentedWords, table: WordTable): boolean {
  return findWordInTable(words, table) !== undefined
}
