/**
 * Community: who belongs together, at which level, and who no longer does (CONTRACT § 6).
 *
 *   root key ──certifies──▶ anchors ──sign──▶ revision 1, 2, 3 … of the member list
 *
 * The community's id is its root key. A revision is signed by the root or by an anchor that the root certified, so
 * whoever knows the id can judge any revision without having seen the ones before. Between revisions the number grows,
 * in steps that leave numbers for everybody after, and a revocation is for ever unless the root itself takes it back.
 * A list in which the root revokes an anchor comes before all that know it as one, whatever their numbers (ADR 88).
 *
 * Pure: time is an argument.
 */
import { z } from 'zod'
import { hex, utf8 } from '../../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { blake3 } from '@noble/hashes/blake3.js'
import { isNodeId, signText, verifyText } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { isSignedBy, signDocument } from './signed-document.ts'
import { timeText } from './time.ts'

export type Level = 'member' | 'trusted' | 'anchor'

export interface Member {
  readonly nodeId: string
  readonly name: string
  readonly level: Level
  readonly addedAt: string
  readonly addedBy: string
  /** The root's word that this is an anchor; anchors only. */
  readonly certificate: string | undefined
}

export interface Community {
  readonly id: string
  readonly name: string
  readonly revision: number
  readonly members: ReadonlyMap<string, Member>
  readonly revoked: ReadonlyMap<string, string>
  readonly signedBy: string
  /** As it travels. */
  readonly document: JsonObject
  /** Tells two revisions of one number apart. */
  readonly digest: string
}

export type CommunityFault =
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'foreign'; readonly id: string }
  | { readonly kind: 'bad-signature' }
  | { readonly kind: 'not-newer' }
  /** Its number is too much higher than that of the list that is held, and it is not signed by the root. */
  | { readonly kind: 'too-far-ahead'; readonly revision: number }
  /** It forgets a revocation and is not signed by the root. */
  | { readonly kind: 'forgets-revocation'; readonly nodeId: string }
  | { readonly kind: 'no-authority'; readonly nodeId: string }

const MAX_MEMBERS = 4_096
/** Numbers end at 2^53: in steps of this size nobody gets there. A node may miss as many changes and still catch up. */
const MAX_STEP = 1_000
/** The root takes part in no race beyond this number, so that others have enough left above its own. */
const MAX_ANSWERED = 1e15

const wireCommunity = z.object({
  type: z.literal('community-manifest'),
  version: z.literal(1),
  community_id: z.string().refine(isNodeId, 'not a community id'),
  name: z.string().min(1).max(64),
  created_at: z.string().max(32),
  revision: z.int().min(1),
  members: z
    .array(
      z.object({
        node_id: z.string().refine(isNodeId, 'not a node id'),
        name: z.string().min(1).max(64),
        level: z.enum(['member', 'trusted', 'anchor']),
        added_at: z.string().max(32),
        added_by: z.string().max(64),
        certificate: z.string().max(128).exactOptional(),
      }),
    )
    .max(MAX_MEMBERS),
  revoked: z
    .array(z.object({ node_id: z.string().refine(isNodeId, 'not a node id'), revoked_at: z.string().max(32) }))
    .max(MAX_MEMBERS),
  signed_by: z.string().refine(isNodeId, 'not a node id'),
  signature: z.string().max(128),
})

type Wire = Omit<z.output<typeof wireCommunity>, 'signature'>

/** The first revision: its founder is the first anchor. */
export function foundCommunity(facts: {
  readonly name: string
  readonly root: NodeIdentity
  readonly founder: { readonly nodeId: string; readonly name: string }
  readonly nowMs: number
}): Community {
  const { root, founder, nowMs } = facts
  const at = timeText(nowMs)
  return seal(
    {
      type: 'community-manifest',
      version: 1,
      community_id: root.id,
      name: facts.name,
      created_at: at,
      revision: 1,
      members: [
        {
          node_id: founder.nodeId,
          name: founder.name,
          level: 'anchor',
          added_at: at,
          added_by: root.id,
          certificate: certify(root, founder.nodeId),
        },
      ],
      revoked: [],
      signed_by: root.id,
    },
    root,
  )
}

