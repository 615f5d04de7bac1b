/** Periodic job: runs a function at an interval for as long as the node runs. */
import type { Logger } from '../core/logger.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

/**
 * The job never overlaps with itself. A failure is logged once for each reason: with a broken disk, a line every second
 * would fill what is left of it. Returns a function that stops the job.
 */
export function startPeriodicJob(
  ms: number,
  job: () => unknown,
  logger: Logger,
  /** When it runs for the first time. */
  firstMs = ms,
): () => void {
  let running = false
  let loggedReason: string | undefined
  const failed = (error: unknown): void => {
    const why = readErrorMessage(error)
    if (why !== loggedReason)
      logger.error({ err: error }, 'a periodic job failed; it is tried again, and logged only once')
    loggedReason = why
  }
  const succeeded = (): void => {
    if (loggedReason !== undefined) logger.info({}, 'a periodic job works again')
    loggedReason = undefined
  }
  const run = (): void => {
    if (running) return
    running = true
    new Promise((resolve) => resolve(job())).then(succeeded, failed).finally(() => {
      running = false
    })
  }
  let timer = setTimeout(() => {
    run()
    timer = setInterval(run, ms)
  }, firstMs)
  return () => clearTimeout(timer)
}
