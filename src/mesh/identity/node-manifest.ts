/**
 * Node manifest: a node's signed description of itself, valid for thirty seconds (CONTRACT § 6).
 *
 *   { …, sequence, capabilities_hash, issued_at, expires_at, signature } + capabilities
 *
 * The capabilities are signed through their hash, so one signature serves two forms: the full one, and the slim one
 * that is sent every few seconds to nodes that know the hash already.
 *
 * A newer manifest is one with a higher sequence number, which a node never uses twice, not even after its clock was
 * set back. Wall clocks only decide whether a manifest is far too old.
 *
 * Pure: time is an argument.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { z } from 'zod'
import type { PeerCapability } from '../../bus/peer.ts'
import { toHex, toUtf8 } from '../../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { encodeCapability, decodeWireCapability, wireCapabilitySchema } from './capability-wire.ts'
import { isNodeId } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'
import { isDocumentSignedBy, signDocument } from './signed-document.ts'
import type { SignedDocument } from './signed-document.ts'
import { parseMeshTime, MAX_CLOCK_SKEW_MS, formatMeshTime } from './mesh-time.ts'

export const MESH_CONTRACT_VERSION = '1.0'
const MANIFEST_LIFETIME_MS = 30_000
/** Signed indirectly, through `capabilities_hash`. */
const APART: readonly string[] = ['capabilities']
/**
 * The bus accepts this many capabilities of one peer; a longer list is refused completely, since a shortened one would
 * have another hash.
 */
export const MAX_PEER_CAPABILITIES = 2_000

export interface ManifestEndpoint {
  readonly transport: 'http' | 'nats'
  readonly host: string
  readonly port: number
}

export interface NodeManifest {
  readonly nodeId: string
  readonly displayName: string
  readonly communityId: string
  readonly endpoints: readonly ManifestEndpoint[]
  readonly sequence: number
  readonly capabilitiesHash: string
  /** `undefined` in the slim form of the manifest. */
  readonly capabilities: readonly PeerCapability[] | undefined
  readonly inFlight: number
  readonly uptimeSeconds: number
  /** The name of its ledger, so that others can witness it. */
  readonly ledgerOrigin: string | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

export interface ManifestInput {
  readonly displayName: string
  readonly communityId: string
  readonly endpoints: readonly ManifestEndpoint[]
  readonly capabilities: readonly PeerCapability[]
  readonly inFlight: number
  readonly uptimeSeconds: number
  readonly ledgerOrigin?: string | undefined
  readonly sequence: number
  readonly nowMs: number
  /** 0 makes a manifest that expires at once, with which a node announces that it stops. */
  readonly lifeMs?: number
}

export type ManifestFault =
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'bad-signature'; readonly nodeId: string }
  | { readonly kind: 'expired'; readonly nodeId: string; readonly agoMs: number }
  | { readonly kind: 'from-the-future'; readonly nodeId: string; readonly aheadMs: number }

const endpoint = z.object({
  transport: z.enum(['http', 'nats']),
  host: z.string().max(255),
  port: z.int().min(0).max(65_535),
})

const wireManifest = z.object({
  type: z.literal('node-manifest'),
  version: z.literal(1),
  contract_version: z.string().regex(/^1\.\d{1,4}$/, 'of a contract other than 1.x'),
  node_id: z.string().refine(isNodeId, 'not a node id'),
  display_name: z.string().min(1).max(64),
  community_id: z.string().refine(isNodeId, 'not a community id'),
  profile: z.enum(['anchor', 'hearth', 'spark', 'bridge']),
  endpoints: z.array(endpoint).max(16),
  capabilities_hash: z.string().regex(/^blake3:[0-9a-f]{64}$/),
  capabilities: z.array(wireCapabilitySchema).max(MAX_PEER_CAPABILITIES).exactOptional(),
  uptime_seconds: z.int().min(0),
  load: z.object({ in_flight_total: z.int().min(0) }),
  ledger_origin: z.string().max(128).exactOptional(),
  sequence: z.int().min(0),
  issued_at: z.string(),
  expires_at: z.string(),
  signature: z.string().max(128),
})

