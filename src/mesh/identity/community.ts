/**
 * Community: who belongs together, at which level, and who no longer does (CONTRACT § 6).
 *
 *   root key ──names──▶ anchors ──sign──▶ admissions, revocations        a set: merged by union, in any order
 *
 * The community's id is its root key. Two nodes that hold the same records hold the same members, whatever came first
 * (ADR 230), and records only ever come to be more: a member is one until a revocation says otherwise.
 *
 *   1. The root's records count. Whom the root named an anchor is one.
 *   2. An anchor's revocation of an anchor counts unless the root revoked the signer and does not keep it.
 *   3. An anchor's other records count unless the signer was revoked and no counting revocation keeps them; where the
 *      root revoked it, only what the root keeps.
 *
 * Pure: time is an argument.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { z } from 'zod'
import { toHex, toUtf8 } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import {
  createAnchorCertificate,
  MAX_MEMBERSHIP_RECORDS,
  readMembershipRecord,
  signMembershipRecord,
} from './membership-record.ts'
import type { MemberAdmission, MembershipLevel, MembershipRecord, MembershipRecordFault } from './membership-record.ts'
import { isNodeId } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { formatMeshTime } from './mesh-time.ts'

export type CommunityMember = Omit<MemberAdmission, 'isCertified' | 'invitation'>

/** One signer, one number, several records: it was put back to an older copy, or somebody else has its key. */
export interface SignerFork {
  readonly signer: string
  readonly number: number
  /** Sorted. */
  readonly digests: readonly string[]
}

export interface UsedInvitation {
  readonly nodeId: string
  readonly addedAt: string
  readonly signer: string
}

export interface Community {
  readonly id: string
  readonly name: string
  /** How many records there are: it only grows. */
  readonly revision: number
  readonly members: ReadonlyMap<string, CommunityMember>
  /** Node to time. */
  readonly revoked: ReadonlyMap<string, string>
  /** By digest. */
  readonly records: ReadonlyMap<string, MembershipRecord>
  readonly forks: readonly SignerFork[]
  /** By invitation; the first is the one that was first. */
  readonly invitations: ReadonlyMap<string, readonly UsedInvitation[]>
  /** As it travels. */
  readonly document: JsonObject
  /** Of the set of records. */
  readonly digest: string
}

export type CommunityFault =
  | MembershipRecordFault
  /** Every record of it is held. */
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

/** The first record: its founder is the first anchor. */
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
          certificate: createAnchorCertificate(root, founder.nodeId),
        },
      ],
      revoked: [],
      signed_by: root.id,
    },
    root,
  )
  return communityFrom(root.id, [founding])
}

/** Who may sign: the root itself, or an anchor. */
export interface CommunitySigner {
  readonly self: NodeIdentity
  readonly root: NodeIdentity | undefined
}

