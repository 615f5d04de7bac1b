/**
 * Folder: makes a folder and its parents. Node's recursive mkdir never returns where the system says that the parent
 * exists and also that nothing can be made in it, as under /proc.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Only its owner may look into what is made here. */
const MODE = 0o700

/** Throws what the system says, a file in its place included. */
export function makeFolder(path: string): void {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: MODE })
  } catch (error) {
    // Somebody else was faster.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