export function issueManifest(facts: ManifestInput, identity: NodeIdentity): SignedDocument {
  const capabilities = facts.capabilities.map(encodeCapability)
  return signDocument(
    {
      type: 'node-manifest',
      version: 1,
      contract_version: MESH_CONTRACT_VERSION,
      node_id: identity.id,
      display_name: facts.displayName,
      community_id: facts.communityId,
      profile: 'hearth',
      endpoints: facts.endpoints.map((each) => ({ ...each })),
      capabilities_hash: computeCapabilitiesHash(capabilities),
      capabilities,
      uptime_seconds: Math.floor(facts.uptimeSeconds),
      load: { in_flight_total: facts.inFlight },
      ...(facts.ledgerOrigin === undefined ? {} : { ledger_origin: facts.ledgerOrigin }),
      sequence: facts.sequence,
      issued_at: formatMeshTime(facts.nowMs),
      expires_at: formatMeshTime(facts.nowMs + (facts.lifeMs ?? MANIFEST_LIFETIME_MS)),
    },
    identity,
    APART,
  )
}

/** The manifest without the capabilities; its signature remains valid. */
export function omitManifestCapabilities(manifest: JsonObject): JsonObject {
  const { capabilities: _, ...rest } = manifest
  return rest
}

export function computeCapabilitiesHash(capabilities: Json): string {
  return `blake3:${toHex(blake3(toUtf8(canonicalJson(capabilities))))}`
}

/**
 * Parses and verifies a manifest. The result is proven to be its author's; the caller checks whether the author is a
 * member.
 */
export function parseNodeManifest(value: unknown, nowMs: number): Result<NodeManifest, ManifestFault> {
  const parsed = wireManifest.safeParse(value)
  if (!parsed.success || !isJsonObject(value)) return malformed(parsed.error?.issues[0])
  const { node_id: nodeId, issued_at: issued, expires_at: expires } = parsed.data
  const [issuedAtMs, expiresAtMs] = [parseMeshTime(issued), parseMeshTime(expires)]
  if (issuedAtMs === undefined || expiresAtMs === undefined)
    return malformed({ path: ['issued_at'], message: 'a time' })
  if (expiresAtMs < issuedAtMs || expiresAtMs - issuedAtMs > MANIFEST_LIFETIME_MS)
    return malformed({ path: ['expires_at'], message: 'at most 30 s after issued_at' })
  if (nowMs - expiresAtMs > MAX_CLOCK_SKEW_MS) return fail({ kind: 'expired', nodeId, agoMs: nowMs - expiresAtMs })
  if (issuedAtMs - nowMs > MAX_CLOCK_SKEW_MS)
    return fail({ kind: 'from-the-future', nodeId, aheadMs: issuedAtMs - nowMs })
  const { capabilities, capabilities_hash: hash } = parsed.data
  // Hashed as it was received: members of a newer version that our schema drops are part of what that node signed.
  if (capabilities !== undefined && !hashesTo(value['capabilities'], hash))
    return fail({ kind: 'bad-signature', nodeId })
  if (!isDocumentSignedBy(nodeId, value, APART)) return fail({ kind: 'bad-signature', nodeId })
  return ok({
    nodeId,
    displayName: parsed.data.display_name,
    communityId: parsed.data.community_id,
    endpoints: parsed.data.endpoints,
    sequence: parsed.data.sequence,
    capabilitiesHash: hash,
    capabilities: capabilities?.map(decodeWireCapability),
    inFlight: parsed.data.load.in_flight_total,
    uptimeSeconds: parsed.data.uptime_seconds,
    ledgerOrigin: parsed.data.ledger_origin,
    issuedAtMs,
    expiresAtMs,
  })
}

/** A node that stops announces it with a manifest that expires at once. */
export function isGoodbyeManifest({ issuedAtMs, expiresAtMs }: NodeManifest): boolean {
  return expiresAtMs === issuedAtMs
}

/**
 * A list of capabilities that was received without its manifest; it is accepted only if it has the hash that was
 * signed.
 */
export function parseAnnouncedCapabilities(value: unknown, hash: string): readonly PeerCapability[] | undefined {
  const parsed = z.array(wireCapabilitySchema).max(MAX_PEER_CAPABILITIES).safeParse(value)
  if (!parsed.success || !hashesTo(value, hash)) return undefined
  return parsed.data.map(decodeWireCapability)
}

function hashesTo(value: unknown, hash: string): boolean {
  try {
    return computeCapabilitiesHash(value as Json) === hash
  } catch {
    // A lone surrogate has no canonical form, so no node can have signed it.
    return false
  }
}

function malformed(issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): {
  readonly ok: false
  readonly fault: ManifestFault
} {
  const where = issue?.path.map(String).join('.') ?? ''
  return fail({ kind: 'malformed', reason: issue === undefined ? 'not a manifest' : `${where}: ${issue.message}` })
}
