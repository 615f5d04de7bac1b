/**
 * Packet gate: whether a packet of calls comes in at all. The questions are the gate's, asked once for all its calls;
 * what has to be asked of each (how often? seen before?) comes after.
 *
 *   a session of ours? ▸ its peer still a member? ▸ over that peer's own connection? ▸ proven? ▸ of about now?
 *
 * Whom it is from and for follows from the session: this node has given it to that peer, for calls to itself.
 *
 * Pure: time comes from outside.
 */
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { AdmittedMessage, GateParts } from '../gate.ts'
import { findMemberStanding } from '../identity/community.ts'
import { SKEW_MS } from '../identity/time.ts'
import { meshRefusal } from '../refusal.ts'
import type { MeshSession } from '../sessions.ts'
import type { Packet } from './packet.ts'
import { isPacketProven } from './packet-proof.ts'

export interface AdmittedPacket {
  readonly session: MeshSession
  readonly caller: AdmittedMessage['caller']
  /** As they came, of nobody knows what shape. */
  readonly calls: readonly unknown[]
}

/** `shownBy` is the node at the other end of a direct connection, where there is one. */
export function admitPacket(
  packet: Packet,
  shownBy: string | undefined,
  { community: communityOf, sessions, clock }: GateParts,
): Result<AdmittedPacket, Fault> {
  const { keyId } = packet.head
  const community = communityOf()
  if (community === undefined)
    return fail(meshRefusal('unauthorized', 'no-community', 'This node belongs to no community yet.'))
  const session = sessions.find(keyId)
  if (session === undefined)
    return fail(
      meshRefusal('invalid_signature', 'unknown-session', 'This session key is not, or no longer, known here.'),
    )
  const { peer } = session
  const standing = findMemberStanding(community, peer)
  if (standing.kind === 'revoked')
    return fail(meshRefusal('revoked', 'revoked', `${peer} was revoked from ${community.name}.`))
  if (standing.kind === 'stranger')
    return fail(meshRefusal('unauthorized', 'stranger', `${peer} is no member of ${community.name}.`))
  if ((shownBy !== undefined && shownBy !== peer) || !isPacketProven('call', packet, session))
    return fail(meshRefusal('invalid_signature', 'proof', 'The proof does not belong to this packet and sender.'))
  const [sentMs, ...calls] = listOf(packet.payload)
  if (typeof sentMs !== 'number') return fail(meshRefusal('bad_request', 'not-json', 'The packet is no list of calls.'))
  const skewMs = Math.abs(clock.now() - sentMs)
  if (!(skewMs <= SKEW_MS))
    return fail(meshRefusal('expired', 'skew', `The packet is dated ${Math.round(skewMs / 1_000)} s from now.`))
  return ok({ session, caller: { kind: 'peer', id: peer, level: standing.level }, calls })
}

function listOf(payload: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(payload)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
