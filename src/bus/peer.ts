/**
 * Peer: another node as the bus sees it. The module that discovers peers (the mesh, or a test) verifies them first and
 * describes them with these types.
 *
 * A manifest carries what a caller needs to choose, to validate and to know whether a second try is safe; schemas are
 * fetched once by hash and may come later than the rest.
 */
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Call, StreamFrame, Outcome } from './call.ts'
import type {
  CapabilityDescriptor,
  Effect,
  McpExposure,
  FamilyEnvelope,
  JsonSchema,
  Offer,
  ParamsMatchRules,
  PromptArgument,
  Stability,
  CapabilityVersion,
} from './capability.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { computeCapabilityInstanceId, setAnnouncedSchemaHash, computeSchemaHash } from './schema-hash.ts'
import { rebuildPeerContractSchemas } from './untrusted-peer-schemas.ts'

export interface PeerCapability {
  readonly name: string
  readonly version: CapabilityVersion
  readonly stability: Stability
  readonly schemaHash: string
  readonly params: JsonObject
  readonly maxConcurrent: number
  readonly trustRequired: CapabilityDescriptor['trustRequired']
  readonly timeoutSeconds: number
  readonly idempotent: boolean
  readonly stream: boolean
  readonly effect: Effect
  readonly anywhere: boolean
  readonly family: string
  readonly face: McpExposure
  readonly title: string
  readonly description: string
  readonly matches?: ParamsMatchRules
  /** Arguments that a caller's own records must not keep either. */
  readonly secrets?: readonly string[]
  readonly instanceId: string
  /** Absent until fetched: calls are then checked by the provider alone. */
  readonly schemas?: PeerSchemas
}

export interface PeerSchemas {
  readonly request: JsonSchema
  readonly response?: JsonSchema
  readonly stream?: JsonSchema
}

export interface PeerManifest {
  readonly nodeId: string
  readonly capabilities: readonly PeerCapability[]
}

export interface PeerRecord {
  readonly nodeId: string
  readonly displayName?: string
  readonly communityId?: string
  /** Where to reach it, as the transport describes it; the bus only passes it back. */
  readonly endpoint: unknown
  readonly manifest: PeerManifest
  readonly source?: string
  /** Which of its offers were left out before the bus saw them, and why. */
  readonly refused?: readonly RefusedCapability[]
}

/**
 * The way to other nodes. Each method resolves, never rejects; `call.signal` aborts it; what is left of
 * `call.deadlineMs` travels. A fault must be honest about whether anything was begun: `begun: false` where nothing was sent
 * or the provider said so, absent where nobody knows; a change that was sent and not answered for is `unknown-outcome`.
 */
export interface RemoteProviderClient {
  readonly call: (entry: CapabilityEntry, call: Call) => Promise<Outcome>
  /**
   * `emit` resolves when the consumer has taken the frame; await it before the next one. If it rejects, the consumer
   * has gone or the frame did not fit: stop the far end and reject with the same error.
   */
  readonly stream: (entry: CapabilityEntry, call: Call, emit: StreamFrameEmitter) => Promise<Outcome>
}

export type StreamFrameEmitter = (frame: StreamFrame) => Promise<void>

/** A peer's capability that was refused, and why. */
export interface RefusedCapability {
  readonly name: string
  readonly fault: Fault
}

/** How this node announces one of its own capabilities. A matcher that is a function is not announced. */
export function describeOwnCapability(offer: Offer): PeerCapability {
  const { name, version, stability, params, maxConcurrent, trustRequired, timeoutSeconds, idempotent } = offer
  return {
    name,
    version,
    stability,
    schemaHash: computeSchemaHash(offer),
    params,
    maxConcurrent,
    trustRequired,
    timeoutSeconds,
    idempotent,
    stream: offer.streamSchema !== undefined,
    effect: offer.effect,
    anywhere: offer.anywhere === true,
    family: offer.family.name,
    face: announcedFace(offer.face),
    title: offer.title,
    description: offer.description,
    ...(typeof offer.matches === 'object' ? { matches: offer.matches } : {}),
    ...(offer.secrets === undefined ? {} : { secrets: offer.secrets }),
    instanceId: computeCapabilityInstanceId(params),
    schemas: {
      request: offer.requestSchema,
      ...(offer.responseSchema === undefined ? {} : { response: offer.responseSchema }),
      ...(offer.streamSchema === undefined ? {} : { stream: offer.streamSchema }),
    },
  }
}

/** The completion of a prompt's arguments is a function and is not announced either. */
function announcedFace(face: McpExposure): McpExposure {
  if (face.kind !== 'prompt') return face
  return { kind: 'prompt', arguments: face.arguments.map(announcedArgument) }
}

function announcedArgument({ name, description, required }: PromptArgument): PromptArgument {
  return { name, description, required }
}

/**
 * A peer's capability as this node offers it: under the announced hash, with schemas rebuilt from the announced ones.
 * Its own node locks, guards and audits it; this node does so as well, by what it announced.
 */
export function createPeerOffer(capability: PeerCapability, family: FamilyEnvelope): Result<Offer, Fault> {
  const { name, version, stability, params, maxConcurrent, trustRequired, timeoutSeconds, idempotent } = capability
  const read =
    capability.schemas === undefined ? ok(undefined) : rebuildPeerContractSchemas(capability, capability.schemas)
  if (!read.ok) return read
  const schemas = read.value
  const offer: Offer = {
    name,
    version,
    stability,
    requestSchema: schemas?.request ?? {},
    responseSchema: schemas === undefined ? {} : schemas.response,
    streamSchema: schemas?.stream ?? (capability.stream ? {} : undefined),
    params,
    maxConcurrent,
    trustRequired,
    timeoutSeconds,
    idempotent,
    title: capability.title,
    description: capability.description,
    effect: capability.effect,
    lock: undefined,
    family,
    face: capability.face,
    isFromPeer: true,
    ...(capability.matches === undefined ? {} : { matches: capability.matches }),
    ...(capability.anywhere ? { anywhere: true } : {}),
    ...(capability.secrets === undefined ? {} : { secrets: capability.secrets }),
  }
  setAnnouncedSchemaHash(offer, capability.schemaHash)
  return ok(offer)
}
