/**
 * Device name word matching: splits names and labels into words and compares them with tables, to recognise what kind
 * of device they name, in many languages. Case does not matter; accents matter only where a table says so.
 *
 *   lamp      the word itself, accents or not
 *   *deur     a word with this ending: languages that write compounds as one word (Voordeur)
 *   alarm*    a word with this beginning: languages that inflect
 *   *門*      a word that contains it: languages without spaces
 *   =lås      with its accents: without them it is another word in another language (las luces)
 *   !outdoor  not this one, although an entry above would fit it
 */
export interface NameWordSpellings {
  /** The words without accents. */
  readonly plain: ReadonlySet<string>
  /** The words as written, in lower case. */
  readonly marked: ReadonlySet<string>
}

export function splitDeviceNameWords(...texts: readonly string[]): NameWordSpellings {
  const spaced = texts
    .join(' ')
    // Splits `FrontDoorLock`, `garageDoor` and `Gate2` into words as a person would read them.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu, ' ')
    .toLowerCase()
  return { plain: split(foldAccentsAndCase(spaced)), marked: split(spaced.normalize('NFC')) }
}

function split(text: string): ReadonlySet<string> {
  return new Set(text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== ''))
}

/** Letters with a stroke through them have no accent that could be taken off. */
const STROKES: Readonly<Record<string, string>> = { ø: 'o', ł: 'l', đ: 'd', ß: 'ss', æ: 'ae', œ: 'oe', ı: 'i' }

export function foldAccentsAndCase(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[øłđßæœı]/g, (letter) => STROKES[letter] ?? letter)
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
}

export interface WordTable {
  readonly plain: WordMatcher
  /** Matches with accents. */
  readonly marked: WordMatcher
}

interface WordMatcher {
  readonly exact: ReadonlySet<string>
  readonly pattern: RegExp | undefined
  readonly except: RegExp | undefined
}

/** One line of words per language. */
export function createWordTable(...lines: readonly string[]): WordTable {
  const entries = lines.flatMap((line) => line.split(' ')).filter((entry) => entry !== '')
  const isMarked = (entry: string): boolean => entry.includes('=')
  return {
    plain: createMatcher(entries.filter((entry) => !isMarked(entry)).map(foldAccentsAndCase)),
    marked: createMatcher(
      entries.filter(isMarked).map((entry) => entry.replace('=', '').toLowerCase().normalize('NFC')),
    ),
  }
}

function createMatcher(entries: readonly string[]): WordMatcher {
  const wanted = entries.filter((entry) => !entry.startsWith('!'))
  return {
    exact: new Set(wanted.filter((entry) => !entry.includes('*'))),
    pattern: createPattern(wanted.filter((entry) => entry.includes('*'))),
    except: createPattern(entries.filter((entry) => entry.startsWith('!')).map((entry) => entry.slice(1))),
  }
}

/** One pattern for all entries, because each of thousands of devices is compared with every table. */
function createPattern(entries: readonly string[]): RegExp | undefined {
  if (entries.length === 0) return undefined
  const parts = entries.map((entry) => {
    const from = entry.startsWith('*') ? '' : '^'
    const to = entry.endsWith('*') ? '' : '$'
    return `${from}${entry.replaceAll('*', '')}${to}`
  })
  return new RegExp(parts.join('|'), 'u')
}

/** The word of the name that is in the table. */
export function findWordInTable({ plain, marked }: NameWordSpellings, table: WordTable): string | undefined {
  return findMatch(plain, table.plain) ?? findMatch(marked, table.marked)
}

function findMatch(words: Iterable<string>, { exact, pattern, except }: WordMatcher): string | undefined {
  for (const word of words)
    if ((exact.has(word) || pattern?.test(word) === true) && except?.test(word) !== true) return word
  return undefined
}

export function listWordsInTable({ plain, marked }: NameWordSpellings, table: WordTable): readonly string[] {
  return [
    ...[...plain].filter((word) => findMatch([word], table.plain) !== undefined),
    ...[...marked].filter((word) => findMatch([word], table.marked) !== undefined),
  ]
}

export function hasWordInTable(words: NameWordSpellings, table: WordTable): boolean {
  return findWordInTable(words, table) !== undefined
}