interface SigningContext {
  readonly authority: CommunitySigner
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
  // Never before what is recorded: a clock that was set back must not make the second use of an invitation the first.
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

/** Of an anchor: what it has decided so far stands. What turns up later was signed by whoever has its key. */
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

/** What came from elsewhere, judged by itself: every record proven, and signed by somebody who may. */
export function readCommunity(value: unknown, id: string): Result<Community, CommunityFault> {
  // A list of version 1 is a set of one record.
  const isList = isJsonObject(value) && value['type'] === 'community-manifest'
  const parsed = isList ? { success: true as const, data: { community_id: id, records: [value] } } : safeParse(value)
  if (!parsed.success) return fail({ kind: 'malformed', reason: parsed.reason })
  if (parsed.data.community_id !== id) return fail({ kind: 'foreign', id: parsed.data.community_id })
  const records: MembershipRecord[] = []
  for (const each of parsed.data.records) {
    const record = readMembershipRecord(each, id)
    if (!record.ok) return record
    records.push(record.value)
  }
  if (records.every(({ name }) => name === undefined)) return fail({ kind: 'malformed', reason: 'nobody founded it' })
  const anchors = namedAnchors(records)
  for (const { signer } of records)
    if (signer !== id && !anchors.has(signer)) return fail({ kind: 'no-authority', nodeId: signer })
  return ok(communityFrom(id, records))
}

/** The union of both. `not-newer`: all of it is held already. */
export function mergeCommunities(held: Community, next: Community): Result<Community, CommunityFault> {
  if (held.id !== next.id) return fail({ kind: 'foreign', id: next.id })
  const fresh = [...next.records.values()].filter(({ digest }) => !held.records.has(digest))
  if (fresh.length === 0) return fail({ kind: 'not-newer' })
  if (held.records.size + fresh.length > MAX_MEMBERSHIP_RECORDS) return fail({ kind: 'too-many' })
  return ok(communityFrom(held.id, [...held.records.values(), ...fresh]))
}

/**
 * An issuer that was put back to an older copy may have let a second node in with one invitation. When it hears of the
 * first it revokes the second, by its own signature.
 */
export function revokeReusedInvitations(community: Community, context: SigningContext): Community {
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

export function mayAdmitMembers(community: Community, { self, root }: CommunitySigner): boolean {
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
  authority: CommunitySigner,
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

/** The same for the same records, whatever their order. */
function communityFrom(id: string, unsorted: readonly MembershipRecord[]): Community {
  const byDigest = new Map(unsorted.map((record) => [record.digest, record]))
  const records = new Map([...byDigest].toSorted(([left], [right]) => (left < right ? -1 : 1)))
  const { members, revoked, invitations } = countRecords(id, [...records.values()])
  const founding = [...records.values()].find(({ name, signer }) => name !== undefined && signer === id)
  const revision = records.size
  return {
    id,
    name: (founding ?? [...records.values()].find(({ name }) => name !== undefined))?.name ?? '',
    revision,
    members,
    revoked,
    records,
    forks: findForks([...records.values()]),
    invitations,
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

/** Rules 1 to 3 of the header. */
function countRecords(
  rootId: string,
  records: readonly MembershipRecord[],
): Pick<Community, 'members' | 'revoked' | 'invitations'> {
  const anchors = namedAnchors(records)
  const byRoot = keptBy(records.filter(({ signer }) => signer === rootId))
  const isKeptByRoot = ({ signer, digest }: MembershipRecord): boolean => byRoot.get(signer)?.has(digest) !== false
  const amongAnchors = records.filter((record) => anchors.has(record.signer) && isKeptByRoot(record))
  const revokedAnchors = new Set(
    [...byRoot.keys(), ...amongAnchors.flatMap(({ revocations }) => [...revocations.keys()])].filter((nodeId) =>
      anchors.has(nodeId),
    ),
  )
  const vouched = vouchedRecords(amongAnchors, { revokedAnchors, byRoot })
  const counts = ({ signer, digest }: MembershipRecord): boolean => signer === rootId || vouched.has(digest)
  const standing = records.filter(counts)
  const revoked = new Map<string, string>()
  for (const record of records)
    for (const [nodeId, at] of record.revocations) {
      const isAmongAnchors = anchors.has(nodeId) && anchors.has(record.signer) && isKeptByRoot(record)
      if (isAmongAnchors || counts(record)) revoked.set(nodeId, earlier(revoked.get(nodeId), at))
    }
  const members = new Map<string, CommunityMember>()
  const invitations = new Map<string, (UsedInvitation & { readonly digest: string })[]>()
  const newest = new Map<string, { readonly member: CommunityMember; readonly digest: string }>()
  for (const { digest, signer, admissions } of standing)
    for (const { isCertified, invitation, ...member } of admissions) {
      if (invitation !== undefined)
        invitations.set(invitation, [
          ...(invitations.get(invitation) ?? []),
          { nodeId: member.nodeId, addedAt: member.addedAt, signer, digest },
        ])
      // An anchor is one by the root's word, which no other admission takes back.
      if (anchors.has(member.nodeId) && !isCertified) continue
      const before = newest.get(member.nodeId)
      if (
        before === undefined ||
        isLater({ at: member.addedAt, digest }, { at: before.member.addedAt, digest: before.digest })
      )
        newest.set(member.nodeId, { member, digest })
    }
  const inOrder = [...newest.values()].toSorted(({ member: left }, { member: right }) =>
    isLater({ at: left.addedAt, digest: left.nodeId }, { at: right.addedAt, digest: right.nodeId }) ? 1 : -1,
  )
  for (const { member } of inOrder) if (!revoked.has(member.nodeId)) members.set(member.nodeId, member)
  return { members, revoked, invitations: new Map([...invitations].map(([id, uses]) => [id, usesInOrder(uses)])) }
}

/** Node to the digests that stand of what it signed, by those who revoked it. */
function keptBy(records: readonly MembershipRecord[]): ReadonlyMap<string, ReadonlySet<string>> {
  const kept = new Map<string, ReadonlySet<string>>()
  for (const { revocations, keeps } of records)
    for (const nodeId of revocations.keys()) kept.set(nodeId, new Set([...(kept.get(nodeId) ?? []), ...keeps]))
  return kept
}

/**
 * The anchors' records that count: from those of anchors that nobody revoked to what they keep of the others, step by
 * step, so that two revoked anchors cannot vouch for each other, nor one for itself.
 */
function vouchedRecords(
  records: readonly MembershipRecord[],
  {
    revokedAnchors,
    byRoot,
  }: { readonly revokedAnchors: ReadonlySet<string>; readonly byRoot: ReadonlyMap<string, ReadonlySet<string>> },
): ReadonlySet<string> {
  // `records` has of anchors that the root revoked only what the root keeps.
  const isGrounded = ({ signer }: MembershipRecord): boolean => byRoot.has(signer) || !revokedAnchors.has(signer)
  const vouched = new Set(records.filter(isGrounded).map(({ digest }) => digest))
  for (let before = -1; before < vouched.size;) {
    before = vouched.size
    const kept = keptBy(records.filter(({ digest }) => vouched.has(digest)))
    for (const { signer, digest } of records) if (kept.get(signer)?.has(digest) === true) vouched.add(digest)
  }
  return vouched
}

/** One use per node, the first one first. */
function usesInOrder(uses: readonly (UsedInvitation & { readonly digest: string })[]): readonly UsedInvitation[] {
  const sorted = uses.toSorted((left, right) =>
    isLater({ at: left.addedAt, digest: left.digest }, { at: right.addedAt, digest: right.digest }) ? 1 : -1,
  )
  const byNode = new Map<string, UsedInvitation>()
  for (const { digest: _, ...use } of sorted) if (!byNode.has(use.nodeId)) byNode.set(use.nodeId, use)
  return [...byNode.values()]
}

function findForks(records: readonly MembershipRecord[]): readonly SignerFork[] {
  const byNumber = new Map<string, MembershipRecord[]>()
  for (const record of records)
    if (record.number !== undefined) {
      const key = `${record.signer} ${record.number}`
      byNumber.set(key, [...(byNumber.get(key) ?? []), record])
    }
  return [...byNumber.values()].flatMap((same) => {
    const [first] = same
    return first?.number === undefined || same.length < 2
      ? []
      : [{ signer: first.signer, number: first.number, digests: same.map(({ digest }) => digest) }]
  })
}

function namedAnchors(records: readonly MembershipRecord[]): ReadonlySet<string> {
  return new Set(
    records.flatMap(({ admissions }) =>
      admissions.filter(({ isCertified }) => isCertified).map(({ nodeId }) => nodeId),
    ),
  )
}

interface Dated {
  readonly at: string
  readonly digest: string
}

function isLater(one: Dated, other: Dated): boolean {
  return one.at === other.at ? one.digest > other.digest : one.at > other.at
}

function earlier(one: string | undefined, other: string): string {
  return one === undefined || other < one ? other : one
}

function safeParse(
  value: unknown,
):
  | { readonly success: true; readonly data: z.output<typeof wireCommunity> }
  | { readonly success: false; readonly reason: string } {
  const parsed = wireCommunity.safeParse(value)
  if (parsed.success) return { success: true, data: parsed.data }
  const [issue] = parsed.error.issues
  return { success: false, reason: `${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}` }
}
