/**
 * Announcement: what a node announces about itself on the local network, as DNS-SD TXT entries (M02). Announcements are
 * not authenticated, so one is only an address to probe.
 *
 *   v=1  id=<43 characters of the node id>  community=<16 characters of a hash>  contract=1.0
 *
 * The community is given as a hash: its members recognise each other by it, and others learn no key from it.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { toBase64url, toUtf8 } from '../../core/bytes.ts'
import { MESH_CONTRACT_VERSION } from '../identity/node-manifest.ts'
import { stripNodeIdPrefix, isNodeId } from '../identity/node-key.ts'

export const MDNS_SERVICE_TYPE = 'hearthbus'

/** Caches the hash of the node's one community, which every message over NATS needs. */
let known = { id: '', mark: '' }

export function hashCommunityId(communityId: string): string {
  if (known.id !== communityId)
    known = { id: communityId, mark: toBase64url(blake3(toUtf8(`hearthbus-community\n${communityId}`))).slice(0, 16) }
  return known.mark
}

export function createAnnouncementTxtRecord(nodeId: string, communityId: string): Readonly<Record<string, string>> {
  return {
    v: '1',
    id: stripNodeIdPrefix(nodeId),
    community: hashCommunityId(communityId),
    contract: MESH_CONTRACT_VERSION,
  }
}

/** The id of the node in an announcement of our own community; `undefined` for any other. */
export function parseAnnouncementTxtRecord(text: unknown, communityId: string): string | undefined {
  if (typeof text !== 'object' || text === null) return undefined
  const { v, id, community } = text as Readonly<Record<string, unknown>>
  if (v !== '1' || community !== hashCommunityId(communityId) || typeof id !== 'string') return undefined
  const nodeId = `ed25519:${id}`
  return isNodeId(nodeId) ? nodeId : undefined
}
