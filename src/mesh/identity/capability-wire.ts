/**
 * Capability wire format: what a manifest says about one capability, in spec 2's snake case (CONTRACT § 6), with the
 * fields a caller needs beyond it: trust, idempotence, streaming, timeout, matcher, secrets and instance.
 *
 * Schemas do not travel in manifests: they are fetched once by their hash.
 */
import { z } from 'zod'
import type { PeerCapability, PeerSchemas } from '../../bus/peer.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { EFFECTS } from '../../bus/capability.ts'
import type { CapabilityVersion } from '../../bus/capability.ts'

const HASH = /^blake3:[0-9a-f]{64}$/
const VERSION = /^(\d{1,7})\.(\d{1,7})$/

const face = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('tool') }),
  z.object({ kind: z.literal('service') }),
  z.object({ kind: z.literal('resource'), uri: z.string().max(2_048), mimeType: z.string().max(256) }),
  z.object({
    kind: z.literal('prompt'),
    arguments: z
      .array(z.object({ name: z.string().max(128), description: z.string().max(4_096), required: z.boolean() }))
      .max(64),
  }),
])

/** Everything in it is bounded; the bus checks the result once more when it registers the capability. */
export const wireCapabilitySchema = z.object({
  name: z.string().min(1).max(128),
  version: z.string().regex(VERSION),
  stability: z.enum(['stable', 'beta', 'experimental']),
  schema_hash: z.string().regex(HASH),
  params: z.record(z.string(), z.json()),
  max_concurrent: z.int().min(1).max(1_000_000),
  trust_required: z.enum(['member', 'trusted', 'anchor', 'self']),
  timeout_seconds: z.number().positive().max(86_400),
  idempotent: z.boolean(),
  stream: z.boolean(),
  effect: z.enum(EFFECTS),
  anywhere: z.boolean(),
  family: z.string().max(64),
  face,
  title: z.string().max(256),
  description: z.string().max(8_192),
  matches: z.record(z.string().max(64), z.enum(['equals', 'one-of', 'minimum', 'subset'])).exactOptional(),
  secrets: z.array(z.string().max(128)).max(64).exactOptional(),
  instance_id: z.string().min(1).max(64),
})

export type WireCapability = z.output<typeof wireCapabilitySchema>

export function encodeCapability(capability: PeerCapability): JsonObject {
  const { version, matches, secrets } = capability
  return {
    name: capability.name,
    version: `${version[0]}.${version[1]}`,
    stability: capability.stability,
    schema_hash: capability.schemaHash,
    params: capability.params,
    max_concurrent: capability.maxConcurrent,
    trust_required: capability.trustRequired,
    timeout_seconds: capability.timeoutSeconds,
    idempotent: capability.idempotent,
    stream: capability.stream,
    effect: capability.effect,
    anywhere: capability.anywhere,
    family: capability.family,
    face: capability.face as unknown as JsonObject,
    title: capability.title.slice(0, 256),
    description: capability.description.slice(0, 8_192),
    ...(matches === undefined ? {} : { matches }),
    // Left out rather than sent as an empty list, so that capabilities without secrets keep the hash that older nodes
    // know.
    ...(secrets === undefined || secrets.length === 0 ? {} : { secrets }),
    instance_id: capability.instanceId,
  }
}

export function decodeWireCapability(wire: WireCapability): PeerCapability {
  return {
    name: wire.name,
    version: parseCapabilityVersion(wire.version) ?? [0, 0],
    stability: wire.stability,
    schemaHash: wire.schema_hash,
    params: wire.params,
    maxConcurrent: wire.max_concurrent,
    trustRequired: wire.trust_required,
    timeoutSeconds: wire.timeout_seconds,
    idempotent: wire.idempotent,
    stream: wire.stream,
    effect: wire.effect,
    anywhere: wire.anywhere,
    family: wire.family,
    face: wire.face,
    title: wire.title,
    description: wire.description,
    ...(wire.matches === undefined ? {} : { matches: wire.matches }),
    ...(wire.secrets === undefined ? {} : { secrets: wire.secrets }),
    instanceId: wire.instance_id,
  }
}

export function parseCapabilityVersion(text: string): CapabilityVersion | undefined {
  const found = VERSION.exec(text)
  return found === null ? undefined : [Number(found[1]), Number(found[2])]
}

/** The schemas arrived as JSON, and the bus reads their content; here it is only checked that they are objects. */
const schema = z.custom<JsonObject>(isJsonObject)
const schemas = z.object({
  request_schema: schema,
  response_schema: schema.nullable(),
  stream_schema: schema.nullable(),
})

/** The members of the schema hash without name and version, which the requester has. */
export function encodePeerSchemas({ request, response, stream }: PeerSchemas): JsonObject {
  return {
    request_schema: request as JsonObject,
    response_schema: (response as JsonObject | undefined) ?? null,
    stream_schema: (stream as JsonObject | undefined) ?? null,
  }
}

/** The registry checks whether the schemas have the announced hash. */
export function decodePeerSchemas(value: unknown): PeerSchemas | undefined {
  const parsed = schemas.safeParse(value)
  if (!parsed.success) return undefined
  const { request_schema: request, response_schema: response, stream_schema: stream } = parsed.data
  return {
    request,
    ...(response === null ? {} : { response }),
    ...(stream === null ? {} : { stream }),
  }
}
