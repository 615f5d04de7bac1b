/**
 * Unmatched patterns: names in the owner's rules and profiles that no capability has. A misspelt rule is a valid rule
 * that matches nothing.
 */
import { findClosestNames, formatNameSuggestion } from '../core/closest-name.ts'
import { matchesPattern } from '../guard/name-pattern.ts'

export interface ConfiguredPatterns {
  readonly guard: { readonly rules: readonly { readonly tool?: string; readonly says: string }[] }
  readonly profiles: Readonly<
    Record<string, { readonly include: readonly string[]; readonly exclude: readonly string[] }>
  >
}

/** A sentence for each. The tools of absent devices are missing, so these are only warnings. */
export function explainUnmatchedPatterns(
  { guard, profiles }: ConfiguredPatterns,
  offered: readonly string[],
): readonly string[] {
  const written = [
    ...guard.rules.flatMap(({ tool, says }) =>
      tool === undefined ? [] : [{ pattern: tool, what: `the rule that says ${says}` }],
    ),
    ...Object.entries(profiles).flatMap(([name, { include, exclude }]) =>
      [...include, ...exclude].map((pattern) => ({ pattern, what: `the profile ${name}` })),
    ),
  ]
  return written
    .filter(({ pattern }) => !offered.some((name) => matchesPattern(pattern, name)))
    .map(
      ({ pattern, what }) =>
        `${what} names ${pattern}, but nothing here has that name.${formatNameSuggestion(findClosestNames(pattern, offered))}`,
    )
}
