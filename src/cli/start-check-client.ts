/**
 * Start check: what of a data directory a start would refuse, found without starting.
 */
import { existsSync } from 'node:fs'
import { resolveDataDirectory } from '../config/data-directory.ts'
import { Database, DatabaseTooNewError } from '../core/database-store.ts'
import { ProcessLockUnusableError, takeProcessLock } from '../core/process-lock-store.ts'
import { OwnerTokenUnusableError, readOwnerToken } from '../guard/owner-token-store.ts'
import { loadAllMigrations } from './ledger-files-client.ts'

/**
 * Sentences, for a directory that no gateway uses. Damage is left to whoever verifies, modes to whoever looks at keys.
 */
export async function listStartRefusals(dataRoot: string): Promise<readonly string[]> {
  const { lock, ownerToken, database: path } = resolveDataDirectory(dataRoot)
  const migrations = await loadAllMigrations()
  return [
    ...refusalOf(lock, () => takeProcessLock(lock)?.release()),
    ...refusalOf(ownerToken, () => void readOwnerToken(ownerToken)),
    ...refusalOf(path, () => new Database({ path, migrations, readOnly: true }).close()),
  ]
}

/** What is not there yet is made by a start. */
function refusalOf(path: string, look: () => void): readonly string[] {
  if (!existsSync(path)) return []
  try {
    look()
    return []
  } catch (error) {
    return isRefusal(error) ? [error.message] : []
  }
}

function isRefusal(error: unknown): error is Error {
  return (
    error instanceof ProcessLockUnusableError ||
    error instanceof OwnerTokenUnusableError ||
    error instanceof DatabaseTooNewError
  )
}
