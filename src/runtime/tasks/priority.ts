/**
 * Priority: an order among the words people use. Spec 5 keeps one column of free text; this gives it a rank.
 *
 * Pure.
 */

/** What nobody said, and words that nobody agreed on, count as the middle. */
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

/** 0 is most pressing. `P0` to `P9` rank by their digit. */
export function priorityRank(priority: string | null): number {
  const word = (priority ?? '').trim().toLowerCase()
  if (/^p[0-9]$/.test(word)) return Number(word[1])
  return Object.hasOwn(RANKS, word) ? (RANKS[word] ?? MIDDLE) : MIDDLE
}
