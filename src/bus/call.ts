/**
 * Call: one request on its way through the stages, and what comes back.
 *
 * Spec 2 § 3.1 `RouteRequest`, in TypeScript idiom, plus who asks and through which face.
 */
import type { Fault, CallRecordReference, TaskOrSessionReference, ApprovalOrGrantReference } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { CallStream } from './call-stream.ts'
import type { CapabilityName, Effect, PlannedCall, CapabilityVersion } from './capability.ts'

/** `observer` reads; `agent` does what the gates allow; `approver` decides and never acts; `admin` runs the node. */
export const PRINCIPAL_ROLES = ['observer', 'agent', 'approver', 'admin'] as const
export type PrincipalRole = (typeof PRINCIPAL_ROLES)[number]

/** Spec 2's levels. `self` is not a level: it means that the caller is the serving node. */
export type TrustLevel = 'unknown' | 'member' | 'trusted' | 'anchor'

export type Caller =
  | {
      readonly kind: 'principal'
      readonly id: string
      readonly role: PrincipalRole
      /** What the credential was restricted to; absent means no restriction. */
      readonly restrictions?: CredentialRestrictions
      /** The name that the client gives itself; recorded, never verified. */
      readonly client?: string
    }
  | {
      readonly kind: 'peer'
      readonly id: string
      readonly level: TrustLevel
      /** For whom the peer says that it calls. Only the peer vouches for it, and it grants nothing (ADR 94). */
      readonly actor?: string
    }
  /** A service of this node that calls another on its own behalf. */
  | { readonly kind: 'service'; readonly id: string }

export interface CredentialRestrictions {
  readonly effects?: readonly Effect[]
  readonly profiles?: readonly string[]
  readonly devices?: readonly string[]
}

/** Through which face a call came in; only recorded. */
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
  /** Names the node that must serve the call, where several offer the capability. */
  readonly node?: string | undefined
  /** Set by the guard for a dry run: plan the call and report what would happen, change nothing. */
  readonly rehearsal: boolean
  /** Lock keys held by the call that made this one, so that a service calling a service cannot wait for itself. */
  readonly heldLocks: readonly string[]
  readonly interaction?: CallerInteraction | undefined
  /** The call was refused before it was accepted: it still takes all five stages and is recorded, but never tried. */
  readonly refusal?: Fault | undefined
  /** What the family planned before the guard decided, for the handler that carries it out. */
  readonly planned?: PlannedCall | undefined
  /** The bus's own record of this call. It stays with the call through copies such as `{ ...call, body }`. */
  readonly ticket?: CallTraceRecorder | undefined
  /** The bus, for a handler that makes calls of its own while it works on this one. */
  readonly nestedCalls?: NestedCallRunner | undefined
  /** The contract that a caller on another node means, where the name has several. */
  readonly schemaHash?: string | undefined
  /** Only recorded. */
  readonly work?: TaskOrSessionReference | undefined
  /** Set by the audit for every call that is not a read. */
  readonly recordLateOutcome?: LateOutcomeRecorder | undefined
}

/** What became known about a call after it was answered: by a push, a later read, or because nothing came in time. */
export interface LateChangeOutcome {
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
export type LateOutcomeRecorder = (late: LateChangeOutcome) => Promise<boolean>

/** What a handler may say about a call that it makes while it works on another. */
export interface NestedCallOptions {
  readonly version?: CapabilityVersion
  readonly node?: string | undefined
  readonly sessionId?: string | undefined
  /** May only shorten the time that the parent call has left. */
  readonly timeoutMs?: number | undefined
  /** True: only a provider on this node may serve it. */
  readonly isLocal?: boolean
}

/** Calls made for another call: with its caller, trace, deadline, cancellation, locks and rehearsal. */
export interface NestedCallRunner {
  readonly call: (parent: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions) => Promise<Outcome>
  readonly stream: (parent: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions) => CallStream
}

/** Where stages and transports note what the trace of the call will show. */
export interface CallTraceRecorder {
  /** Adds to the time that a stage of this call took. */
  readonly mark: (stage: string, ms: number) => void
  /** Adds to what crossed a wire for this call. */
  readonly bytes: (received: number, sent: number) => void
  /** A person's decision that a call made for this one asked for or used; the first of them. */
  nestedDecision?: ApprovalOrGrantReference | undefined
  /** Resolves when providers that were cut off have stopped working; `undefined` when none is running. */
  readonly stillWorking?: Promise<void> | undefined
}

/** What some callers can receive while a call runs; what a caller cannot receive is absent. */
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
    /** Set when another node asks: the answers are meant for that node only. */
    readonly node?: string
  }
  readonly usage?: { readonly tokensIn?: number; readonly tokensOut?: number }
  /** The answer to an earlier call with the same idempotency key: nothing was done for this one. */
  readonly replayed?: true
  /**
   * Where the answer comes from: without a node, from this one. The bus sets the node; a handler may add the device.
   */
  readonly from?: ReplyOrigin
  /** Set by the audit. Not sent to other nodes, which have records of their own. */
  readonly record?: CallRecordReference
}

export interface ReplyOrigin {
  readonly node?: string
  /** A device that is attached to that node. */
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
