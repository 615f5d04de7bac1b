/** Time limit: an answer that comes in time, or none. */
import { setTimeout as pause } from 'node:timers/promises'

/** `undefined` where `work` throws or takes longer. What it began is not stopped. */
export async function runOrUndefined<Answer>(
  limitMs: number,
  work: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const timer = new AbortController()
  const late = pause(limitMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined)
  try {
    return await Promise.race([work(), late])
  } catch {
    return undefined
  } finally {
    timer.abort()
  }
}
