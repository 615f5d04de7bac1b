/** Closest name: which known names somebody may have meant by an unknown one. */
const MAX_LENGTH = 128
const MAX_SUGGESTIONS = 3
/** One letter in so many may be wrong; in a short name, two letters may be. */
const LETTERS_PER_MISTAKE = 6

/** The nearest names first; none when nothing is near. */
export function findClosestNames(written: string, known: Iterable<string>): readonly string[] {
  if (written.length > MAX_LENGTH) return []
  const limit = Math.max(2, Math.floor(written.length / LETTERS_PER_MISTAKE))
  const near: { readonly name: string; readonly mistakes: number }[] = []
  for (const name of new Set(known)) {
    // Missing letters are mistakes as well: most names are excluded by their length alone.
    if (Math.abs(name.length - written.length) > limit) continue
    const mistakes = distance(written, name)
    if (mistakes <= limit) near.push({ name, mistakes })
  }
  return near
    .toSorted((left, right) => left.mistakes - right.mistakes)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name)
}

/** ` Did you mean this, or that?`, to be appended to a sentence; empty when there is no suggestion. */
export function formatNameSuggestion(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Did you mean ${names.join(', or ')}?`
}

/** Levenshtein distance: letters to insert, delete or replace. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let index = 0; index < left.length; index++) {
    const next = [index + 1]
    for (let column = 0; column < right.length; column++) {
      const exchanged = (row[column] ?? 0) + (left[index] === right[column] ? 0 : 1)
      next.push(Math.min(exchanged, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}
