/**
 * Start check: finds, without starting, why a start would refuse a data directory.
 */
import { existsSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { Database, DatabaseTooNewError } from '../core/database-store.ts'
import { ProcessLockUnusableError, takeProcessLock } from '../core/process-lock-store.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { OwnerTokenUnusableError, readOwnerToken } from '../guard/owner-token-store.ts'
import { locateMeshFiles } from '../main/mesh-files.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'
import { explainGatewayWithoutLock } from '../main/gateway-lock-client.ts'

/**
 * Sentences about a data directory that no gateway uses. Damage is reported by the verification, and file modes by the
 * examination of the keys.
 */
export async function listStartRefusals(dataRoot: string, config: Config | undefined): Promise<readonly string[]> {
  const data = buildDataDirectoryPaths(dataRoot)
  const { lock, ownerToken, database: path } = data
  const { nodeDatabaseMigrations: migrations } = await import('../main/node-database-migrations.ts')
  const hasMesh = config?.mesh.enabled === true
  return [
    ...refusalOf(lock, () => takeProcessLock(lock)?.release()),
    ...[await explainGatewayWithoutLock(data)].filter((sentence) => sentence !== undefined),
    ...refusalOf(ownerToken, () => void readOwnerToken(ownerToken)),
    ...refusalOf(path, () => {
      requireRegularFile(path)
      new Database({ path, migrations, readOnly: true }).close()
    }),
    ...(hasMesh ? await refusalOfMesh(data) : []),
  ]
}

/** A file that does not exist yet is created by a start. */
function refusalOf(path: string, look: () => void): readonly string[] {
  if (!existsSync(path)) return []
  try {
    look()
    return []
  } catch (error) {
    return isRefusal(error) ? [error.message] : []
  }
}

/** No other examination opens this database. Whether its content was altered is only found by a start. */
async function refusalOfMesh(data: DataDirectory): Promise<readonly string[]> {
  const { database: path } = locateMeshFiles(data)
  if (!existsSync(path)) return []
  try {
    new Database({ path, migrations: [], readOnly: true }).close()
    return []
  } catch (error) {
    return [explainDataDirectoryTrouble(error, data.root) ?? readErrorMessage(error)]
  }
}

function isRefusal(error: unknown): error is Error {
  return (
    error instanceof ProcessLockUnusableError ||
    error instanceof OwnerTokenUnusableError ||
    error instanceof DatabaseTooNewError
  )
}
