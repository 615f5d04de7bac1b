/**
 * Bounded file: the content of a file that somebody else may have replaced. A pipe would be waited for without end, and
 * a sparse file of a terabyte would fill the memory; both are refused before anything is read.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { readErrorMessage, readSystemErrorCode } from './thrown-error.ts'

/** The path leads to something that this program did not write. The message is a clause about "it". */
export class FileUnusableError extends Error {
  readonly path: string

  constructor(path: string, reason: string) {
    super(reason)
    this.path = path
  }
}

/** Throws `FileUnusableError`, or the system's error. */
export function readBoundedFile(path: string, limit: number): Buffer {
  return withRegularFile(path, (file, size) => {
    if (size > limit) throw new FileUnusableError(path, `it has ${size} bytes, and at most ${limit} are expected`)
    return readFileRange(file, 0, size)
  })
}

/** Runs `read` on an open regular file. A link may lead to it. */
export function withRegularFile<Value>(path: string, read: (file: number, size: number) => Value): Value {
  const file = openWithoutWaiting(path)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new FileUnusableError(path, `it is ${typeOf(stats)}`)
    return read(file, stats.size)
  } finally {
    closeSync(file)
  }
}

/** Without O_NONBLOCK the open of a pipe waits for a writer. */
function openWithoutWaiting(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = readSystemErrorCode(error)
    if (code !== 'ELOOP' && code !== 'ENXIO') throw error
    throw new FileUnusableError(path, code === 'ELOOP' ? 'it is a link that leads to itself' : 'it is a socket')
  }
}

/**
 * Checks a file before a library opens it by its path: SQLite would wait for the other end of a pipe. Does nothing
 * where there is no file.
 */
export function requireRegularFile(path: string): void {
  try {
    const stats = statSync(path)
    if (!stats.isFile()) throw new FileUnusableError(path, `it is ${typeOf(stats)}`)
  } catch (error) {
    const reason = explainUnusableFile(error)
    if (reason !== undefined) throw new FileUnusableError(path, reason)
  }
}

/** Fewer bytes where the file ends before. */
export function readFileRange(file: number, from: number, bytes: number): Buffer {
  const content = Buffer.allocUnsafe(bytes)
  let at = 0
  while (at < bytes) {
    const read = readSync(file, content, at, bytes - at, from + at)
    if (read === 0) break
    at += read
  }
  return at === bytes ? content : content.subarray(0, at)
}

/** Why a file could not be read, as a clause about "it"; `undefined` where there is no file. */
export function explainUnusableFile(error: unknown): string | undefined {
  if (error instanceof FileUnusableError) return error.message
  switch (readSystemErrorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return undefined
    case 'EACCES':
    case 'EPERM':
      return 'this user may not read it'
    case 'ELOOP':
      return 'it is a link that leads to itself'
    default:
      return readErrorMessage(error)
  }
}

function typeOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder'
  if (stats.isFIFO()) return 'a pipe'
  return 'a device'
}
