/**
 * Unmatched: names in the owner's rules and profiles that no capability has. A rule with a slip of the pen in it is a
 * valid rule, and holds for nothing.
 */
import { findClosest, formatNameSuggestion } from '../core/closest-name.ts'
import { matchesPattern } from '../guard/pattern.ts'

export interface OwnerPatterns {
  readonly guard: { readonly rules: readonly { readonly tool?: string; readonly says: string }[] }
  readonly profiles: Readonly<
    Record<string, { readonly include: readonly string[]; readonly exclude: readonly string[] }>
  >
}

/** A sentence for each. Devices that are away take their tools with them, so these are warnings. */
export function explainUnmatchedPatterns(
  { guard, profiles }: OwnerPatterns,
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
        `${what} names ${pattern}, which nothing here is called.${formatNameSuggestion(findClosest(pattern, offered))}`,
    )
}
