/**
 * Tool name spelling: the second way to write a canonical name, for MCP clients that refuse dots. An agent that knows a
 * tool only by that name also writes it where a name is an argument.
 */
export const INVALID_UNDERSCORE_NAME_CHARACTERS = /[^A-Za-z0-9_-]/g

export function toUnderscoreName(canonical: string): string {
  return canonical.replaceAll(INVALID_UNDERSCORE_NAME_CHARACTERS, '_')
}

export function isSpellingOfName(canonical: string, given: string): boolean {
  return canonical === given || toUnderscoreName(canonical) === given
}

/**
 * The one name that is meant; `undefined` where there is none, or where two are spelt alike: nothing is done on a
 * guess.
 */
export function resolveSpelledName(given: string, names: Iterable<string>): string | undefined {
  const known = new Set(names)
  if (known.has(given)) return given
  const [only, another] = [...known].filter((name) => toUnderscoreName(name) === given)
  return another === undefined ? only : undefined
}
