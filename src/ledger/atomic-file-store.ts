/**
 * Atomic file: a file that is either the old one or the new one, also after the power went out.
 *
 *   write path.tmp ▸ fsync it ▸ rename over path ▸ fsync the directory
 */
import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemErrorCode } from '../core/thrown.ts'

/** One writer per path at a time; resolves when the new content is durable. */
export async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  await writeFileWithoutDirectorySync(path, content)
  await syncDirectory(dirname(path))
}

/** The same, but the name is durable only after `syncDirectory`: for many files, one sync of their directory. */
export async function writeFileWithoutDirectorySync(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o644)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

/** A rename is durable only when the directory that names the file is. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** `undefined` when there is no such file; any other trouble is thrown. */
export async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return systemErrorCode(error) === 'ENOENT'
}
