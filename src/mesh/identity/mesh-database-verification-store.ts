/**
 * Mesh database verification: finds what a program without this node's key has written into the mesh database, whether
 * a gateway runs or not. It changes nothing.
 */
import { findAlteredSchema } from '../../core/database-schema-check-store.ts'
import { Database } from '../../core/database-store.ts'
import { InvitationStore } from './invitation-store.ts'
import type { MembershipLog } from './membership-log.ts'
import { meshMigrations } from './mesh-store.ts'
import { MembershipAlteredError, readStoredCommunity } from './community-store.ts'
import { OfferPinStore } from './offer-pin-store.ts'
import { RowMacAuthenticator } from './row-mac-authenticator.ts'

export interface MeshDatabaseReport {
  /** Names of tables, indexes, views and triggers that were changed, added or removed. */
  readonly schema: readonly string[]
  readonly rows: readonly ForgedMeshRow[]
  /** The community whose member list is stored, and believed. */
  readonly communityId: string | undefined
}

export interface ForgedMeshRow {
  readonly what: 'member list' | 'invitation' | 'withheld offers' | 'acceptance of offers'
  readonly id: string
}

/** Throws where the file cannot be read. */
export function verifyMeshDatabase(
  path: string,
  { sealKey, log }: { readonly sealKey: Uint8Array; readonly log: Pick<MembershipLog, 'newest'> },
): MeshDatabaseReport {
  const database = new Database({ path, migrations: [meshMigrations], readOnly: true })
  try {
    const schema = findAlteredSchema(database.sql, [meshMigrations])
    // With an altered schema, the rows have another meaning, so they are not read.
    if (schema.length > 0) return { schema, rows: [], communityId: undefined }
    const context = { seal: new RowMacAuthenticator(sealKey), log }
    const community = readOwnCommunity(database, context)
    const altered = community === 'altered' ? [{ what: 'member list' as const, id: 'of the community' }] : []
    return {
      schema,
      rows: [...altered, ...listForeignRows(database, context)],
      communityId: community === 'altered' ? undefined : community?.id,
    }
  } finally {
    database.close()
  }
}

function listForeignRows(
  database: Database,
  { seal }: { readonly seal: RowMacAuthenticator },
): readonly ForgedMeshRow[] {
  const { sql } = database
  const invitations = new InvitationStore(database, seal)
  const { notes, acceptances } = new OfferPinStore({ database, seal }).listForeignRows()
  const ids = sql
    .prepare('SELECT id FROM invitation')
    .all()
    .map(({ id }) => String(id))
  return [
    ...ids.filter((id) => invitations.find(sql, id) === undefined).map((id) => ({ what: 'invitation' as const, id })),
    ...notes.map((id) => ({ what: 'withheld offers' as const, id: `of ${id}` })),
    ...acceptances.map((id) => ({ what: 'acceptance of offers' as const, id })),
  ]
}

function readOwnCommunity(
  { sql }: Database,
  context: Parameters<typeof readStoredCommunity>[1],
): ReturnType<typeof readStoredCommunity> | 'altered' {
  try {
    return readStoredCommunity(sql, context)
  } catch (error) {
    if (error instanceof MembershipAlteredError) return 'altered'
    throw error
  }
}
