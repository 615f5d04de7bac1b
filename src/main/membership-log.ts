/**
 * Membership log: what the node's ledger says about communities, in the form that the store of a community needs.
 *
 *   community.changed ─▶ more records, never fewer      invitation.used ─▶ by one node
 *   community.left    ─▶ only a newer list of it counts from then on
 *   community.forked  ─▶ an anchor signed two decisions under one number: it was put back to an older copy, or copied
 *   invitation.reused ─▶ two nodes were admitted with one invitation
 *
 * Pure, but for the state that it is given.
 */
import { hkdfSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readEntryNumberField, readEntryTextField } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import type { MembershipLog, RecordedCommunityRevision } from '../mesh/identity/membership-log.ts'

interface MembershipState {
  /** The newest revision of each community, by community id. */
  readonly revisions: UndoableStateMap<RecordedCommunityRevision>
  /** The community that this node belongs to, and the entry that says so, under one key. */
  readonly current: UndoableStateMap<{ readonly id: string; readonly seq: number }>
  /** The node that used each invitation: invitation id → node id. */
  readonly invitations: UndoableStateMap<string>
  /** Forks and second uses that were recorded, once each. */
  readonly findings: UndoableStateMap<boolean>
}

/** How many names an entry may have; its length is limited. */
const MAX_NAMED = 512

const MESH_WRITTEN = 'mesh.written'
const COMMUNITY_LEFT_KIND = 'community.left'
const CURRENT_COMMUNITY_STATE_KEY = 'current'

export const membershipProjection: Projection<MembershipState> = {
  name: 'membership',
  initial: (journal) => ({
    revisions: new UndoableStateMap<RecordedCommunityRevision>(journal),
    current: new UndoableStateMap(journal),
    invitations: new UndoableStateMap(journal),
    findings: new UndoableStateMap<boolean>(journal),
  }),
  apply: {
    'community.changed': ({ revisions, current }, entry) => {
      const [id, digest] = [readEntryTextField(entry, 'community_id'), readEntryTextField(entry, 'digest')]
      const revision = readEntryNumberField(entry, 'revision')
      if (id === undefined || digest === undefined || revision === undefined)
        return 'a field that such an entry needs is missing or wrong'
      const before = revisions.get(id)
      if (before !== undefined && revision <= before.revision)
        return `the member list was at revision ${before.revision} before`
      revisions.set(id, { revision, digest })
      current.set(CURRENT_COMMUNITY_STATE_KEY, { id, seq: entry.seq })
      return undefined
    },
    [COMMUNITY_LEFT_KIND]: ({ revisions, current }, entry) => {
      const id = readEntryTextField(entry, 'community_id')
      const before = id === undefined ? undefined : revisions.get(id)
      if (id === undefined || before === undefined || before.isLeft === true) return 'this node was not in it'
      revisions.set(id, { ...before, isLeft: true })
      if (current.get(CURRENT_COMMUNITY_STATE_KEY)?.id === id) current.delete(CURRENT_COMMUNITY_STATE_KEY)
      return undefined
    },
    'invitation.used': ({ invitations }, entry) => {
      const [id, nodeId] = [readEntryTextField(entry, 'invitation'), readEntryTextField(entry, 'node_id')]
      if (id === undefined || nodeId === undefined) return 'a field that such an entry needs is missing or wrong'
      const before = invitations.get(id)
      if (before !== undefined) return `${before} used that invitation before`
      invitations.set(id, nodeId)
      return undefined
    },
    'community.forked': ({ findings }, entry) => {
      const [signer, number] = [readEntryTextField(entry, 'signer'), readEntryNumberField(entry, 'number')]
      if (signer === undefined || number === undefined) return 'a field that such an entry needs is missing or wrong'
      findings.set(forkKey({ signer, number }), true)
      return undefined
    },
    'invitation.reused': ({ findings }, entry) => {
      const id = readEntryTextField(entry, 'invitation')
      if (id === undefined) return 'a field that such an entry needs is missing or wrong'
      findings.set(reuseKey(id), true)
      return undefined
    },
  },
  check: { [MESH_WRITTEN]: () => 'another program wrote to the mesh database' },
}

/** The community that a stored member list has to be of, and the entry that says so. */
export function readCurrentCommunity({
  current,
}: MembershipState): { readonly id: string; readonly seq: number } | undefined {
  return current.get(CURRENT_COMMUNITY_STATE_KEY)
}

/**
 * Records that this node leaves a community: the one that it belongs to as its log says, unless another is named. Does
 * nothing, and says so, where the log knows of none.
 */
export async function recordLeftCommunity(
  ledger: Pick<Ledger, 'append' | 'projections'>,
  named?: string,
): Promise<boolean> {
  const state = ledger.projections.state(membershipProjection)
  const id = named ?? readCurrentCommunity(state)?.id
  const known = id === undefined ? undefined : state.revisions.get(id)
  if (id === undefined || known === undefined || known.isLeft === true) return false
  await ledger.append({ kind: COMMUNITY_LEFT_KIND, community_id: id })
  return true
}

export function createMembershipLog(ledger: Ledger): MembershipLog {
  const { revisions, invitations, findings } = ledger.projections.state(membershipProjection)
  return {
    newest: (communityId) => revisions.get(communityId),
    record: async ({ id, revision, digest, revoked, forks, invitations: uses }) => {
      // A record that arrives twice, or late, adds nothing.
      if (revision <= (revisions.get(id)?.revision ?? 0)) return
      await ledger.append({
        kind: 'community.changed',
        community_id: id,
        revision,
        digest,
        // Recorded for the guard, because a revoked node does not vote.
        revoked: [...revoked.keys()].slice(0, MAX_NAMED),
      })
      for (const { signer, number, digests } of forks)
        if (!findings.has(forkKey({ signer, number })))
          await ledger.append({ kind: 'community.forked', community_id: id, signer, number, records: [...digests] })
      for (const [invitation, all] of uses)
        if (all.length > 1 && !findings.has(reuseKey(invitation)))
          await ledger.append({ kind: 'invitation.reused', invitation, nodes: all.map(({ nodeId }) => nodeId) })
    },
    usedBy: (invitationId) => invitations.get(invitationId),
    use: async (invitationId, nodeId) => {
      // The same node may try again if the answer to it was lost.
      if (invitations.get(invitationId) === nodeId) return
      await ledger.append({ kind: 'invitation.used', invitation: invitationId, node_id: nodeId })
    },
    altered: async () => void (await ledger.append({ kind: MESH_WRITTEN })),
  }
}

function forkKey({ signer, number }: { readonly signer: string; readonly number: number }): string {
  return `fork ${signer} ${number}`
}

function reuseKey(invitation: string): string {
  return `reuse ${invitation}`
}

const SEAL_BYTES = 32

/**
 * Derives the key that authenticates what this node writes into the mesh database; only the holder of the private key
 * can do so.
 */
export function deriveMeshDatabaseSealKey(privateKey: KeyObject): Uint8Array {
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' })
  return new Uint8Array(hkdfSync('sha256', secret, '', 'hearthbus mesh store', SEAL_BYTES))
}
