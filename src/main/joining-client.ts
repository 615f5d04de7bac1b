/** Joining: a node without a community asks the issuer of its invitation to admit it. */
import { systemClock } from '../core/clock.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { parseHostPort } from '../mesh/discovery/peer-source.ts'
import { JOIN_REQUEST_NAME } from '../mesh/message-gate.ts'
import { MeshHttpClient } from '../mesh/http/http-client.ts'
import { createTlsIdentityFromNodeKey } from '../mesh/identity/self-signed-certificate.ts'
import { parseCommunityDocument, findMemberStanding } from '../mesh/identity/community.ts'
import type { Community } from '../mesh/identity/community.ts'
import { createJoinRequest } from '../mesh/identity/invitation.ts'
import type { Invitation } from '../mesh/identity/invitation.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import type { NatsJoinConnection } from '../mesh/nats/join-connection-client.ts'
import { OutboundCallClient } from '../mesh/outbound-calls.ts'
import type { PeerEndpoint } from '../mesh/transport.ts'

/** The options of a node that joins. It keeps its key and only becomes a member. */
export interface JoiningNodeOptions {
  readonly invitation: Invitation
  readonly identity: NodeIdentity
  readonly name: string
  readonly natsServers: readonly string[]
  readonly useNkey: boolean
}

/** Large enough for a member list of thousands of nodes. The issuer's answer is also limited in time. */
const MAX_ANSWER_BYTES = 4_194_304
const TIMEOUT_MS = 15_000

/** The fault is a sentence for a person. */
export async function joinByInvitation(joining: JoiningNodeOptions): Promise<Result<Community, string>> {
  const { invitation, identity, name } = joining
  const http = new MeshHttpClient({ tls: createTlsIdentityFromNodeKey(identity), maxAnswerBytes: MAX_ANSWER_BYTES })
  const nats = joining.natsServers.length === 0 ? undefined : await openNats(joining)
  try {
    const outbound = new OutboundCallClient({
      identity,
      // The community that this node is about to join; the request is signed for it.
      communityId: () => invitation.communityId,
      transports: { http, nats: nats?.caller },
      clock: systemClock,
    })
    const endpoints = invitation.addresses.flatMap((text): PeerEndpoint[] => {
      const address = parseHostPort(text)
      return address === undefined ? [] : [{ transport: 'http', ...address }]
    })
    const answer = await outbound.requestToJoin(
      { nodeId: invitation.issuer, endpoints: nats === undefined ? endpoints : [...endpoints, { transport: 'nats' }] },
      createJoinRequest(invitation, { identity, name }),
      {
        name: JOIN_REQUEST_NAME,
        communityId: invitation.communityId,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
    )
    if (!answer.ok) return fail(answer.fault.message)
    const community = parseCommunityDocument(answer.value['community'], invitation.communityId)
    if (!community.ok)
      return fail(`The answer is no member list of ${invitation.communityName} (${community.fault.kind}).`)
    // A signed member list that lacks this node would be stored and exclude it from its own mesh, so it is refused.
    if (findMemberStanding(community.value, identity.id).kind !== 'member')
      return fail('The member list does not contain this node.')
    return ok(community.value)
  } finally {
    http.close()
    await nats?.close()
  }
}

/** Used where no address of the issuer can be reached. */
async function openNats({
  invitation,
  identity,
  natsServers,
  useNkey,
  name,
}: JoiningNodeOptions): Promise<NatsJoinConnection> {
  const { openNatsJoinConnection } = await import('../mesh/nats/join-connection-client.ts')
  return openNatsJoinConnection({ servers: natsServers, useNkey, identity, name, communityId: invitation.communityId })
}
