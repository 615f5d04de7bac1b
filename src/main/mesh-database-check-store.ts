/**
 * Mesh database check: the part of `ledger verify` that checks the mesh database.
 *
 * Reads through the store.
 */
import { existsSync } from 'node:fs'
import { explainUnusableFile, requireRegularFile } from '../core/bounded-file-store.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import type { StoredContentCheck } from '../ledger/projection.ts'
import { membershipProjection, readCurrentCommunity } from './membership-log.ts'

export interface MeshDatabaseFile {
  readonly path: string
  /** The file to open instead: a copy, if the folder cannot be written. */
  readonly opened?: string
  readonly sealKey: Uint8Array
}

/** The mesh module is loaded only when this is called. */
export async function loadMeshDatabaseCheck({
  path,
  opened = path,
  sealKey,
}: MeshDatabaseFile): Promise<StoredContentCheck> {
  const { verifyMeshDatabase } = await import('../mesh/identity/mesh-database-verification-store.ts')
  return (state) => {
    const membership = state(membershipProjection)
    const { revisions } = membership
    const current = readCurrentCommunity(membership)
    const lost =
      current === undefined
        ? []
        : [{ kind: 'copy-missing' as const, what: 'member list' as const, id: `of ${current.id}`, seq: current.seq }]
    if (!existsSync(path)) return lost
    try {
      requireRegularFile(path)
      const { schema, rows, communityId } = verifyMeshDatabase(opened, {
        sealKey,
        log: { newest: (id) => revisions.get(id) },
      })
      return [
        ...schema.map((name) => ({ kind: 'schema-differs' as const, name: `${name} in ${path}` })),
        ...rows.map((row) => ({ kind: 'copy-unfounded' as const, ...row })),
        ...(schema.length > 0 || rows.some(({ what }) => what === 'member list') || communityId === current?.id
          ? []
          : lost),
      ]
    } catch (error) {
      return [{ kind: 'file-unreadable', path, reason: explainUnusableFile(error) ?? readErrorMessage(error) }]
    }
  }
}
