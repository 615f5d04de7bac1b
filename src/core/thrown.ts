/**
 * Thrown: what somebody else's code threw, in words and as the system's own code for it. Anything can be thrown.
 */

export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** SQLite's primary result codes: read-only, an error of the disk, full. */
const SQLITE_UNWRITABLE: ReadonlySet<unknown> = new Set([8, 10, 13])
const SYSTEM_UNWRITABLE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

/** The disk, or the database on it, takes nothing. */
export function isUnwritable(thrown: unknown): boolean {
  if (SYSTEM_UNWRITABLE.has(systemErrorCode(thrown))) return true
  // The lower eight bits are the primary code.
  return thrown instanceof Error && 'errcode' in thrown && SQLITE_UNWRITABLE.has(Number(thrown.errcode) & 0xff)
}

/** Such as `ENOENT`; `undefined` for what no system call said. */
export function systemErrorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
