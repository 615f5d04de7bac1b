/**
 * Community: the members of a community with their levels, and the revoked ones (CONTRACT § 6).
 *
 *   root key ──names──▶ anchors ──sign──▶ admissions, revocations        a set: merged by union, in any order
 *
 * The community's id is its root key. Two nodes with the same records have the same members, whatever arrived first
 * (ADR 230). Records are only added, never removed: a node is a member until a revocation.
 *
 * Which records count is in membership-rules.ts.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { z } from 'zod'
import { toHex, toUtf8 } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import {
  signAnchorCertificate,
  formatFirstSchemaIssue,
  MAX_MEMBERSHIP_RECORDS,
  parseMembershipRecord,
  signMembershipRecord,
} from './membership-record.ts'
import type { MembershipLevel, MembershipRecord, MembershipRecordFault } from './membership-record.ts'
import { deriveMembership, findSignerForks, listCertifiedAnchors } from './membership-rules.ts'
import type { DerivedMembership, SignerFork } from './membership-rules.ts'
import { isNodeId } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { formatMeshTime } from './mesh-time.ts'

export interface Community extends DerivedMembership {
  readonly id: string
  readonly name: string
  /** The number of records, which only grows. */
  readonly revision: number
  /** Records by digest. */
  readonly records: ReadonlyMap<string, MembershipRecord>
  readonly forks: readonly SignerFork[]
  /** The document as it is sent to other nodes. */
  readonly document: JsonObject
  /** The digest of the set of records. */
  readonly digest: string
}

export type CommunityFault =
  | MembershipRecordFault
  /** All of its records are known already. */
  | { readonly kind: 'not-newer' }
  | { readonly kind: 'too-many' }
  | { readonly kind: 'no-authority'; readonly nodeId: string }

const wireCommunity = z.strictObject({
  type: z.literal('community-records'),
  version: z.literal(2),
  community_id: z.string().refine(isNodeId, 'not a community id'),
  revision: z.int().min(1),
  records: z.array(z.unknown()).min(1).max(MAX_MEMBERSHIP_RECORDS),
})

/** Creates the first record, whose founder is the first anchor. */
export function createCommunity(facts: {
  readonly name: string
  readonly root: NodeIdentity
  readonly founder: { readonly nodeId: string; readonly name: string }
  readonly nowMs: number
}): Community {
  const { root, founder, nowMs } = facts
  const at = formatMeshTime(nowMs)
  const founding = signMembershipRecord(
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
          certificate: signAnchorCertificate(root, founder.nodeId),
        },
      ],
      revoked: [],
      signed_by: root.id,
    },
    root,
  )
  return communityFrom(root.id, [founding])
}

/** The root or an anchor, which may sign records. */
export interface CommunitySigningIdentities {
  readonly self: NodeIdentity
  readonly root: NodeIdentity | undefined
}

interface SigningContext {
  readonly authority: CommunitySigningIdentities
  readonly nowMs: number
}

export function admitMember(
  community: Community,
  member: {
    readonly nodeId: string
    readonly name: string
    readonly level: MembershipLevel
    readonly invitation?: string | undefined
  },
  { authority, nowMs }: SigningContext,
): Result<Community, CommunityFault> {
  const { self, root } = authority
  if (member.level === 'anchor' && root?.id !== community.id) return fail({ kind: 'no-authority', nodeId: self.id })
  // Never earlier than the latest record: a clock that was set back must not make the second use of an invitation look
  // like the first.
  const latest = [...community.members.values()].reduce((last, { addedAt }) => (addedAt > last ? addedAt : last), '')
  const now = formatMeshTime(nowMs)
  return withRecord(community, authority, {
    type: 'admission',
    node_id: member.nodeId,
    name: member.name,
    level: member.level,
    added_at: now > latest ? now : latest,
    ...(member.invitation === undefined ? {} : { invitation: member.invitation }),
  })
}

/**
 * Revokes a member. If it is an anchor, its known decisions stay valid; records of it that appear later may be signed
 * by a thief of its key, and do not count.
 */
export function revokeMember(
  community: Community,
  nodeId: string,
  { authority, nowMs }: SigningContext,
): Result<Community, CommunityFault> {
  const keeps = [...community.records.values()].filter(({ signer }) => signer === nodeId).map(({ digest }) => digest)
  return withRecord(community, authority, {
    type: 'revocation',
    node_id: nodeId,
    revoked_at: formatMeshTime(nowMs),
    keeps: keeps.toSorted(),
  })
}

