/**
 * Until signal: waits for somebody to say stop.
 */
export function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      // A second Ctrl-C means now.
      process.once('SIGINT', () => process.exit(130))
      resolve()
    }
    process.once('SIGINT', done)
    process.once('SIGTERM', done)
    // The terminal was closed. It may be said twice, and the second time must not cut off the stop.
    process.on('SIGHUP', () => resolve())
  })
}
