/**
 * Membership record: one signed decision about who belongs to a community.
 *
 *   community-manifest   the list that founded it (and lists of nodes before version 2): several decisions at once
 *   admission            a node comes in, by an anchor, or as an anchor, by the root; names the invitation it came with
 *   revocation           a node is out for good; of an anchor it says which of its decisions stand (`keeps`)
 *
 * Each record is proven by itself; membership-rules.ts decides which records count.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { z } from 'zod'
import { toHex, toUtf8 } from '../../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { isNodeId, signTextWithNodeKey, isNodeSignatureValid } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { isDocumentSignedBy, signDocument } from './signed-document.ts'

export type MembershipLevel = 'member' | 'trusted' | 'anchor'

export interface MemberAdmission {
  readonly nodeId: string
  readonly name: string
  readonly level: MembershipLevel
  readonly addedAt: string
  readonly addedBy: string
  /** The id of the invitation that the node used. */
  readonly invitation: string | undefined
  /** Whether the root itself named this anchor. */
  readonly isCertified: boolean
}

export interface MembershipRecord {
  /** The BLAKE3 hash of its canonical form, signature included. */
  readonly digest: string
  readonly signer: string
  /**
   * A number that the signer counts. Two records with one number show that the signer was restored from an older copy,
   * or that its key is used twice.
   */
  readonly number: number | undefined
  readonly communityId: string
  /** The name in a founding list. */
  readonly name: string | undefined
  readonly admissions: readonly MemberAdmission[]
  /** Node id → time. */
  readonly revocations: ReadonlyMap<string, string>
  /** Digests of the revoked anchor's records that stay valid. */
  readonly keeps: ReadonlySet<string>
  readonly document: JsonObject
}

export type MembershipRecordFault =
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'foreign'; readonly id: string }
  | { readonly kind: 'bad-signature' }

export const MAX_MEMBERSHIP_RECORDS = 8_192

const nodeId = z.string().refine(isNodeId, 'not a node id')
const level = z.enum(['member', 'trusted', 'anchor'])
const nodeName = z.string().min(1).max(64)
const timestamp = z.string().max(32)
const signature = z.string().max(128)

const wireList = z.object({
  type: z.literal('community-manifest'),
  version: z.literal(1),
  community_id: nodeId,
  name: nodeName,
  created_at: timestamp,
  revision: z.int().min(1),
  members: z
    .array(
      z.object({
        node_id: nodeId,
        name: nodeName,
        level,
        added_at: timestamp,
        added_by: z.string().max(64),
        certificate: signature.exactOptional(),
      }),
    )
    .max(MAX_MEMBERSHIP_RECORDS),
  revoked: z.array(z.object({ node_id: nodeId, revoked_at: timestamp })).max(MAX_MEMBERSHIP_RECORDS),
  signed_by: nodeId,
  signature,
})

const wireAdmission = z.strictObject({
  type: z.literal('admission'),
  version: z.literal(1),
  community_id: nodeId,
  number: z.int().min(1),
  node_id: nodeId,
  name: nodeName,
  level,
  added_at: timestamp,
  invitation: z.string().min(1).max(32).exactOptional(),
  signed_by: nodeId,
  signature,
})

const wireRevocation = z.strictObject({
  type: z.literal('revocation'),
  version: z.literal(1),
  community_id: nodeId,
  number: z.int().min(1),
  node_id: nodeId,
  revoked_at: timestamp,
  keeps: z.array(z.string().length(64)).max(MAX_MEMBERSHIP_RECORDS),
  signed_by: nodeId,
  signature,
})

const wireRecord = z.discriminatedUnion('type', [wireList, wireAdmission, wireRevocation])

type WireRecord = z.output<typeof wireRecord>
type Unsigned<Wire> = Wire extends unknown ? Omit<Wire, 'signature'> : never

export function signMembershipRecord(wire: Unsigned<WireRecord>, signer: NodeIdentity): MembershipRecord {
  const document = signDocument(wire, signer)
  return recordFrom({ ...wire, signature: document.signature }, document)
}

