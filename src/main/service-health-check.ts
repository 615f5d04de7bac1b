/**
 * Examination: which services find, when they try, that they cannot do their work. Trying costs a write, and anybody
 * who can reach the listener may ask: it is done every few seconds at most, once for all who ask meanwhile.
 *
 * Holds memory; otherwise pure.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Service } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'

/** A full disk is noticed so soon after it is full. */
const GOOD_FOR_MS = 5_000
/** A disk that takes longer does not work. */
const PATIENCE_MS = 5_000

export function createServiceHealthCheck(
  services: readonly Pick<Service, 'name' | 'examine'>[],
  { monotonic }: Pick<Clock, 'monotonic'>,
): () => Promise<readonly string[]> {
  // Whoever asks while one is under way waits for the same one.
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

async function isFailing({ examine }: Pick<Service, 'examine'>): Promise<boolean> {
  if (examine === undefined) return false
  const impatience = new AbortController()
  const late = rest(PATIENCE_MS, 'failing' as const, { signal: impatience.signal, ref: false }).catch(() => undefined)
  try {
    // Who throws, fails or does not come back in time cannot do its work.
    return (await Promise.race([examine().then(({ status }) => status), late])) === 'failing'
  } catch {
    return true
  } finally {
    impatience.abort()
  }
}
