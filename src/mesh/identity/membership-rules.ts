/**
 * Membership rules: which of a community's records count, and which nodes are members according to them.
 *
 *   1. The root's records count. A node that the root named an anchor is one.
 *   2. An anchor's revocation of an anchor counts unless the root revoked the signer and does not keep it.
 *   3. An anchor's other records count unless the signer was revoked and no counting revocation keeps them; where the
 *      root revoked it, only what the root keeps.
 */
import type { MemberAdmission, MembershipRecord } from './membership-record.ts'

export type CommunityMember = Omit<MemberAdmission, 'isCertified' | 'invitation'>

/**
 * Several records of one signer with one number: the signer was restored from an older copy, or its key is used by
 * another node.
 */
export interface SignerFork {
  readonly signer: string
  readonly number: number
  /** Sorted. */
  readonly digests: readonly string[]
}

export interface InvitationUse {
  readonly nodeId: string
  readonly addedAt: string
  readonly signer: string
}

/** The result of all records together. */
export interface DerivedMembership {
  readonly members: ReadonlyMap<string, CommunityMember>
  /** Node id → time. */
  readonly revoked: ReadonlyMap<string, string>
  /** Uses by invitation, the first use first. */
  readonly invitations: ReadonlyMap<string, readonly InvitationUse[]>
}

export function deriveMembership(rootId: string, records: readonly MembershipRecord[]): DerivedMembership {
  const anchors = listCertifiedAnchors(records)
  const byRoot = collectRetained(records.filter(({ signer }) => signer === rootId))
  const isRetainedByRoot = ({ signer, digest }: MembershipRecord): boolean => byRoot.get(signer)?.has(digest) !== false
  const amongAnchors = records.filter((record) => anchors.has(record.signer) && isRetainedByRoot(record))
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
      const isAmongAnchors = anchors.has(nodeId) && anchors.has(record.signer) && isRetainedByRoot(record)
      if (isAmongAnchors || counts(record)) revoked.set(nodeId, earlier(revoked.get(nodeId), at))
    }
  const members = new Map<string, CommunityMember>()
  const invitations = new Map<string, (InvitationUse & { readonly digest: string })[]>()
  const newest = new Map<string, { readonly member: CommunityMember; readonly digest: string }>()
  for (const { digest, signer, admissions } of standing)
    for (const { isCertified, invitation, ...member } of admissions) {
      if (invitation !== undefined)
        invitations.set(invitation, [
          ...(invitations.get(invitation) ?? []),
          { nodeId: member.nodeId, addedAt: member.addedAt, signer, digest },
        ])
      // A node that the root named an anchor stays one, whatever other admissions say.
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

/** For each revoked node, the digests of its records that its revokers keep. */
function collectRetained(records: readonly MembershipRecord[]): ReadonlyMap<string, ReadonlySet<string>> {
  const retained = new Map<string, ReadonlySet<string>>()
  for (const { revocations, keeps } of records)
    for (const nodeId of revocations.keys()) retained.set(nodeId, new Set([...(retained.get(nodeId) ?? []), ...keeps]))
  return retained
}

/**
 * The anchors' records that count. It starts with the records of anchors that are not revoked and adds, step by step,
 * what they keep of others, so that two revoked anchors cannot vouch for each other, nor one for itself.
 */
function vouchedRecords(
  records: readonly MembershipRecord[],
  {
    revokedAnchors,
    byRoot,
  }: { readonly revokedAnchors: ReadonlySet<string>; readonly byRoot: ReadonlyMap<string, ReadonlySet<string>> },
): ReadonlySet<string> {
  // Of anchors that the root revoked, `records` contains only what the root keeps.
  const isGrounded = ({ signer }: MembershipRecord): boolean => byRoot.has(signer) || !revokedAnchors.has(signer)
  const vouched = new Set(records.filter(isGrounded).map(({ digest }) => digest))
  for (let before = -1; before < vouched.size;) {
    before = vouched.size
    const retained = collectRetained(records.filter(({ digest }) => vouched.has(digest)))
    for (const { signer, digest } of records) if (retained.get(signer)?.has(digest) === true) vouched.add(digest)
  }
  return vouched
}

/** One use per node, in order of time. */
function usesInOrder(uses: readonly (InvitationUse & { readonly digest: string })[]): readonly InvitationUse[] {
  const sorted = uses.toSorted((left, right) =>
    isLater({ at: left.addedAt, digest: left.digest }, { at: right.addedAt, digest: right.digest }) ? 1 : -1,
  )
  const byNode = new Map<string, InvitationUse>()
  for (const { digest: _, ...use } of sorted) if (!byNode.has(use.nodeId)) byNode.set(use.nodeId, use)
  return [...byNode.values()]
}

export function findSignerForks(records: readonly MembershipRecord[]): readonly SignerFork[] {
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

export function listCertifiedAnchors(records: readonly MembershipRecord[]): ReadonlySet<string> {
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
