/**
 * Community store: the member list in the mesh database, sealed with a key of this node's, and at least as new as the
 * node's log says.
 */
import type { DatabaseSync } from 'node:sqlite'
import { toHex } from '../../core/bytes.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { parseCommunityDocument, mergeCommunities } from './community.ts'
import type { Community, CommunityFault } from './community.ts'
import { explainMembershipRollback } from './membership-log.ts'
import type { MembershipLog } from './membership-log.ts'
import { readMeshFact, writeMeshFact } from './mesh-fact-store.ts'
import type { RowMacAuthenticator } from './row-mac-authenticator.ts'

/** The message says what to do. */
export class MembershipAlteredError extends Error {
  constructor(why: string) {
    super(
      `The member list in the mesh database is not the one that this node keeps: ${why}. Restore the newest copy of mesh.db; if it is lost, remove the file and join the community again (hearthbus mesh join).`,
    )
  }
}

interface SealedCommunityAccess {
  readonly seal: RowMacAuthenticator
  readonly log: Pick<MembershipLog, 'newest'> | undefined
}

/** Throws `MembershipAlteredError` when another program wrote the member list. */
export function readStoredCommunity(sql: DatabaseSync, { seal, log }: SealedCommunityAccess): Community | undefined {
  const [id, text] = [readMeshFact(sql, 'community_id'), readMeshFact(sql, 'community')]
  if (id === undefined || text === undefined) return undefined
  const sealed = readMeshFact(sql, 'community_seal')
  if (sealed === undefined || !seal.isValid([id, text], Buffer.from(sealed, 'hex')))
    throw new MembershipAlteredError('it does not bear this node’s seal')
  const read = parseCommunityDocument(JSON.parse(text), id)
  // The file is our own, and its content was verified before it was written.
  if (!read.ok) throw new Error(`the member list in the mesh database cannot be read (${read.fault.kind})`)
  const why = explainMembershipRollback(read.value, log)
  if (why !== undefined) throw new MembershipAlteredError(why)
  return read.value
}

/** Adds records that are not known yet; the first ones make this node a member of their community. */
export function acceptCommunity(
  sql: DatabaseSync,
  next: Community,
  sealed: SealedCommunityAccess,
): Result<Community, CommunityFault> {
  const held = readStoredCommunity(sql, sealed)
  if (held !== undefined && held.id !== next.id) return fail({ kind: 'foreign', id: next.id })
  // The document is parsed before it is written: one that cannot be read again would make the next start fail.
  const read = parseCommunityDocument(next.document, next.id)
  if (!read.ok) return read
  const accepted = held === undefined ? ok(read.value) : mergeCommunities(held, read.value)
  if (accepted.ok) {
    const { id, document } = accepted.value
    const text = JSON.stringify(document)
    writeMeshFact(sql, 'community_id', id)
    writeMeshFact(sql, 'community', text)
    writeMeshFact(sql, 'community_seal', toHex(sealed.seal.create([id, text])))
  }
  return accepted
}