/** Who may sign: the root itself, or an anchor. */
export interface Authority {
  readonly self: NodeIdentity
  readonly root: NodeIdentity | undefined
}

export function withMember(
  community: Community,
  member: { readonly nodeId: string; readonly name: string; readonly level: Level },
  { authority, nowMs }: { readonly authority: Authority; readonly nowMs: number },
): Result<Community, CommunityFault> {
  const { self, root } = authority
  if (member.level === 'anchor' && root?.id !== community.id) return fail({ kind: 'no-authority', nodeId: self.id })
  return revised(community, authority, (wire) => ({
    ...wire,
    members: [
      ...wire.members.filter(({ node_id: id }) => id !== member.nodeId),
      {
        node_id: member.nodeId,
        name: member.name,
        level: member.level,
        added_at: timeText(nowMs),
        added_by: self.id,
        ...(member.level === 'anchor' && root !== undefined ? { certificate: certify(root, member.nodeId) } : {}),
      },
    ],
  }))
}

export function withoutMember(
  community: Community,
  nodeId: string,
  { authority, nowMs }: { readonly authority: Authority; readonly nowMs: number },
): Result<Community, CommunityFault> {
  return revised(community, authority, (wire) => ({
    ...wire,
    members: wire.members.filter(({ node_id: id }) => id !== nodeId),
    revoked: [
      ...wire.revoked.filter(({ node_id: id }) => id !== nodeId),
      { node_id: nodeId, revoked_at: timeText(nowMs) },
    ],
  }))
}

/** What came from elsewhere, judged by itself: well-formed, of this community, signed by somebody who may. */
export function readCommunity(value: unknown, id: string): Result<Community, CommunityFault> {
  const parsed = wireCommunity.safeParse(value)
  if (!parsed.success || !isJsonObject(value)) {
    const issue = parsed.error?.issues[0]
    return fail({ kind: 'malformed', reason: `${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}` })
  }
  if (parsed.data.community_id !== id) return fail({ kind: 'foreign', id: parsed.data.community_id })
  const community = communityOf(parsed.data, value)
  const { signedBy } = community
  // Uncertified anchors would let any signer appoint signers.
  for (const { nodeId, level, certificate } of community.members.values())
    if (level === 'anchor' && !isCertified(id, nodeId, certificate)) return fail({ kind: 'bad-signature' })
  const isAnchor = community.members.get(signedBy)?.level === 'anchor' && !community.revoked.has(signedBy)
  if (signedBy !== id && !isAnchor) return fail({ kind: 'no-authority', nodeId: signedBy })
  return isSignedBy(signedBy, value) ? ok(community) : fail({ kind: 'bad-signature' })
}

/** Whether a revision that was judged by itself may replace the one that is held. */
export function supersede(held: Community, next: Community): Result<Community, CommunityFault> {
  if (judges(next, held)) return ok(next)
  const isNewer = next.revision > held.revision || (next.revision === held.revision && next.digest > held.digest)
  if (!isNewer) return fail({ kind: 'not-newer' })
  if (next.signedBy === held.id) return ok(next)
  if (held.revoked.has(next.signedBy)) return fail({ kind: 'no-authority', nodeId: next.signedBy })
  if (next.revision - held.revision > MAX_STEP) return fail({ kind: 'too-far-ahead', revision: next.revision })
  for (const nodeId of held.revoked.keys())
    if (!next.revoked.has(nodeId)) return fail({ kind: 'forgets-revocation', nodeId })
  return ok(next)
}

/**
 * Two anchors may sign the same number at the same moment; everybody then takes the one with the larger digest. The
 * anchor whose decisions are lost by that makes them once more, on top of the winner.
 */
