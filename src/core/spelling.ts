/**
 * Spelling: the second way to write a canonical name, for MCP clients that refuse dots. An agent that knows a tool only
 * by that name also writes it where a name is an argument.
 */
export const NON_PLAIN_CHARACTER_PATTERN = /[^A-Za-z0-9_-]/g

export function toUnderscores(canonical: string): string {
  return canonical.replaceAll(NON_PLAIN_CHARACTER_PATTERN, '_')
}

export function isSpellingOf(canonical: string, given: string): boolean {
  return canonical === given || toUnderscores(canonical) === given
}

/** The one name that is meant; `undefined` where none is, or where two are spelt alike: nobody acts on a guess. */
export function resolveSpelling(given: string, names: Iterable<string>): string | undefined {
  const known = new Set(names)
  if (known.has(given)) return given
  const [only, another] = [...known].filter((name) => toUnderscores(name) === given)
  return another === undefined ? only : undefined
}