/** Parses a document from another node on its own: every record must be proven, and signed by a node that may. */
export function parseCommunityDocument(value: unknown, id: string): Result<Community, CommunityFault> {
  // A list of version 1 is a set of one record.
  const isList = isJsonObject(value) && value['type'] === 'community-manifest'
  const parsed = isList ? ok({ community_id: id, records: [value] }) : parseRecordSet(value)
  if (!parsed.ok) return fail({ kind: 'malformed', reason: parsed.fault })
  if (parsed.value.community_id !== id) return fail({ kind: 'foreign', id: parsed.value.community_id })
  const records: MembershipRecord[] = []
  for (const each of parsed.value.records) {
    const record = parseMembershipRecord(each, id)
    if (!record.ok) return record
    records.push(record.value)
  }
  if (records.every(({ name }) => name === undefined)) return fail({ kind: 'malformed', reason: 'nobody founded it' })
  const anchors = listCertifiedAnchors(records)
  for (const { signer } of records)
    if (signer !== id && !anchors.has(signer)) return fail({ kind: 'no-authority', nodeId: signer })
  return ok(communityFrom(id, records))
}

/** The union of both. `not-newer`: all records are known already. */
export function mergeCommunities(held: Community, next: Community): Result<Community, CommunityFault> {
  if (held.id !== next.id) return fail({ kind: 'foreign', id: next.id })
  const fresh = [...next.records.values()].filter(({ digest }) => !held.records.has(digest))
  if (fresh.length === 0) return fail({ kind: 'not-newer' })
  if (held.records.size + fresh.length > MAX_MEMBERSHIP_RECORDS) return fail({ kind: 'too-many' })
  return ok(communityFrom(held.id, [...held.records.values(), ...fresh]))
}

/**
 * An issuer that was restored from an older copy may have admitted a second node with one invitation. When it learns of
 * the first admission, it revokes the second with its own signature.
 */
export function revokeMembersByReusedInvitation(community: Community, context: SigningContext): Community {
  const { self, root } = context.authority
  let current = community
  for (const [, ...later] of community.invitations.values())
    for (const { nodeId, signer } of later)
      if ((signer === self.id || signer === root?.id) && current.members.has(nodeId)) {
        const revoked = revokeMember(current, nodeId, context)
        if (revoked.ok) current = revoked.value
      }
  return current
}

export type MemberStanding =
  | { readonly kind: 'member'; readonly level: MembershipLevel }
  | { readonly kind: 'revoked' }
  | { readonly kind: 'stranger' }

export function findMemberStanding(community: Community, nodeId: string): MemberStanding {
  if (community.revoked.has(nodeId)) return { kind: 'revoked' }
  const member = community.members.get(nodeId)
  return member === undefined ? { kind: 'stranger' } : { kind: 'member', level: member.level }
}

export function mayAdmitMembers(community: Community, { self, root }: CommunitySigningIdentities): boolean {
  return root?.id === community.id || community.members.get(self.id)?.level === 'anchor'
}

type NewRecord =
  | {
      readonly type: 'admission'
      readonly node_id: string
      readonly name: string
      readonly level: MembershipLevel
      readonly added_at: string
      readonly invitation?: string
    }
  | { readonly type: 'revocation'; readonly node_id: string; readonly revoked_at: string; readonly keeps: string[] }

function withRecord(
  community: Community,
  authority: CommunitySigningIdentities,
  fresh: NewRecord,
): Result<Community, CommunityFault> {
  if (!mayAdmitMembers(community, authority)) return fail({ kind: 'no-authority', nodeId: authority.self.id })
  if (community.records.size >= MAX_MEMBERSHIP_RECORDS) return fail({ kind: 'too-many' })
  const signer = authority.root?.id === community.id ? authority.root : authority.self
  const records = [...community.records.values()]
  const number =
    1 + records.reduce((last, each) => (each.signer === signer.id ? Math.max(last, each.number ?? 0) : last), 0)
  const record = signMembershipRecord(
    { version: 1, community_id: community.id, number, signed_by: signer.id, ...fresh },
    signer,
  )
  return ok(communityFrom(community.id, [...records, record]))
}

/** Gives the same result for the same records, in whatever order. */
function communityFrom(id: string, unsorted: readonly MembershipRecord[]): Community {
  const byDigest = new Map(unsorted.map((record) => [record.digest, record]))
  const records = new Map([...byDigest].toSorted(([left], [right]) => (left < right ? -1 : 1)))
  const founding = [...records.values()].find(({ name, signer }) => name !== undefined && signer === id)
  const revision = records.size
  return {
    id,
    name: (founding ?? [...records.values()].find(({ name }) => name !== undefined))?.name ?? '',
    revision,
    ...deriveMembership(id, [...records.values()]),
    records,
    forks: findSignerForks([...records.values()]),
    document: {
      type: 'community-records',
      version: 2,
      community_id: id,
      revision,
      records: [...records.values()].map(({ document }) => document),
    },
    digest: toHex(blake3(toUtf8([...records.keys()].join('\n')))),
  }
}

function parseRecordSet(
  value: unknown,
): Result<Pick<z.output<typeof wireCommunity>, 'community_id' | 'records'>, string> {
  const parsed = wireCommunity.safeParse(value)
  return parsed.success ? ok(parsed.data) : fail(formatFirstSchemaIssue(parsed.error))
}
