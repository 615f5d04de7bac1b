/**
 * Data directory check: whether a gateway could use a data directory, in the words in which a start refuses it; and how
 * full its disk is, and who can read its keys.
 *
 * It removes what it creates for the test, so no data directory is left where none was.
 */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmdirSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import { readErrorMessage, readSystemErrorCode } from '../core/thrown-error.ts'
import type { NodeExaminationFacts } from '../web/doctor.ts'
import { explainDataDirectoryTrouble } from './data-directory-trouble.ts'

export function collectDataDirectoryFacts(
  root: string,
): Pick<NodeExaminationFacts, 'dataRoot' | 'dataTrouble' | 'freeBytes' | 'looseKeys'> {
  const data = buildDataDirectoryPaths(root)
  return { dataRoot: root, dataTrouble: findTrouble(data), freeBytes: freeBytes(root), looseKeys: listLooseKeys(data) }
}

/** A folder that this user may not enter looks empty, and nothing of it must be said to be missing. */
export function explainInaccessibleDataRoot(root: string): string | undefined {
  try {
    accessSync(root, constants.R_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return readSystemErrorCode(error) === 'EACCES' ? explainDataDirectoryTrouble(error, root) : undefined
  }
}

function findTrouble({ root, keys, lock, database }: DataDirectory): string | undefined {
  try {
    if (existsSync(root) || isBelowFile(root)) for (const folder of [root, keys]) checkFolder(folder)
    else tryToCreate(root)
    for (const file of [lock, database]) if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return explainDataDirectoryTrouble(error, root) ?? `${root} cannot be used (${readErrorMessage(error)}).`
  }
}

function checkFolder(path: string): void {
  const existing = findExisting(path)
  readdirSync(existing)
  accessSync(existing, constants.W_OK | constants.X_OK)
}

function isBelowFile(path: string): boolean {
  return !statSync(findExisting(path)).isDirectory()
}

/** Tries to create the first folder that is missing, because permissions are not the only possible obstacle. */
function tryToCreate(root: string): void {
  const parent = dirname(root)
  if (!existsSync(parent)) return tryToCreate(parent)
  mkdirSync(root)
  try {
    rmdirSync(root)
  } catch {
    // A gateway that was started meanwhile uses the folder.
  }
}

function findExisting(path: string): string {
  return existsSync(path) ? path : findExisting(dirname(path))
}

function freeBytes(root: string): number {
  const { bavail, bsize } = statfsSync(findExisting(root))
  return bavail * bsize
}

/** Keys that other users of the machine may read or write, with their modes. */
function listLooseKeys({ nodeKey, ownerToken }: DataDirectory): NodeExaminationFacts['looseKeys'] {
  return [nodeKey, ownerToken]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mode: (statSync(path).mode & 0o777).toString(8) }))
    .filter(({ mode }) => mode !== '600' && mode !== '400')
}
