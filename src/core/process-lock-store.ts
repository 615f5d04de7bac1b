/**
 * Process lock: at most one gateway per data directory. Two would write one ledger, and fork it.
 *
 * It is a transaction that is never ended, on a file of its own: the system gives it back when the process dies,
 * however it dies, and no stale file has to be judged by its age.
 */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface ProcessLock {
  readonly release: () => void
}

/** The message says what to do. */
export class LockUnusable extends Error {}

/** Whoever only looks whether it is held keeps it for an instant; a holder keeps it for good. */
const LOOKERS_LEAVE_MS = 250

/** `undefined` when another process holds it. */
export function takeProcessLock(path: string): ProcessLock | undefined {
  const file = new DatabaseSync(path)
  try {
    file.exec(`PRAGMA busy_timeout = ${LOOKERS_LEAVE_MS}; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE`)
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    // Nothing is kept in it, so nothing is lost with it.
    if (isNoDatabase(error))
      throw new LockUnusable(
        `${path} is damaged. Nothing is kept in it: remove it, and the next start makes a new one.`,
      )
    throw error
  }
  return { release: () => file.close() }
}

/**
 * Whether a living process holds it. A process number in a file cannot say: after a power cut it is somebody else's.
 */
export function isProcessLockHeld(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    const file = new DatabaseSync(path, { readOnly: true })
    try {
      file.exec('PRAGMA busy_timeout = 0; SELECT COUNT(*) FROM sqlite_schema')
      return false
    } finally {
      file.close()
    }
  } catch (error) {
    // Any other error means that nobody holds it: leftovers of a killed holder, or a file that is no lock.
    return isBusy(error)
  }
}

const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26
const SQLITE_CORRUPT = 11

function isBusy(error: unknown): boolean {
  return codeOf(error) === SQLITE_BUSY
}

function isNoDatabase(error: unknown): boolean {
  return [SQLITE_NOTADB, SQLITE_CORRUPT].some((code) => codeOf(error) === code)
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error ? error.errcode : undefined
}
