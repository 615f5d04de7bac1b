/**
 * Atomic file: after a power cut, a file has either its old content or its new one.
 *
 *   write path.tmp ▸ fsync it ▸ rename over path ▸ fsync the directory
 */
import { close, fdatasync, open, rename, writeFile } from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'

/** One writer per path at a time; resolves when the new content is durable. */
export async function writeFileAtomically(path: string, content: string | Uint8Array): Promise<void> {
  await writeFileWithoutDirectorySync(path, content)
  await syncDirectory(dirname(path))
}

/** The same, but the name is durable only after `syncDirectory`: for many files, one sync of their directory. */
export async function writeFileWithoutDirectorySync(
  path: string,
  content: string | Uint8Array,
  mode = 0o644,
): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await openFile(temporary, 'w', mode)
  try {
    await writeWhole(file, content)
    await syncData(file)
  } finally {
    await closeFile(file)
  }
  await renameFile(temporary, path)
}

// Descriptors, not handles: a handle takes the event loop a quarter longer, and a busy log makes a hundred such files
// for every checkpoint.
const openFile = promisify(open)
const writeWhole = promisify(writeFile)
const syncData = promisify(fdatasync)
const closeFile = promisify(close)
const renameFile = promisify(rename)

/** A rename is durable only when the directory is synced. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await openHandle(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** An entry bundle has at most 16 MiB. */
const MAX_FILE_BYTES = 33_554_432

/** `undefined` when there is no such file; any other error is thrown. */
export async function readFileIfPresent(path: string, limit = MAX_FILE_BYTES): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(readBoundedFile(path, limit))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return readSystemErrorCode(error) === 'ENOENT'
}
