/**
 * Atomic file: after a power cut, a file has either its old content or its new one.
 *
 *   write path.tmp ▸ fsync it ▸ rename over path ▸ fsync the directory
 *
 * The temporary file is always a new one: what a crash left under its name, or somebody put there (a folder, a pipe, a
 * link), is removed or avoided, never written to.
 */
import { close, fdatasync, open, rename, unlink, writeFile } from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'

const DEFAULT_MODE = 0o644

/** One writer per path at a time; resolves when the new content is durable. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  mode = DEFAULT_MODE,
): Promise<void> {
  await writeFileWithoutDirectorySync(path, content, mode)
  await syncDirectory(dirname(path))
}

/** The same, but the name is durable only after `syncDirectory`: for many files, one sync of their directory. */
export async function writeFileWithoutDirectorySync(
  path: string,
  content: string | Uint8Array,
  mode = DEFAULT_MODE,
): Promise<void> {
  const { file, temporary } = await createTemporaryFile(path, mode)
  try {
    try {
      await writeWhole(file, content)
      await syncData(file)
    } finally {
      await closeFile(file)
    }
    await renameFile(temporary, path)
  } catch (error) {
    await removeFile(temporary).catch(() => undefined)
    throw error
  }
}

/** `wx` neither follows a link nor opens what is there already, so it never waits for the other end of a pipe. */
async function createTemporaryFile(
  path: string,
  mode: number,
): Promise<{ readonly file: number; readonly temporary: string }> {
  // The same name each time: the next write of the file removes what a crash left, and nobody has to search for it.
  const usual = `${path}.tmp`
  try {
    return { file: await openFile(usual, 'wx', mode), temporary: usual }
  } catch (error) {
    if (readSystemErrorCode(error) !== 'EEXIST') throw error
  }
  // A folder stays; the name that is taken next cannot be guessed.
  await removeFile(usual).catch(() => undefined)
  const temporary = `${path}.${toHex(randomBytes(RANDOM_NAME_BYTES))}.tmp`
  return { file: await openFile(temporary, 'wx', mode), temporary }
}

const RANDOM_NAME_BYTES = 8

// Descriptors, not handles: a handle takes the event loop a quarter longer, and a busy log makes a hundred such files
// for every checkpoint.
const openFile = promisify(open)
const writeWhole = promisify(writeFile)
const syncData = promisify(fdatasync)
const closeFile = promisify(close)
const renameFile = promisify(rename)
const removeFile = promisify(unlink)

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
