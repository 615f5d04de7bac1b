/**
 * Priority: an order among the words people use. Spec 5 keeps one column of free text; a word that nobody agreed on
 * would silently rank as something that its author did not mean, so it is refused.
 */

/** What nobody said counts as the middle. */
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

/** Every priority in the spelling in which it is kept. */
export const TASK_PRIORITIES: readonly string[] = [
  ...Object.keys(RANKS),
  ...Array.from({ length: 10 }, (_, rank) => `P${rank}`),
]

/** ` High ` and `p1` are meant as `high` and `P1`. */
export function normalisePriority(word: string): string {
  const trimmed = word.trim()
  return /^p[0-9]$/i.test(trimmed) ? trimmed.toUpperCase() : trimmed.toLowerCase()
}

/** 0 is most pressing. `P0` to `P9` rank by their digit. A word that was erased ranks in the middle. */
export function rankPriority(priority: string | null): number {
  const word = normalisePriority(priority ?? '')
  if (/^P[0-9]$/.test(word)) return Number(word[1])
  return Object.hasOwn(RANKS, word) ? (RANKS[word] ?? MIDDLE) : MIDDLE
}
