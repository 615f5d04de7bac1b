/**
 * Joining: a node that belongs to nobody yet asks the issuer of its invitation to let it in.
 */
import { systemClock } from '../core/clock.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { parsePeerAddress } from '../mesh/discovery/peer-source.ts'
import { JOIN_REQUEST_NAME } from '../mesh/gate.ts'
import { MeshHttpClient } from '../mesh/http/http-client.ts'
import { createNodeCertificate } from '../mesh/identity/certificate.ts'
import { readCommunity, findMemberStanding } from '../mesh/identity/community.ts'
import type { Community } from '../mesh/identity/community.ts'
import { createJoinRequest } from '../mesh/identity/invitation.ts'
import type { Invitation } from '../mesh/identity/invitation.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import type { JoinCaller } from '../mesh/nats/join-client.ts'
import { OutboundCalls } from '../mesh/outbound.ts'
import type { PeerEndpoint } from '../mesh/transport.ts'

/** The node as it is: joining gives it no new key, only a place in a list. */
export interface JoiningNode {
  readonly invitation: Invitation
  readonly identity: NodeIdentity
  readonly name: string
  readonly natsServers: readonly string[]
  readonly useNkey: boolean
}

/** A member list of thousands of nodes; and how long the issuer may take to let us in. */
const MAX_ANSWER_BYTES = 4_194_304
const TIMEOUT_MS = 15_000

/** The fault is a sentence for a person. */
export async function joinByInvitation(joining: JoiningNode): Promise<Result<Community, string>> {
  const { invitation, identity, name } = joining
  const tls = {
    certificate: createNodeCertificate(identity),
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  const http = new MeshHttpClient({ tls, maxAnswerBytes: MAX_ANSWER_BYTES })
  const nats = joining.natsServers.length === 0 ? undefined : await openNats(joining)
  try {
    const outbound = new OutboundCalls({
      identity,
      // The one that we are about to belong to: the question is signed for it.
      communityId: () => invitation.communityId,
      transports: { http, nats: nats?.caller },
      clock: systemClock,
    })
    const ways = invitation.addresses.flatMap((text): PeerEndpoint[] => {
      const address = parsePeerAddress(text)
      return address === undefined ? [] : [{ transport: 'http', ...address }]
    })
    const answer = await outbound.askToJoin(
      { nodeId: invitation.issuer, ways: nats === undefined ? ways : [...ways, { transport: 'nats' }] },
      createJoinRequest(invitation, { identity, name }),
      {
        name: JOIN_REQUEST_NAME,
        communityId: invitation.communityId,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
    )
    if (!answer.ok) return fail(answer.fault.message)
    const community = readCommunity(answer.value['community'], invitation.communityId)
    if (!community.ok)
      return fail(`The answer is no member list of ${invitation.communityName} (${community.fault.kind}).`)
    // A list that is signed and lacks us would be kept, and lock us out of our own mesh.
    if (findMemberStanding(community.value, identity.id).kind !== 'member')
      return fail('The member list came without this node.')
    return ok(community.value)
  } finally {
    http.close()
    await nats?.close()
  }
}

/** Where no address of the issuer leads anywhere, the broker may. */
async function openNats({ invitation, identity, natsServers, useNkey, name }: JoiningNode): Promise<JoinCaller> {
  const { openJoinCaller } = await import('../mesh/nats/join-client.ts')
  return openJoinCaller({ servers: natsServers, useNkey, identity, name, communityId: invitation.communityId })
}