export function reapply(
  lost: Community,
  winner: Community,
  { authority, nowMs }: { readonly authority: Authority; readonly nowMs: number },
): Community | undefined {
  // Whoever the root has revoked may have written anything into the lost list, in anybody's name. What is kept of it
  // can only lock out, and never an anchor: who is one is for the root to say.
  const isJudged = judges(winner, lost)
  let current = winner
  for (const nodeId of lost.revoked.keys())
    if (!current.revoked.has(nodeId) && !(isJudged && current.members.get(nodeId)?.level === 'anchor'))
      current = orSame(current, withoutMember(current, nodeId, { authority, nowMs }))
  for (const member of isJudged ? [] : lost.members.values())
    if (
      member.addedBy === authority.self.id &&
      !current.members.has(member.nodeId) &&
      !current.revoked.has(member.nodeId)
    )
      current = orSame(current, withMember(current, member, { authority, nowMs }))
  return current === winner ? undefined : current
}

/**
 * The root's answer to a list with a higher number that had to be refused: its own once more, with a number above that
 * one, since whoever took the other list does not look at lower numbers.
 */
export function outnumber(held: Community, refused: Community, { root }: Authority): Community | undefined {
  if (root?.id !== held.id || refused.revision < held.revision || refused.revision > MAX_ANSWERED) return undefined
  const { signature: _, ...wire } = wireCommunity.parse(held.document)
  return seal({ ...wire, revision: refused.revision + 1, signed_by: root.id }, root)
}

/** Whether the root revokes an anchor that `before` still knows as one: then `before` may be that anchor's work. */
function judges(next: Community, before: Community): boolean {
  if (next.signedBy !== next.id) return false
  for (const { nodeId, level } of before.members.values())
    if (level === 'anchor' && next.revoked.has(nodeId)) return true
  return false
}

export type Standing =
  | { readonly kind: 'member'; readonly level: Level }
  | { readonly kind: 'revoked' }
  | { readonly kind: 'stranger' }

export function standingOf(community: Community, nodeId: string): Standing {
  if (community.revoked.has(nodeId)) return { kind: 'revoked' }
  const member = community.members.get(nodeId)
  return member === undefined ? { kind: 'stranger' } : { kind: 'member', level: member.level }
}

export function mayDecide(community: Community, { self, root }: Authority): boolean {
  if (root?.id === community.id) return true
  return community.members.get(self.id)?.level === 'anchor' && !community.revoked.has(self.id)
}

function revised(
  community: Community,
  authority: Authority,
  change: (wire: Wire) => Wire,
): Result<Community, CommunityFault> {
  if (!mayDecide(community, authority)) return fail({ kind: 'no-authority', nodeId: authority.self.id })
  const { signature: _, ...wire } = wireCommunity.parse(community.document)
  const signer = authority.root?.id === community.id ? authority.root : authority.self
  return ok(seal({ ...change(wire), revision: wire.revision + 1, signed_by: signer.id }, signer))
}

function seal(wire: Wire, signer: NodeIdentity): Community {
  return communityOf(wire, signDocument(wire, signer))
}

function communityOf(wire: Wire, document: JsonObject): Community {
  const revoked = new Map(wire.revoked.map((row) => [row.node_id, row.revoked_at]))
  const members = wire.members
    .filter((row) => !revoked.has(row.node_id))
    .map((row) => ({
      nodeId: row.node_id,
      name: row.name,
      level: row.level,
      addedAt: row.added_at,
      addedBy: row.added_by,
      certificate: row.certificate,
    }))
  return {
    id: wire.community_id,
    name: wire.name,
    revision: wire.revision,
    members: new Map(members.map((member) => [member.nodeId, member])),
    revoked,
    signedBy: wire.signed_by,
    document,
    digest: digestOf(document),
  }
}

function digestOf(document: JsonObject): string {
  try {
    return hex(blake3(utf8(canonicalJson(document))))
  } catch {
    // It has no canonical form, so its signature cannot hold either.
    return ''
  }
}

function certify(root: NodeIdentity, nodeId: string): string {
  return signText(root, certificateText(root.id, nodeId))
}

function isCertified(rootId: string, nodeId: string, certificate: string | undefined): boolean {
  return certificate !== undefined && verifyText(rootId, certificateText(rootId, nodeId), certificate)
}

function certificateText(communityId: string, nodeId: string): string {
  return canonicalJson({ type: 'anchor-certificate', community_id: communityId, node_id: nodeId })
}

function orSame(current: Community, next: Result<Community, CommunityFault>): Community {
  return next.ok ? next.value : current
}
