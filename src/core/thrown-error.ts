/** Thrown error: the message and the system error code of a thrown value. Anything can be thrown. */

export function readErrorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** `fetch` throws that it failed; why stands in the cause. */
export function unwrapErrorCause(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown
}

/** Follows the path of a file that was to be read. */
export function explainUnreadableFile(thrown: unknown): string {
  switch (readSystemErrorCode(thrown)) {
    case 'ENOENT':
      return 'there is no such file.'
    case 'EISDIR':
      return 'is a folder. Name the file in it.'
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user.'
    default:
      return `cannot be read (${readErrorMessage(thrown)})`
  }
}

/** SQLite's primary result codes: read-only, an error of the disk, full. */
const SQLITE_UNWRITABLE: ReadonlySet<unknown> = new Set([8, 10, 13])
const SYSTEM_UNWRITABLE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

/** Whether the disk, or the database on it, cannot be written. */
export function isDiskWriteError(thrown: unknown): boolean {
  if (SYSTEM_UNWRITABLE.has(readSystemErrorCode(thrown))) return true
  // The lower eight bits are the primary code.
  return thrown instanceof Error && 'errcode' in thrown && SQLITE_UNWRITABLE.has(Number(thrown.errcode) & 0xff)
}

/** Such as `ENOENT`; `undefined` for an error that is not from a system call. */
export function readSystemErrorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
