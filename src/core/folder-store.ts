/**
 * Folder: creates a folder and its parents. Node's recursive mkdir never returns where the parent exists but nothing
 * can be created in it, as under /proc.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Only the owner may read what is created here. */
const MODE = 0o700

/** Throws the system's error, also when a file of that name exists. */
export function createPrivateFolder(path: string): void {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) createPrivateFolder(parent)
  try {
    mkdirSync(path, { mode: MODE })
  } catch (error) {
    // Another process created it meanwhile.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
