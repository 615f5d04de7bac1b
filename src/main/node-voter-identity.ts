/**
 * Node voter: this node's identity as a voter, the keys of its people, and who can witness their decisions.
 *
 * A person's key is derived from the node's own and from the hash of the credential: it belongs to that credential and
 * to no other under the same name, and is nowhere on the disk (ADR 231).
 */
import { createHmac } from 'node:crypto'
import type { NodeVoterIdentity } from '../guard/quorum-voters.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'
import { deriveNodeSecret } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import { COSIGNATURE_NOTE_SIGNATURE_TYPE, formatVerifierKey, createNoteVerifier } from '../ledger/note-key.ts'
import type { Community } from '../mesh/identity/community.ts'
import { decodeNodeId, deriveNodeIdentity, stripNodeIdPrefix } from '../mesh/identity/node-key.ts'

export interface VoterContext {
  readonly name: string
  readonly community: () => Community | undefined
  /** Keys of the configured witnesses, which cosign in addition to the nodes of the community. */
  readonly witnesses: readonly string[]
  readonly draws: RandomDrawKey
}

export function createNodeVoterIdentity(
  { privateKey }: Pick<NodeKey, 'privateKey'>,
  { name, community, witnesses, draws }: VoterContext,
): NodeVoterIdentity {
  const { id } = deriveNodeIdentity(privateKey)
  const secret = deriveNodeSecret({ privateKey }, 'hearthbus/voter/v1')
  const { d = '' } = privateKey.export({ format: 'jwk' })
  return {
    house: id,
    draws,
    epoch: () => community()?.revision ?? 0,
    personSeed: (credential) => new Uint8Array(createHmac('sha256', secret).update(credential).digest()),
    nodeSeed: new Uint8Array(Buffer.from(d, 'base64url')),
    member: (which) => {
      if (which === id || which === name) return id
      const members = [...(community()?.members.values() ?? [])]
      const [found, ...others] = members.filter((member) => member.nodeId === which || member.name === which)
      return others.length === 0 ? found?.nodeId : undefined
    },
    witnesses: () => {
      const members = [...(community()?.members.keys() ?? [])].filter((member) => member !== id)
      return [...witnesses, ...members.flatMap((member) => nodeWitnessKey(member) ?? [])].toSorted()
    },
  }
}

/** The name of a node as a witness of others. */
export function formatNodeWitnessName(nodeId: string): string {
  return `hearthbus.local/witness/${stripNodeIdPrefix(nodeId)}`
}

function nodeWitnessKey(nodeId: string): string | undefined {
  const publicKey = decodeNodeId(nodeId)
  return (
    publicKey &&
    formatVerifierKey(createNoteVerifier(formatNodeWitnessName(nodeId), COSIGNATURE_NOTE_SIGNATURE_TYPE, publicKey))
  )
}
