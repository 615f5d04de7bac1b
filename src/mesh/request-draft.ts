/**
 * Request draft: a message to another node before it is addressed and sealed.
 */
import type { Clock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { MeshEnvelope } from './mesh-envelope.ts'
import { formatMeshTime } from './identity/mesh-time.ts'

export interface RequestDraft {
  readonly capability: string
  readonly version: MeshEnvelope['version']
  readonly body: string
  readonly deadlineMs: number
  readonly session?: string | undefined
  readonly hops: number
  readonly stream: boolean
  readonly schemaHash?: string | undefined
  readonly traceparent?: string | undefined
  readonly input?: boolean
  readonly actor?: string
  readonly isSigned: boolean
  readonly idempotent: boolean
}

export interface DraftAddress {
  readonly from: string
  readonly to: string
  readonly communityId: string
  /** The id of the session whose key seals it, if there is one. */
  readonly keyId: string | undefined
  /** Whether the other node supports the actor field. One that does not would compute another proof. */
  readonly takesActor: boolean
  readonly clock: Clock
}

const QUESTION_VERSION = [1, 0] as const
const QUESTION_MS = 10_000

/** What nodes ask each other outside the bus: nothing is changed by it, so it may be asked again. */
export function createControlRequestDraft(name: string, body: Json): RequestDraft {
  const text = JSON.stringify(body)
  return {
    capability: name,
    version: QUESTION_VERSION,
    body: text,
    deadlineMs: QUESTION_MS,
    hops: 0,
    stream: false,
    isSigned: false,
    idempotent: true,
  }
}

/** Gives the draft a request id, one for each attempt (ADR 33). */
export function createEnvelopeFromDraft(
  draft: RequestDraft,
  { from, to, communityId, keyId, takesActor, clock }: DraftAddress,
): MeshEnvelope {
  return {
    capability: draft.capability,
    version: draft.version,
    requestId: newUlid(clock.now()),
    from,
    to,
    community: communityId,
    timestamp: formatMeshTime(clock.now()),
    deadlineMs: draft.deadlineMs,
    keyId,
    session: draft.session,
    hops: draft.hops,
    stream: draft.stream,
    schemaHash: draft.schemaHash,
    traceparent: draft.traceparent,
    ...(draft.input === true ? { input: true } : {}),
    ...(takesActor ? { actor: draft.actor } : {}),
  }
}
