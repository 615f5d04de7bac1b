/**
 * Packet gate: whether a packet of calls is accepted. The checks are those of the message gate, made once for all its
 * calls; the checks of each call (rate, replay) come later.
 *
 *   a session of ours? ▸ its peer still a member? ▸ over that peer's own connection? ▸ proven? ▸ recent?
 *
 * Sender and receiver follow from the session: this node gave it to that peer, for calls to itself.
 *
 * Pure: time comes from outside.
 */
import type { Fault } from '../../core/fault.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { createNonMemberRefusal, NO_COMMUNITY_REFUSAL, UNKNOWN_SESSION_REFUSAL } from '../message-gate.ts'
import type { MessageAdmission, MessageGateDependencies } from '../message-gate.ts'
import { findMemberStanding } from '../identity/community.ts'
import { MAX_CLOCK_SKEW_MS } from '../identity/mesh-time.ts'
import { createMeshRefusal } from '../mesh-refusal.ts'
import type { MeshSession } from '../sessions.ts'
import type { Packet } from './packet.ts'
import { matchesExpectedPacketProof } from './packet-proof.ts'

export interface AdmittedPacket {
  readonly session: MeshSession
  readonly caller: MessageAdmission['caller']
  /** The calls as they were received, not validated yet. */
  readonly calls: readonly unknown[]
}

/** `shownBy` is the node at the other end of a direct connection, if there is one. */
export function admitPacket(
  packet: Packet,
  shownBy: string | undefined,
  { community: communityOf, sessions, clock }: MessageGateDependencies,
): Result<AdmittedPacket, Fault> {
  const { keyId } = packet.head
  const community = communityOf()
  if (community === undefined) return fail(NO_COMMUNITY_REFUSAL)
  const session = sessions.find(keyId)
  if (session === undefined) return fail(UNKNOWN_SESSION_REFUSAL)
  const { peer } = session
  const standing = findMemberStanding(community, peer)
  if (standing.kind !== 'member') return fail(createNonMemberRefusal(standing.kind, peer, community))
  if ((shownBy !== undefined && shownBy !== peer) || !matchesExpectedPacketProof('call', packet, session))
    return fail(createMeshRefusal('invalid_signature', 'proof', 'The proof does not belong to this packet and sender.'))
  const payload = parseJsonOrUndefined(packet.payload)
  const [sentMs, ...calls] = Array.isArray(payload) ? payload : []
  if (typeof sentMs !== 'number')
    return fail(createMeshRefusal('bad_request', 'not-json', 'The packet is not a list of calls.'))
  const skewMs = Math.abs(clock.now() - sentMs)
  if (!(skewMs <= MAX_CLOCK_SKEW_MS))
    return fail(createMeshRefusal('expired', 'skew', `The packet is dated ${Math.round(skewMs / 1_000)} s from now.`))
  return ok({ session, caller: { kind: 'peer', id: peer, level: standing.level }, calls })
}
