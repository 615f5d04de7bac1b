/**
 * Service probe: tests which services cannot work. A test costs a write, and anybody who can reach the listener may
 * request it, so it runs at most every few seconds, and once for all concurrent requests.
 *
 * Holds memory; otherwise pure.
 */
import type { Service } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import { runOrUndefined } from '../toolbox/time-limit.ts'

/** How long a good result is reused; a full disk is noticed within this time. */
const GOOD_FOR_MS = 5_000
/** A disk that takes longer counts as failed. */
const MAX_WAIT_MS = 5_000

export function createFailingServicesProbe(
  services: readonly Pick<Service, 'name' | 'probe'>[],
  { monotonic }: Pick<Clock, 'monotonic'>,
): () => Promise<readonly string[]> {
  // Concurrent requests wait for the same test.
  let underWay: Promise<readonly string[]> | undefined
  let last: { readonly atMs: number; readonly failing: readonly string[] } | undefined
  const look = async (): Promise<readonly string[]> => {
    const fails = await Promise.all(services.map(isFailing))
    const failing = services.filter((_, index) => fails[index] === true).map(({ name }) => name)
    last = { atMs: monotonic(), failing }
    underWay = undefined
    return failing
  }
  return async () => {
    if (last !== undefined && monotonic() - last.atMs < GOOD_FOR_MS) return last.failing
    underWay ??= look()
    return underWay
  }
}

/** A service whose test throws, fails or takes too long cannot work. */
async function isFailing({ probe }: Pick<Service, 'probe'>): Promise<boolean> {
  if (probe === undefined) return false
  const answer = await runOrUndefined(MAX_WAIT_MS, probe)
  return answer === undefined || answer.status === 'failing'
}
