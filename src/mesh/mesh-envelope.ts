/**
 * Mesh envelope: everything about a call between nodes but its body, and the text that its proof covers.
 *
 *   spec 2:  capability, version, request_id, from, community, timestamp, body
 *   added:   to, key_id, deadline_ms (what is left of it), session, hops, stream, schema_hash, traceparent, input,
 *            actor
 *
 * The proof covers the SHA-256 of the body's bytes as they are sent: no parser sees unauthenticated data, and two
 * programs need not agree on how a number is written. Both transports carry the same fields.
 */
import { createHash, hash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import type { StreamFrame } from '../bus/call.ts'
import type { CapabilityVersion } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { isUlid } from '../core/ids.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isActorName } from './actor-name.ts'
import { parseCapabilityVersion } from './identity/capability-wire.ts'
import { isNodeId } from './identity/node-key.ts'
import { parseMeshTime } from './identity/mesh-time.ts'
import { createMeshRefusal } from './mesh-refusal.ts'

export interface MeshEnvelope {
  readonly capability: string
  readonly version: CapabilityVersion
  /** The id of this attempt, which is never used twice, whatever trace it belongs to. */
  readonly requestId: string
  readonly from: string
  readonly to: string
  readonly community: string
  /** The time as it is sent, RFC 3339. */
  readonly timestamp: string
  readonly deadlineMs: number
  /**
   * The session key under which the message was sent. Every message names one, except the two that precede a session.
   */
  readonly keyId: string | undefined
  /** The name of the caller's session, for sticky routing. */
  readonly session: string | undefined
  readonly hops: number
  readonly stream: boolean
  readonly schemaHash: string | undefined
  readonly traceparent: string | undefined
  /** The body carries more than arguments: see interaction-wire.ts. */
  readonly input?: boolean
  /** The caller for whom the sender calls: see actor-name.ts. */
  readonly actor?: string | undefined
}

/** The fields by their signed names. They are strings, so that headers and JSON carry them alike. */
export type EnvelopeFields = Readonly<Record<string, string>>

const NAME = /^[A-Za-z0-9][A-Za-z0-9_./:-]{0,127}$/
export const MAX_SESSION_NAME_LENGTH = 256
export const MAX_CALL_DEADLINE_MS = 86_400_000
export const MAX_HOP_BUDGET = 16

export function isCapabilityName(name: string): boolean {
  return NAME.test(name)
}

export function toEnvelopeFields(envelope: MeshEnvelope): EnvelopeFields {
  const { keyId, session, schemaHash, traceparent, actor } = envelope
  // Sorted as RFC 8785 requires, so that the text below needs no sorting.
  return {
    ...(actor === undefined ? {} : { actor }),
    capability: envelope.capability,
    community: envelope.community,
    deadline_ms: String(envelope.deadlineMs),
    from: envelope.from,
    hops: String(envelope.hops),
    ...(envelope.input === true ? { input: '1' } : {}),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    request_id: envelope.requestId,
    ...(schemaHash === undefined ? {} : { schema_hash: schemaHash }),
    ...(session === undefined ? {} : { session }),
    stream: envelope.stream ? '1' : '0',
    timestamp: envelope.timestamp,
    to: envelope.to,
    ...(traceparent === undefined ? {} : { traceparent }),
    type: 'call',
    version: `${envelope.version[0]}.${envelope.version[1]}`,
  }
}

/** Canonical JSON (RFC 8785): the keys are in order, and every value is a string. */
export function formatCallTextToSign(fields: EnvelopeFields, bodyHash: string): string {
  // By its name, an actor comes before the body's hash; without one, the field is absent.
  return JSON.stringify({ actor: fields['actor'], body_sha256: bodyHash, ...fields })
}

/**
 * The text that the answer's proof covers. A proof of one answer is invalid for any other, because request ids are used
 * once.
 */
export function formatAnswerTextToSign(answer: {
  readonly requestId: string
  readonly from: string
  readonly status: number
  readonly bodyHash: string
  /** The hash of the frames before the answer, if there were any. */
  readonly framesHash?: string | undefined
}): string {
  const { requestId, from, status, bodyHash, framesHash } = answer
  return JSON.stringify({
    body_sha256: bodyHash,
    ...(framesHash === undefined ? {} : { frames_sha256: framesHash }),
    from,
    request_id: requestId,
    status: String(status),
    type: 'answer',
  })
}

/** Runs along with a stream: both ends hash the frames as they go by, and the end of the stream proves them all. */
export class StreamFramesHash {
  #hash: Hash | undefined

  add({ event, data }: StreamFrame): void {
    this.#hash ??= createHash('sha256')
    this.#hash.update(`${event}\n${JSON.stringify(data)}\n`)
  }

  /** Returns `undefined` when there was no frame. */
  digest(): string | undefined {
    return this.#hash?.digest('base64url')
  }
}

/** Base64url of the SHA-256 of the bytes. */
export function computeBodyHash(body: Uint8Array | string): string {
  return hash('sha256', body, 'base64url')
}

/** Parses untrusted fields; all of them are bounded. */
export function parseMeshEnvelopeFields(field: (name: string) => string | undefined): Result<MeshEnvelope, Fault> {
  const capability = field('capability') ?? ''
  const version = parseCapabilityVersion(field('version') ?? '')
  const [from, to, community] = [field('from') ?? '', field('to') ?? '', field('community') ?? '']
  const [requestId, timestamp] = [field('request_id') ?? '', field('timestamp') ?? '']
  const deadlineMs = integer(field('deadline_ms'), MAX_CALL_DEADLINE_MS)
  const hops = integer(field('hops') ?? '0', MAX_HOP_BUDGET)
  const [keyId, session, schemaHash] = [field('key_id'), field('session'), field('schema_hash')]
  const actor = field('actor')
  const wrong = [
    !isCapabilityName(capability) && 'capability',
    version === undefined && 'version',
    !isUlid(requestId) && 'request_id',
    !isNodeId(from) && 'from',
    !isNodeId(to) && 'to',
    !isNodeId(community) && 'community',
    parseMeshTime(timestamp) === undefined && 'timestamp',
    deadlineMs === undefined && 'deadline_ms',
    hops === undefined && 'hops',
    (keyId?.length ?? 0) > 64 && 'key_id',
    (session?.length ?? 0) > MAX_SESSION_NAME_LENGTH && 'session',
    (schemaHash?.length ?? 0) > 71 && 'schema_hash',
    actor !== undefined && !isActorName(actor) && 'actor',
  ].filter((name) => name !== false)
  if (wrong.length > 0 || version === undefined || deadlineMs === undefined || hops === undefined)
    return fail(
      createMeshRefusal(
        'bad_request',
        'envelope',
        `These fields of the envelope are missing or malformed: ${wrong.join(', ')}.`,
      ),
    )
  return ok({
    capability,
    version,
    requestId,
    from,
    to,
    community,
    timestamp,
    deadlineMs,
    keyId,
    session,
    hops,
    stream: field('stream') === '1',
    schemaHash,
    traceparent: field('traceparent'),
    input: field('input') === '1',
    actor,
  })
}

function integer(text: string | undefined, max: number): number | undefined {
  const value = text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return value <= max ? value : undefined
}