/**
 * Parses a record from another node: it must be well-formed, of this community, and signed by the node that it names.
 */
export function parseMembershipRecord(
  value: unknown,
  communityId: string,
): Result<MembershipRecord, MembershipRecordFault> {
  const parsed = wireRecord.safeParse(value)
  if (!parsed.success || !isJsonObject(value))
    return fail({ kind: 'malformed', reason: formatFirstSchemaIssue(parsed.error) })
  const wire = parsed.data
  if (wire.community_id !== communityId) return fail({ kind: 'foreign', id: wire.community_id })
  const record = recordFrom(wire, value)
  if (record.digest === '') return fail({ kind: 'bad-signature' })
  // Only the root names anchors; otherwise any signer could appoint further signers.
  if (record.admissions.some((each) => each.level === 'anchor' && !each.isCertified))
    return fail({ kind: 'bad-signature' })
  return isProven(record) ? ok(record) : fail({ kind: 'bad-signature' })
}

/** What is wrong with a document, from the error of its schema. */
export function formatFirstSchemaIssue(error: Pick<z.ZodError, 'issues'> | undefined): string {
  const issue = error?.issues[0]
  return `${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}`
}

/**
 * Each signature is verified once, because the same records come with every exchange. Bounded, since the records come
 * from other nodes.
 */
const proven = new Set<string>()

function isProven({ digest, signer, document }: MembershipRecord): boolean {
  if (proven.has(digest)) return true
  if (!isDocumentSignedBy(signer, document)) return false
  if (proven.size >= 2 * MAX_MEMBERSHIP_RECORDS) proven.clear()
  proven.add(digest)
  return true
}

function recordFrom(wire: WireRecord, document: JsonObject): MembershipRecord {
  const { community_id: communityId, signed_by: signer } = wire
  const record: MembershipRecord = {
    digest: documentDigest(document),
    signer,
    communityId,
    document,
    number: undefined,
    name: undefined,
    admissions: [],
    revocations: new Map(),
    keeps: new Set(),
  }
  switch (wire.type) {
    case 'community-manifest':
      return {
        ...record,
        name: wire.name,
        admissions: wire.members.map((row) => ({
          nodeId: row.node_id,
          name: row.name,
          level: row.level,
          addedAt: row.added_at,
          addedBy: row.added_by,
          invitation: undefined,
          isCertified: row.level === 'anchor' && isAnchorCertificate(communityId, row.node_id, row.certificate),
        })),
        revocations: new Map(wire.revoked.map((row) => [row.node_id, row.revoked_at])),
      }
    case 'admission':
      return {
        ...record,
        number: wire.number,
        admissions: [
          {
            nodeId: wire.node_id,
            name: wire.name,
            level: wire.level,
            addedAt: wire.added_at,
            addedBy: signer,
            invitation: wire.invitation,
            isCertified: wire.level === 'anchor' && signer === communityId,
          },
        ],
      }
    default:
      return {
        ...record,
        number: wire.number,
        revocations: new Map([[wire.node_id, wire.revoked_at]]),
        keeps: new Set(wire.keeps),
      }
  }
}

/** Empty for a document without a canonical form, whose signature cannot be valid either. */
function documentDigest(document: JsonObject): string {
  try {
    return toHex(blake3(toUtf8(canonicalJson(document))))
  } catch {
    return ''
  }
}

/** The root's certificate that a node is an anchor, in the form of version 1 lists. */
export function signAnchorCertificate(root: NodeIdentity, nodeIdOfAnchor: string): string {
  return signTextWithNodeKey(root, certificateText(root.id, nodeIdOfAnchor))
}

function isAnchorCertificate(rootId: string, anchor: string, certificate: string | undefined): boolean {
  return certificate !== undefined && isNodeSignatureValid(rootId, certificateText(rootId, anchor), certificate)
}

function certificateText(communityId: string, anchor: string): string {
  return canonicalJson({ type: 'anchor-certificate', community_id: communityId, node_id: anchor })
}
