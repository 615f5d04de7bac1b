/**
 * Pattern: names of tools and devices as an owner writes them down. A `*` at the end stands for anything; elsewhere it
 * is a character like any other.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

export function matchesAnyPattern(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, name))
}
