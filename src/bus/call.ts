/**
 * Call: one request on its way through the house, and what comes back.
 *
 * Spec 2 § 3.1 `RouteRequest`, in TypeScript idiom, plus who asks and through which face.
 */
import type { Fault, RecordReference, WorkReference } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { CallStream } from './call-stream.ts'
import type { CapabilityName, Effect, PlannedCall, CapabilityVersion } from './capability.ts'

/** `observer` reads; `agent` does what the gates allow; `approver` decides and never acts; `admin` runs the node. */
export const ROLES = ['observer', 'agent', 'approver', 'admin'] as const
export type PrincipalRole = (typeof ROLES)[number]

/** Spec 2's levels. `self` is not a level: it means that the caller is the serving node. */
export type TrustLevel = 'unknown' | 'member' | 'trusted' | 'anchor'

export type Caller =
  | {
      readonly kind: 'principal'
      readonly id: string
      readonly role: PrincipalRole
      /** What the credential was narrowed to; absent means not narrowed. */
      readonly restrictions?: CredentialRestrictions
      /** What the client calls itself, for the record only: nobody proves it. */
      readonly client?: string
    }
  | {
      readonly kind: 'peer'
      readonly id: string
      readonly level: TrustLevel
      /** For whom that node says that it calls. Nobody but it proves that, and it opens nothing (ADR 94). */
      readonly actor?: string
    }
  /** A service of this node that calls another on its own behalf. */
  | { readonly kind: 'service'; readonly id: string }

export interface CredentialRestrictions {
  readonly effects?: readonly Effect[]
  readonly profiles?: readonly string[]
  readonly devices?: readonly string[]
}

/** The way a call came in; for the record and for nothing else. */
export type CallChannel = 'mcp-http' | 'mcp-stdio' | 'access-point' | 'api' | 'mesh' | 'service'

export interface Call {
  readonly capability: CapabilityName
  readonly versionReq: CapabilityVersion
  readonly body: JsonObject
  readonly caller: Caller
  readonly channel: CallChannel
  readonly traceId: string
  /** The W3C parent span that the caller named, if any. */
  readonly parentSpan?: string | undefined
  /** Sticky routing: calls with one session go to one provider while it is viable. */
  readonly sessionId?: string | undefined
  /** Monotonic milliseconds of this process; shrinks at each hop. */
  readonly deadlineMs: number
  /** Whether the caller takes the answer in frames. */
  readonly isStream: boolean
  /** Aborts when the caller goes away or the deadline passes. Handlers pass it on. */
  readonly signal: AbortSignal
  /** How many more nodes this call may be forwarded to; 0 means local only. */
  readonly hopBudget: number
  /** Pins the provider when several nodes offer the capability. */
  readonly node?: string | undefined
  /** Set by the guard: plan it, say what would happen, change nothing. */
  readonly rehearsal: boolean
  /** Lock keys held by the call that made this one, so that a service calling a service cannot wait for itself. */
  readonly heldLocks: readonly string[]
  readonly interaction?: CallerInteraction | undefined
  /** Refused before it came in: the call still takes all five stages and is recorded, but never tried. */
  readonly refusal?: Fault | undefined
  /** What the family planned before the guard decided, for the handler that carries it out. */
  readonly planned?: PlannedCall | undefined
  /** The bus's own note on this call. It goes wherever the call goes, also through `{ ...call, body }`. */
  readonly ticket?: CallTicket | undefined
  /** The bus, for a handler that makes calls of its own while it works on this one. */
  readonly onward?: OnwardCalls | undefined
  /** The contract that a caller on another node means, where the name has several. */
  readonly schemaHash?: string | undefined
  /** For the record and for nothing else. */
  readonly work?: WorkReference | undefined
  /** Set by the audit, for a call that is no read. */
  readonly recordLateOutcome?: RecordLateOutcome | undefined
}

/** What became known about a call after it was answered: by a push, a later read, or because nothing came in time. */
export interface LateOutcome {
  readonly outcome: 'reached' | 'not-reached'
  readonly source: 'push' | 'read' | 'timeout'
  /** What was seen, as the family spells it. */
  readonly observed?: Json
  readonly message?: string
}

/**
 * Appends an entry to the ledger that points to the call, once the call itself is on record as ended. Never rejects;
 * `false` when it could not be recorded.
 */
export type RecordLateOutcome = (late: LateOutcome) => Promise<boolean>

/** What a handler may say about a call that it makes while it works on another. */
export interface OnwardOptions {
  readonly version?: CapabilityVersion
  readonly node?: string | undefined
  readonly sessionId?: string | undefined
  /** Less time than the call that it is made for has left; more is not to be had. */
  readonly timeoutMs?: number | undefined
  /** True: only a provider on this node may serve it. */
  readonly isLocal?: boolean
}

/** Calls made for another call: with its caller, trace, deadline, cancellation, locks and rehearsal. */
export interface OnwardCalls {
  readonly call: (parent: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => Promise<Outcome>
  readonly stream: (parent: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => CallStream
}

/** Where stages and transports note what the trace of the call will show. */
export interface CallTicket {
  /** Adds to the time that a stage of this call took. */
  readonly mark: (stage: string, ms: number) => void
  /** Adds to what crossed a wire for this call. */
  readonly bytes: (received: number, sent: number) => void
  /** Resolves when providers that were cut off have stopped working, too; `undefined` where nobody works any more. */
  readonly stillWorking?: Promise<void> | undefined
}

/** What some callers can take while a call runs. Absent parts are simply not heard. */
export interface CallerInteraction {
  readonly progress?: (progress: number, total?: number, message?: string) => void
  readonly log?: (level: string, data: Json, logger?: string) => void
  /** What the client declared, as it declared it. */
  readonly clientCapabilities?: JsonObject
  /** Answers to an earlier `inputRequired`, and the opaque state that went with it. Attacker-controlled. */
  readonly inputResponses?: JsonObject
  readonly requestState?: string
}

export interface Reply {
  readonly data: Json
  /** MCP content beside the data (pictures, a device's own text). Absent: the face mirrors the data as text. */
  readonly content?: readonly ContentBlock[]
  /** The handler needs something from the caller's side before it can go on (MCP multi round-trip requests). */
  readonly inputRequired?: {
    readonly requests: JsonObject
    readonly state?: string
    /** Another node asks: the answers are for it and for nobody else. */
    readonly node?: string
  }
  readonly usage?: { readonly tokensIn?: number; readonly tokensOut?: number }
  /** The answer to an earlier call with the same idempotency key: nothing was done for this one. */
  readonly replayed?: true
  /** Whose answer it is; without a node, this node's. The bus sets the node, a handler may say which of its devices. */
  readonly from?: ReplyOrigin
  /** Set by the audit. Never travels: another node has records of its own. */
  readonly record?: RecordReference
}

export interface ReplyOrigin {
  readonly node?: string
  /** Attached to that node. */
  readonly device?: string
}

/** An MCP content block, as JSON. */
export type ContentBlock = JsonObject & { readonly type: string }

export type Outcome = Result<Reply, Fault>

/** One frame of a streamed answer. The terminal `done` or `error` is not a frame: it is the call's outcome. */
export interface StreamFrame {
  readonly event: string
  readonly data: Json
}
