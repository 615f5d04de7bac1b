/**
 * Word: the words of a name, for recognising what kind of thing it names. Accents and case do not matter here.
 *
 * Pure.
 */
export function wordsOf(...texts: readonly string[]): ReadonlySet<string> {
  const plain = texts
    .join(' ')
    // `FrontDoorLock`, `garageDoor` and `Gate2` are several words to a person.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu, ' ')
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
  return new Set(plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== ''))
}

export function hasAny(words: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return wanted.some((word) => words.has(word))
}
