/**
 * Invitation: lets a node join a community. It is issued by one anchor, for one use, and expires soon.
 *
 *   hbinvite1.<payload>.<signature>        a line of text that one person hands to another
 *
 *   joiner ── join request, with HMAC(secret, request) ──▶ issuer ── community manifest ──▶ joiner
 *
 * The secret inside is never sent: the joiner proves that it knows it. So a broker or an eavesdropper can neither use
 * the invitation nor put its own key into another node's request.
 *
 * Pure: time and random numbers are arguments.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { toBase64url, fromBase64url, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { MembershipLevel } from './membership-record.ts'
import { isNodeId } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { NODE_NAME_PATTERN } from './node-name.ts'
import { isDocumentSignedBy, signDocument, encodeTextToSign } from './signed-document.ts'
import { parseMeshTime, MAX_CLOCK_SKEW_MS, formatMeshTime } from './mesh-time.ts'

export interface Invitation {
  readonly id: string
  readonly communityId: string
  readonly communityName: string
  readonly issuer: string
  readonly level: MembershipLevel
  readonly expiresAtMs: number
  readonly secret: Uint8Array
  /** Where the issuer listens, `host:port`. */
  readonly addresses: readonly string[]
}

export interface JoinRequest {
  readonly invitationId: string
  readonly communityId: string
  readonly to: string
  readonly nodeId: string
  readonly name: string
  readonly document: JsonObject
}

export type InvitationFault =
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'bad-signature' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'wrong-proof' }

const PREFIX = 'hbinvite1'
const SECRET_BYTES = 32
const MAX_TEXT = 4_096

const payload = z.object({
  type: z.literal('invitation'),
  id: z.string().min(1).max(32),
  community_id: z.string().refine(isNodeId),
  community_name: z.string().min(1).max(64),
  issuer: z.string().refine(isNodeId),
  level: z.enum(['member', 'trusted', 'anchor']),
  expires_at: z.string(),
  secret: z.string().length(43),
  addresses: z.array(z.string().max(262)).max(16),
})

export function encodeSignedInvitation(invitation: Invitation, issuer: NodeIdentity): string {
  if (invitation.secret.length !== SECRET_BYTES) throw new RangeError('an invitation has a secret of 32 bytes')
  const { signature, ...document } = signDocument(
    {
      type: 'invitation',
      id: invitation.id,
      community_id: invitation.communityId,
      community_name: invitation.communityName,
      issuer: invitation.issuer,
      level: invitation.level,
      expires_at: formatMeshTime(invitation.expiresAtMs),
      secret: toBase64url(invitation.secret),
      addresses: [...invitation.addresses],
    },
    issuer,
  )
  return `${PREFIX}.${toBase64url(toUtf8(canonicalJson(document)))}.${signature.slice('ed25519:'.length)}`
}

/** Checks the issuer's signature, so that a line that lost a character is detected here and not at the far end. */
export function decodeSignedInvitation(text: string, nowMs: number): Result<Invitation, InvitationFault> {
  const [prefix, encoded, signature, ...more] = text.trim().split('.')
  if (text.length > MAX_TEXT || prefix !== PREFIX || signature === undefined || more.length > 0)
    return malformed(`it does not look like ${PREFIX}.….…`)
  const bytes = fromBase64url(encoded ?? '')
  const document = parseJsonOrUndefined(bytes && fromUtf8(bytes))
  const parsed = payload.safeParse(document)
  if (!parsed.success || !isJsonObject(document)) return malformed('its content is not an invitation')
  const secret = fromBase64url(parsed.data.secret)
  const expiresAtMs = parseMeshTime(parsed.data.expires_at)
  if (secret?.length !== SECRET_BYTES || expiresAtMs === undefined) return malformed('its content is damaged')
  if (!isDocumentSignedBy(parsed.data.issuer, { ...document, signature: `ed25519:${signature}` }))
    return fail({ kind: 'bad-signature' })
  if (nowMs > expiresAtMs + MAX_CLOCK_SKEW_MS) return fail({ kind: 'expired' })
  const { id, issuer, level, addresses } = parsed.data
  const { community_id: communityId, community_name: communityName } = parsed.data
  return ok({ id, communityId, communityName, issuer, level, expiresAtMs, secret, addresses })
}

/** Signed by the joiner and proven with the secret. */
export function createJoinRequest(
  invitation: Invitation,
  joiner: { identity: NodeIdentity; name: string },
): JsonObject {
  const signed = signDocument(
    {
      type: 'join-request',
      invitation_id: invitation.id,
      community_id: invitation.communityId,
      to: invitation.issuer,
      node_id: joiner.identity.id,
      name: joiner.name,
    },
    joiner.identity,
    ['proof'],
  )
  return { ...signed, proof: proofOf(signed, invitation.secret) }
}

const joinRequest = z.object({
  type: z.literal('join-request'),
  invitation_id: z.string().min(1).max(32),
  community_id: z.string().refine(isNodeId),
  to: z.string().refine(isNodeId),
  node_id: z.string().refine(isNodeId),
  name: z.string().regex(NODE_NAME_PATTERN),
  signature: z.string().max(128),
  proof: z.string().max(64),
})

export function parseJoinRequest(value: unknown): Result<JoinRequest, InvitationFault> {
  const parsed = joinRequest.safeParse(value)
  if (!parsed.success || !isJsonObject(value)) return malformed('it is not a join request')
  const { invitation_id: invitationId, community_id: communityId, to, node_id: nodeId, name } = parsed.data
  if (!isDocumentSignedBy(nodeId, value, ['proof'])) return fail({ kind: 'bad-signature' })
  return ok({ invitationId, communityId, to, nodeId, name, document: value })
}

export function isJoinRequestProven({ document }: JoinRequest, secret: Uint8Array): boolean {
  const { proof } = document
  const given = Buffer.from(typeof proof === 'string' ? proof : '')
  const right = Buffer.from(proofOf(document, secret))
  return given.length === right.length && timingSafeEqual(given, right)
}

function proofOf(document: JsonObject, secret: Uint8Array): string {
  return createHmac('sha256', secret)
    .update(encodeTextToSign(document, ['proof']))
    .digest('base64url')
}

function malformed(reason: string): { readonly ok: false; readonly fault: InvitationFault } {
  return fail({ kind: 'malformed', reason })
}
