/**
 * Account: who answers for a caller, as the guard's tables find it. What is bounded per caller is bounded for a node
 * together with everybody it speaks for: it can make up any number of names (ADR 94).
 *
 * Pure.
 */
/** A condition on `principal`: the account in ?1 and all who are named after it and a slash, which comes before 0. */
export const OF_ACCOUNT = `(principal = ?1 OR (principal >= ?1 || '/' AND principal < ?1 || '0'))`
