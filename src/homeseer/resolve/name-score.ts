/**
 * Name score: how well one alias matches a query, both normalised.
 *
 *   equal 1 · alias begins with query 0.94 · alias contains query 0.86 · query begins with alias 0.80
 *   shared words: 0.35 + 0.55 × the harmonic mean of their share of each side
 *
 * The best of these counts; an alias from the owner's file gets 0.02 more. There is no minimum score: one shared word
 * makes a candidate, with low confidence.
 */
export const ALIAS_STARTS_WITH_QUERY_SCORE = 0.94
export const ALIAS_CONTAINS_QUERY_SCORE = 0.86
export const QUERY_STARTS_WITH_ALIAS_SCORE = 0.8
const CONFIGURED_BONUS = 0.02

export type MatchConfidence = 'high' | 'medium' | 'low'

export function toMatchConfidence(score: number): MatchConfidence {
  if (score >= 0.9) return 'high'
  return score >= 0.72 ? 'medium' : 'low'
}

export function computeOverlapScore(shared: number, queryWords: number, aliasWords: number): number {
  if (shared === 0) return 0
  const ofQuery = shared / queryWords
  const ofAlias = shared / aliasWords
  return 0.35 + 0.55 * ((2 * ofQuery * ofAlias) / (ofQuery + ofAlias))
}

export function addConfiguredAliasBonus(score: number, configured: boolean): number {
  const raised = configured && score > 0 ? Math.min(1, score + CONFIGURED_BONUS) : score
  return Math.round(raised * 1e6) / 1e6
}
