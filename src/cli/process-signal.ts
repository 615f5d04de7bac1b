/**
 * Process signal: waits for a signal to stop.
 */
export function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      // A second Ctrl-C ends the process at once.
      process.once('SIGINT', () => process.exit(130))
      resolve()
    }
    process.once('SIGINT', done)
    process.once('SIGTERM', done)
    // The terminal was closed. The signal may arrive twice, and the second one must not interrupt the stop.
    process.on('SIGHUP', () => resolve())
  })
}
