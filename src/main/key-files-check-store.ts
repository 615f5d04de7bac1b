/**
 * Key files check: whether only their owner can read the files in `keys/`, and nobody else can replace them. The
 * modules that use the files check their content. A link may lead to them, as in containers.
 */
import { readdirSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from '../config/data-directory.ts'
import type { LedgerFinding } from '../ledger/ledger-finding.ts'

const OTHERS = 0o077
const OTHERS_WRITE = 0o022
const ROOT = 0

/**
 * Checks every file in the folder, even one that this start does not need: a root key that was put aside is still a
 * key.
 */
export function findExposedKeyFiles({ keys }: DataDirectory): readonly LedgerFinding[] {
  const folder = statSync(keys, { throwIfNoEntry: false })
  if (folder === undefined) return []
  const isOpen = (folder.mode & OTHERS_WRITE) !== 0
  const files = listKeyFiles(keys).flatMap(({ path, stats }) => {
    if (stats.uid !== folder.uid && stats.uid !== ROOT) return [exposed(path, 'it belongs to another user')]
    return (stats.mode & OTHERS) === 0
      ? []
      : [exposed(path, `others on this machine may use it (mode ${modeOf(stats)})`)]
  })
  return isOpen ? [exposed(keys, `others on this machine may write into it (mode ${modeOf(folder)})`), ...files] : files
}

/** Anything that is not a file, such as a folder that a container mounts, is left out. */
function listKeyFiles(folder: string): readonly { readonly path: string; readonly stats: Stats }[] {
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name))
    .flatMap((path) => {
      const stats = statSync(path, { throwIfNoEntry: false })
      return stats?.isFile() === true ? [{ path, stats }] : []
    })
}

function exposed(path: string, reason: string): LedgerFinding {
  return { kind: 'file-exposed', path, reason }
}

function modeOf({ mode }: { readonly mode: number }): string {
  return (mode & 0o777).toString(8)
}
