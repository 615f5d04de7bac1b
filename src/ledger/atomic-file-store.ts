/**
 * Atomic file: after a power cut, a file has either its old content or its new one.
 *
 *   write path.tmp ▸ fsync it ▸ rename over path ▸ fsync the directory
 *
 * The temporary file is always a new one: anything that a crash or another program left under its name (a folder, a
 * pipe, a link) is removed or avoided, never written to.
 */
import { closeSync, fdatasync, open, rename, unlink, writeFile, writeFileSync } from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'

const DEFAULT_MODE = 0o644

/** Writes a file; there must be one writer per path at a time. Resolves when the new content is durable. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  mode = DEFAULT_MODE,
): Promise<void> {
  await writeFileWithoutDirectorySync(path, content, mode)
  await syncDirectory(dirname(path))
}

/**
 * Like `writeFileAtomically`, but the name is durable only after `syncDirectory`. For many files, one sync of their
 * directory is enough.
 */
export async function writeFileWithoutDirectorySync(
  path: string,
  content: string | Uint8Array,
  mode = DEFAULT_MODE,
): Promise<void> {
  const { file, temporary } = await createTemporaryFile(path, mode)
  try {
    try {
      if (content.length <= SHORT_LENGTH) writeFileSync(file, content)
      else await writeWhole(file, content)
      await syncData(file)
    } finally {
      closeSync(file)
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
  // The name is the same each time, so the next write removes what a crash left, and nobody has to search for it.
  const usual = `${path}.tmp`
  try {
    return { file: await openFile(usual, 'wx', mode), temporary: usual }
  } catch (error) {
    if (readSystemErrorCode(error) !== 'EEXIST') throw error
  }
  // A folder under that name is left alone; the name that is used instead cannot be guessed.
  await removeFile(usual).catch(() => undefined)
  const temporary = `${path}.${toHex(randomBytes(RANDOM_NAME_BYTES))}.tmp`
  return { file: await openFile(temporary, 'wx', mode), temporary }
}

const RANDOM_NAME_BYTES = 8
/** The system copies so many bytes sooner than a thread could be asked to. */
const SHORT_LENGTH = 262_144

// Uses descriptors, not handles: opening a handle takes the event loop a quarter longer, and a busy log writes a
// hundred such files for every checkpoint.
const openFile = promisify(open)
const writeWhole = promisify(writeFile)
const syncData = promisify(fdatasync)
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

/** A file has at most twice the 16 MiB of an entry bundle. */
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
