/**
 * Readable database: a path at which SQLite can read a database, also on a write-protected medium.
 */
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface ReadableDatabase {
  readonly path: string
  /** Removes what was copied. */
  readonly remove: () => void
}

/**
 * SQLite creates a file beside the database even for reading, which fails on a write-protected medium unless SQLite is
 * told that nobody writes; but then it ignores the write-ahead log. So the files are copied.
 */
export function makeDatabaseReadable(path: string): ReadableDatabase {
  if (isWritable(dirname(path))) return { path, remove: () => undefined }
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  if (log === undefined || log.size === 0)
    return { path: `${pathToFileURL(path).href}?immutable=1`, remove: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-verify-'))
  for (const rest of ['', '-wal'])
    if (existsSync(`${path}${rest}`)) copyFileSync(`${path}${rest}`, join(folder, `copy${rest}`))
  return { path: join(folder, 'copy'), remove: () => rmSync(folder, { recursive: true }) }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
