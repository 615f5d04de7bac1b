/**
 * Name pattern: names of tools and devices in the owner's rules. A `*` at the end stands for anything; elsewhere it is
 * an ordinary character.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

export function matchesAnyPattern(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, name))
}
