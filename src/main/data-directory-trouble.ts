/**
 * Data directory trouble: explains errors of the system or of SQLite about a data directory to a person.
 */
import { sep } from 'node:path'
import { FileUnusableError } from '../core/bounded-file-store.ts'
import { DatabaseTooNewError, SchemaAlteredError } from '../core/database-store.ts'
import { ProcessLockUnusableError } from '../core/process-lock-store.ts'
import { isUnsafeIntegerError } from '../core/sqlite-row-store.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

/** Node's code for every error of SQLite; the lower eight bits of `errcode` are SQLite's primary result code. */
const SQLITE_ERROR = 'ERR_SQLITE_ERROR'
const SQLITE_NOTADB = 26
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13

/** Errors whose message says what to do. */
const WITH_SENTENCE = [ProcessLockUnusableError, DatabaseTooNewError, SchemaAlteredError]

/** Returns `undefined` if the error is not about the data directory, but a bug. */
export function explainDataDirectoryTrouble(error: unknown, root: string): string | undefined {
  if (WITH_SENTENCE.some((kind) => error instanceof kind)) return readErrorMessage(error)
  if (error instanceof FileUnusableError) return `${error.path} cannot be used: ${error.message}.`
  if (isUnsafeIntegerError(error))
    return `A database in ${root} contains a number that this program did not write (${readErrorMessage(error)}). Restore the directory from a backup.`
  if (!(error instanceof Error) || !('code' in error)) return undefined
  if (error.code === SQLITE_ERROR) return databaseSentence(error, root)
  // An error of a write to an open file contains no path; a start writes to no other place.
  const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT'
  return isFull || ('path' in error && concerns(error.path, root)) ? fileSentence(error, root) : undefined
}

/** Whether a path is the directory, lies in it, or contains it. */
function concerns(path: unknown, root: string): boolean {
  if (typeof path !== 'string') return false
  return path === root || path.startsWith(`${root}${sep}`) || root.startsWith(`${path}${sep}`)
}

/** What a person can do about a system error code, if we know it. */
function fileSentence(error: Error & { readonly code: unknown }, root: string): string {
  switch (error.code) {
    case 'ENOTDIR':
    case 'EEXIST':
      return `${root} cannot be the data directory: there is a file in its place, or on the way to it.`
    case 'EACCES':
    case 'EPERM':
      return `${root} may not be used by this user (${error.message}). Run this as the user who owns it.`
    case 'EROFS':
      return `${root} is on a file system that is mounted read-only. A gateway has to write there.`
    case 'EISDIR':
    case 'ELOOP':
    case 'ENXIO':
      return `Something else is in the place of a file in ${root} (${error.message}). Restore the directory from a backup.`
    case 'ENOENT':
      return `${root} is not there and cannot be made (${error.message}).`
    case 'ENOSPC':
    case 'EDQUOT':
      return fullDiskSentence(root)
    default:
      return `${root} cannot be used (${error.message}).`
  }
}

function fullDiskSentence(root: string): string {
  return `The disk that holds ${root} is full. Make room and start again.`
}

function databaseSentence(error: Error, root: string): string {
  const code = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
  if (code === SQLITE_NOTADB || code === SQLITE_CORRUPT)
    return `A database in ${root} is damaged or is none (${error.message}). Restore the directory from a backup.`
  if (code === SQLITE_FULL) return fullDiskSentence(root)
  return `The database in ${root} cannot be used (${error.message}). Is the disk full or read-only, or the file another user's?`
}
