/**
 * Voting: who this node is among voters, and the keys that it keeps for its people.
 *
 * A person's key is derived from the node's own and from the hash of the credential: it belongs to that credential and
 * to no other under the same name, and is nowhere on the disk (ADR 231).
 *
 * Pure, given the node's key.
 */
import { createHmac } from 'node:crypto'
import type { NodeVoter } from '../guard/rounds-store.ts'
import { deriveSecret } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import type { Community } from '../mesh/identity/community.ts'
import { nodeIdentity } from '../mesh/identity/node-key.ts'

export function createNodeVoter(
  { privateKey }: Pick<NodeKey, 'privateKey'>,
  { name, community }: { readonly name: string; readonly community: () => Community | undefined },
): NodeVoter {
  const { id } = nodeIdentity(privateKey)
  const secret = deriveSecret({ privateKey }, 'hearthbus/voter/v1')
  const { d = '' } = privateKey.export({ format: 'jwk' })
  return {
    house: id,
    epoch: () => community()?.revision ?? 0,
    personSeed: (credential) => new Uint8Array(createHmac('sha256', secret).update(credential).digest()),
    nodeSeed: new Uint8Array(Buffer.from(d, 'base64url')),
    member: (which) => {
      if (which === id || which === name) return id
      const members = [...(community()?.members.values() ?? [])]
      const [found, ...others] = members.filter((member) => member.nodeId === which || member.name === which)
      return others.length === 0 ? found?.nodeId : undefined
    },
  }
}
