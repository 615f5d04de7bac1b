/**
 * Allow list: numbers and names that the owner lets through. No list lets everything through; an empty one nothing.
 */
/** A list made ready to ask. */
export type AllowListPredicate<Item> = (item: Item) => boolean

interface Span {
  readonly from: number
  readonly to: number
}

/** `undefined` means that there is no restriction, which is not the same as a list of everything. */
export function createNumberAllowList(
  list: readonly (number | string)[] | undefined,
): AllowListPredicate<number> | undefined {
  if (list === undefined) return undefined
  // A few entries written by hand: looking through all of them costs nothing.
  const spans = list.map(spanOf)
  return (id) => spans.some(({ from, to }) => id >= from && id <= to)
}

/** Case does not matter on either side. */
export function createNameAllowList(list: readonly string[] | undefined): AllowListPredicate<string> | undefined {
  if (list === undefined) return undefined
  const names = new Set(list.map((name) => name.trim().toLowerCase()))
  return (name) => names.has(name.trim().toLowerCase())
}

/** For words that the owner chose and callers must repeat: case matters. */
export function createExactAllowList(list: readonly string[] | undefined): AllowListPredicate<string> | undefined {
  if (list === undefined) return undefined
  const words = new Set(list)
  return (word) => words.has(word)
}

/** A range written backwards holds nothing; the configuration has checked the form. */
function spanOf(item: number | string): Span {
  if (typeof item === 'number') return { from: item, to: item }
  const [from = '', to = from] = item.split('-').map((part) => part.trim())
  return { from: Number(from), to: Number(to) }
}
