/**
 * Spelling: the second way to write a canonical name, as MCP clients list it that refuse dots. Whoever knows a tool only
 * by that name also writes it where a name is an argument.
 *
 * Pure.
 */
export const NOT_PLAIN = /[^A-Za-z0-9_-]/g

export function underscored(canonical: string): string {
  return canonical.replaceAll(NOT_PLAIN, '_')
}

export function isMeant(canonical: string, given: string): boolean {
  return canonical === given || underscored(canonical) === given
}
