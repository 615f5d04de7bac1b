/**
 * Process lock: at most one gateway per data directory. Two would write one ledger, and fork it. The lock is a
 * transaction on a file of its own that is never ended: the system releases it when the process dies, however it dies,
 * so there are no stale lock files.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { requireRegularFile } from './bounded-file-store.ts'
import { readSystemErrorCode } from './thrown-error.ts'

export interface ProcessLock {
  /**
   * Whether the path still leads to the file that is held. If it does not, another process could take the lock on the
   * new file.
   */
  readonly isInPlace: () => boolean
  readonly release: () => void
}

/** The message says what to do. */
export class ProcessLockUnusableError extends Error {}

/** A process that only checks the lock holds it for an instant; a gateway holds it for good. */
const LOOKERS_LEAVE_MS = 250

/** `undefined` when another process holds it. */
export function takeProcessLock(path: string): ProcessLock | undefined {
  requireRegularFile(path)
  const file = new DatabaseSync(path)
  try {
    file.exec(`PRAGMA busy_timeout = ${LOOKERS_LEAVE_MS}; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE`)
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    // The lock file contains nothing, so it can be replaced.
    if (isNoDatabase(error))
      throw new ProcessLockUnusableError(
        `${path} is damaged. Nothing is kept in it: remove it, and the next start makes a new one.`,
      )
    throw error
  }
  const { dev, ino } = statSync(path, { bigint: true })
  return {
    isInPlace: () => {
      const now = statSync(path, { bigint: true, throwIfNoEntry: false })
      return now?.ino === ino && now.dev === dev
    },
    release: () => file.close(),
  }
}

/**
 * Whether a living process holds it. A process id in a file would not do: after a power cut it may belong to another
 * process.
 */
export function isProcessLockHeld(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    requireRegularFile(path)
    const file = new DatabaseSync(path, { readOnly: true })
    try {
      file.exec('PRAGMA busy_timeout = 0; SELECT COUNT(*) FROM sqlite_schema')
      return false
    } finally {
      file.close()
    }
  } catch (error) {
    // Any other error means that nobody holds it: remains of a killed holder, or a file that is not a lock.
    return isBusy(error)
  }
}

/** Signal 0 only checks whether the process exists. */
export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process exists, but belongs to another user.
    return readSystemErrorCode(error) === 'EPERM'
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
