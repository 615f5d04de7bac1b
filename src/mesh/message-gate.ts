/**
 * Message gate: whether a message from another node is accepted, with the cheapest checks first.
 *
 *   of our community? ▸ for us? ▸ recent? ▸ from a member? ▸ under a valid session key? ▸ proven?
 *     ▸ not too many? ▸ new?
 *
 * An accepted message is proven to be a member's own, meant for this node, recent and not received before. Trust levels
 * and the guard decide what the member may do.
 *
 * Pure: time comes from outside.
 */
import type { Caller } from '../bus/call.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatCallTextToSign, toEnvelopeFields } from './mesh-envelope.ts'
import type { MeshEnvelope } from './mesh-envelope.ts'
import { findMemberStanding } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { parseMeshTime, MAX_CLOCK_SKEW_MS } from './identity/mesh-time.ts'
import { isMessageProofValid, isSignatureProof } from './message-proof.ts'
import type { PeerRateLimiter } from './peer-rate-limiter.ts'
import { readMeshRefusalReason, createMeshRefusal } from './mesh-refusal.ts'
import type { MeshRefusalReason } from './mesh-refusal.ts'
import type { ReplayCache } from './replay-cache.ts'
import type { IssuedSessions, MeshSession } from './sessions.ts'

export interface MessageGateDependencies {
  readonly self: string
  readonly community: () => Community | undefined
  readonly sessions: IssuedSessions
  readonly replay: ReplayCache
  /**
   * The ids of messages from nodes that are not members. One sender can claim any number of node ids, so they all share
   * one limit.
   */
  readonly nonMemberReplay: ReplayCache
  readonly rate: PeerRateLimiter
  readonly clock: Clock
}

export interface MessageWithProof {
  readonly envelope: MeshEnvelope
  readonly proof: string
  readonly bodyHash: string
}

export interface MessageAdmission {
  readonly caller: Caller & { readonly kind: 'peer' }
  /** Answers use the same session key, or a signature if the message was signed. */
  readonly session: MeshSession | undefined
  readonly isSigned: boolean
}

/** This request needs no session key, because it creates one; its sender must be a member. */
export const SESSION_REQUEST_NAME = 'mesh.session'
/** This request needs neither session key nor membership: the invitation decides. */
export const JOIN_REQUEST_NAME = 'mesh.join'
/**
 * This request needs neither: a node that this one does not know presents records of this community in which it is a
 * member. A node that was restored from an older copy learns from them which members it has lost.
 */
export const MEMBERSHIP_MERGE_REQUEST_NAME = 'mesh.merge'
const OPEN_QUESTIONS: ReadonlySet<string> = new Set([JOIN_REQUEST_NAME, MEMBERSHIP_MERGE_REQUEST_NAME])
/** The name under which messages of non-members are counted; it is not a node id. */
const NON_MEMBERS = 'a non-member'

export const NO_COMMUNITY_REFUSAL = createMeshRefusal(
  'unauthorized',
  'no-community',
  'This node belongs to no community yet.',
)
export const UNKNOWN_SESSION_REFUSAL = createMeshRefusal(
  'invalid_signature',
  'unknown-session',
  'This session key is not, or no longer, known here.',
)

export function createNonMemberRefusal(
  standing: 'revoked' | 'stranger',
  nodeId: string,
  { name }: Pick<Community, 'name'>,
): Fault {
  return standing === 'revoked'
    ? createMeshRefusal('revoked', 'revoked', `${nodeId} was revoked from ${name}.`)
    : createMeshRefusal('unauthorized', 'stranger', `${nodeId} is not a member of ${name}.`)
}

