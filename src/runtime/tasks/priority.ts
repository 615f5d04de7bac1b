/**
 * Priority: an order of the words that people use. Spec 5 has one column of free text; an unknown word would silently
 * get a rank that its author did not mean, so it is refused.
 */

/** A task without a priority ranks in the middle. */
const MIDDLE = 2

const RANKS: Readonly<Record<string, number>> = {
  critical: 0,
  urgent: 0,
  blocker: 0,
  highest: 0,
  high: 1,
  medium: MIDDLE,
  normal: MIDDLE,
  default: MIDDLE,
  low: 3,
  lowest: 4,
  minor: 4,
  trivial: 4,
}

/** Every valid priority in the spelling in which it is stored. */
export const TASK_PRIORITIES: readonly string[] = [
  ...Object.keys(RANKS),
  ...Array.from({ length: 10 }, (_, rank) => `P${rank}`),
]

/** Normalises ` High ` and `p1` to `high` and `P1`. */
export function normalisePriority(word: string): string {
  const trimmed = word.trim()
  return /^p[0-9]$/i.test(trimmed) ? trimmed.toUpperCase() : trimmed.toLowerCase()
}

/** 0 is the most pressing rank. `P0` to `P9` rank by their digit. A priority that was erased ranks in the middle. */
export function rankPriority(priority: string | null): number {
  const word = normalisePriority(priority ?? '')
  if (/^P[0-9]$/.test(word)) return Number(word[1])
  return Object.hasOwn(RANKS, word) ? (RANKS[word] ?? MIDDLE) : MIDDLE
}
