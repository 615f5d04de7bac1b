/**
 * Unsupported operation cache: what this HomeSeer was found unable to do by itself, and until when that is believed.
 *
 * Holds memory; otherwise pure.
 */
/**
 * Unsupported operations, by name without `hs4.admin.`. Kept in memory, so that an updated HomeSeer is tried again
 * after a restart.
 */
export interface UnsupportedAdminOperationCache {
  readonly isUnsupported: (op: string) => boolean
  readonly learnUnsupported: (op: string) => void
  readonly size: () => number
}

/** `ttl` is `HS4_ADMIN_CAPABILITY_CACHE_TTL_SEC`; with 0, the result is used only within the call that found it. */
export function createUnsupportedAdminOperationCache(
  ttlMs: number,
  monotonic: () => number,
): UnsupportedAdminOperationCache {
  const until = new Map<string, number>()
  return {
    isUnsupported: (op) => (until.get(op) ?? 0) > monotonic(),
    learnUnsupported: (op) => {
      if (ttlMs > 0) until.set(op, monotonic() + ttlMs)
    },
    // There is at most one entry per operation, so none has to be dropped.
    size: () => [...until.values()].filter((untilMs) => untilMs > monotonic()).length,
  }
}
