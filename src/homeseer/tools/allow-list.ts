/**
 * Allow list: numbers and names that the owner allows. Without a list everything is allowed; an empty list allows
 * nothing.
 */
/** Tells whether a list allows an item. */
export type AllowListPredicate<Item> = (item: Item) => boolean

interface Span {
  readonly from: number
  readonly to: number
}

/** Returns `undefined` for no restriction, which is not the same as a list of everything. */
export function createNumberAllowList(
  list: readonly (number | string)[] | undefined,
): AllowListPredicate<number> | undefined {
  if (list === undefined) return undefined
  // Lists are short, because they are written by hand, so a linear search is fast enough.
  const spans = list.map(spanOf)
  return (id) => spans.some(({ from, to }) => id >= from && id <= to)
}

/** Case does not matter on either side. */
export function createCaseInsensitiveAllowList(
  list: readonly string[] | undefined,
): AllowListPredicate<string> | undefined {
  if (list === undefined) return undefined
  const names = new Set(list.map((name) => name.trim().toLowerCase()))
  return (name) => names.has(name.trim().toLowerCase())
}

/** For texts that callers must repeat exactly, including case. */
export function createExactAllowList(list: readonly string[] | undefined): AllowListPredicate<string> | undefined {
  if (list === undefined) return undefined
  const words = new Set(list)
  return (word) => words.has(word)
}

/** A reversed range contains nothing; the configuration schema has checked the form. */
function spanOf(item: number | string): Span {
  if (typeof item === 'number') return { from: item, to: item }
  const [from = '', to = from] = item.split('-').map((part) => part.trim())
  return { from: Number(from), to: Number(to) }
}
