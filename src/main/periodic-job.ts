/**
 * Regular job: something that is done every so often for as long as the node runs.
 *
 * Does I/O: it has a timer.
 */
import type { Logger } from '../core/logger.ts'
import { thrownMessage } from '../core/thrown.ts'

/**
 * Never overlaps with itself. Its failure is a line in the log, once for each reason: what a broken disk fails every
 * second would fill what is left of it. Returns how to stop.
 */
export function startPeriodicJob(ms: number, job: () => Promise<unknown>, logger: Logger): () => void {
  let running = false
  let told: string | undefined
  const failed = (error: unknown): void => {
    const why = thrownMessage(error)
    if (why !== told) logger.error({ err: error }, 'a regular job failed; it is tried again, and said once')
    told = why
  }
  const succeeded = (): void => {
    if (told !== undefined) logger.info({}, 'a regular job works again')
    told = undefined
  }
  const timer = setInterval(() => {
    if (running) return
    running = true
    job()
      .then(succeeded, failed)
      .finally(() => {
        running = false
      })
  }, ms)
  return () => clearInterval(timer)
}
