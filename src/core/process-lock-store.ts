/**
 * Process lock: at most one gateway per data directory. Two would write one ledger, and fork it.
 *
 * It is a transaction that is never ended, on a file of its own: the system gives it back when the process dies,
 * however it dies, and no stale file has to be judged by its age.
 *
 * Does I/O.
 */
import { DatabaseSync } from 'node:sqlite'

export interface ProcessLock {
  readonly release: () => void
}

/** `undefined` when another process holds it. */
export function takeProcessLock(path: string): ProcessLock | undefined {
  const file = new DatabaseSync(path)
  try {
    file.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return { release: () => file.close() }
}

const SQLITE_BUSY = 5

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}
