/**
 * Account: who answers for a caller, as a condition on the guard's tables. A node shares one limit with everybody it
 * speaks for, because it can make up any number of their names (ADR 94).
 *
 * Pure.
 */
/** On `principal`: the account in ?1, or a name that begins with it and a slash. `0` is the character after `/`. */
export const OF_ACCOUNT = `(principal = ?1 OR (principal >= ?1 || '/' AND principal < ?1 || '0'))`