export function admitMessage(
  sealed: MessageWithProof,
  parts: MessageGateDependencies,
): Result<MessageAdmission, Fault> {
  const { envelope, proof } = sealed
  const { from, capability } = envelope
  const community = parts.community()
  if (community === undefined) return fail(NO_COMMUNITY_REFUSAL)
  const addressed = checkAddress(envelope, community.id, parts)
  if (addressed !== undefined) return fail(addressed)
  const isOpen = OPEN_QUESTIONS.has(capability)
  const standing = findMemberStanding(community, from)
  if (standing.kind === 'revoked' || (standing.kind === 'stranger' && !isOpen))
    return fail(createNonMemberRefusal(standing.kind, from, community))
  const session = envelope.keyId === undefined ? undefined : parts.sessions.find(envelope.keyId)
  if (session === undefined && !isOpen && capability !== SESSION_REQUEST_NAME)
    // A signed message without a valid session could be an old one that is replayed to a node that has restarted.
    return fail(UNKNOWN_SESSION_REFUSAL)
  if (!isMessageProofValid(formatCallTextToSign(toEnvelopeFields(envelope), sealed.bodyHash), proof, { from, session }))
    return fail(
      createMeshRefusal('invalid_signature', 'proof', 'The signature does not belong to this message and sender.'),
    )
  const isMember = standing.kind === 'member'
  const late = checkNew(envelope, isMember, parts)
  if (late !== undefined) return fail(late)
  const level = isMember ? standing.level : 'unknown'
  return ok({ caller: { kind: 'peer', id: from, level }, session, isSigned: isSignatureProof(proof) })
}

function checkAddress(
  { community, to, timestamp }: MeshEnvelope,
  ours: string,
  { self, clock }: MessageGateDependencies,
): Fault | undefined {
  if (community !== ours)
    return createMeshRefusal(
      'unauthorized',
      'foreign-community',
      `This node belongs to another community than ${community}.`,
    )
  if (to !== self) return createMeshRefusal('invalid_signature', 'wrong-recipient', `This message is for ${to}.`)
  const skewMs = Math.abs(clock.now() - (parseMeshTime(timestamp) ?? 0))
  if (skewMs <= MAX_CLOCK_SKEW_MS) return undefined
  const seconds = Math.round(skewMs / 1_000)
  return createMeshRefusal(
    'expired',
    'skew',
    `The message is dated ${seconds} s from now; clocks may differ by ${MAX_CLOCK_SKEW_MS / 1_000} s.`,
  )
}

/**
 * Checked after the proof: an unauthenticated sender must neither use up a member's budget nor make its ids look used.
 */
function checkNew(
  { from, requestId, capability }: MeshEnvelope,
  isMember: boolean,
  parts: MessageGateDependencies,
): Fault | undefined {
  const nowMs = parts.clock.monotonic()
  const tooOften = checkPeerRateLimit({ from: isMember ? from : NON_MEMBERS, capability }, nowMs, parts)
  if (tooOften !== undefined) return tooOften
  const seen = (isMember ? parts.replay : parts.nonMemberReplay).see(from, requestId, nowMs)
  if (seen === 'new') return undefined
  return seen === 'full'
    ? createMeshRefusal('rate_limited', 'rate', 'Too many messages at once.', { retryAfterMs: 1_000 })
    : createMeshRefusal(
        'expired',
        'replayed',
        `The request ${requestId} was received before. Send it again under a new id.`,
      )
}

/** Counts one more call of `capability` by `from`, if it is allowed. */
export function checkPeerRateLimit(
  { from, capability }: Pick<MeshEnvelope, 'from' | 'capability'>,
  nowMs: number,
  { rate }: Pick<MessageGateDependencies, 'rate'>,
): Fault | undefined {
  const waitMs = rate.take(from, capability, nowMs)
  return waitMs > 0
    ? createMeshRefusal('rate_limited', 'rate', `${from} calls ${capability} too often.`, { retryAfterMs: waitMs })
    : undefined
}

/**
 * Reasons with which `admit` refuses a message before it has checked whether it was received before, or because it was.
 */
const NOT_NEW: ReadonlySet<string> = new Set<MeshRefusalReason>([
  'no-community',
  'foreign-community',
  'wrong-recipient',
  'skew',
  'revoked',
  'stranger',
  'unknown-session',
  'proof',
  'rate',
  'replayed',
])

/** For a message that was sent twice: whether this refusal of the second leaves open what happened to the first. */
export function isFirstSendOutcomeUnknown(fault: Fault): boolean {
  return NOT_NEW.has(readMeshRefusalReason(fault) ?? '')
}
