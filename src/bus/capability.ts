/**
 * Capability: everything callable, described once. From this one value come the bus registration, the MCP tool, the
 * CLI help and docs/contract.md (spec 2 § 3.1).
 */
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Fault, PolicyReason } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { Call, ContentBlock, StreamFrame, Outcome } from './call.ts'

export type CapabilityName = string
export type CapabilityVersion = readonly [major: number, minor: number]
export type Stability = 'stable' | 'beta' | 'experimental'
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Ordered by how much can go wrong: what drives the guard and the MCP annotations. */
export const EFFECTS = ['reads', 'records', 'writes', 'sensitive', 'admin'] as const
export type Effect = (typeof EFFECTS)[number]

/** The contract of one capability of one service: what its schema hash covers, and how it may be called. */
export interface CapabilityDescriptor {
  readonly name: CapabilityName
  readonly version: CapabilityVersion
  readonly stability: Stability
  readonly requestSchema: JsonSchema
  /** `undefined` for a pure stream. */
  readonly responseSchema: JsonSchema | undefined
  /** Of a whole frame, `{ event, data }`; `undefined` for what does not stream. */
  readonly streamSchema: JsonSchema | undefined
  /** Instance parameters, e.g. `{ model: '…' }`. Two instances of one capability differ in these. */
  readonly params: JsonObject
  readonly maxConcurrent: number
  readonly trustRequired: 'member' | 'trusted' | 'anchor' | 'self'
  readonly timeoutSeconds: number
  readonly idempotent: boolean
}

export interface Offer extends CapabilityDescriptor {
  readonly title: string
  /** What it does to the house, for a model. */
  readonly description: string
  readonly effect: Effect
  /** What its handler must not overlap with. A function sees the body before validation and trusts nothing in it. */
  readonly lock: string | ((body: JsonObject) => string | undefined) | undefined
  readonly family: FamilyEnvelope
  readonly face: McpExposure
  /** Checks and completes the body (defaults filled in). Absent: the request schema decides. */
  readonly accept?: (body: JsonObject) => Result<JsonObject, readonly ArgumentIssue[]>
  /** Which of a caller's `params` this instance can serve. As data it travels to peers; as a function it stays here. */
  readonly matches?: ParamsMatchRules | ParamsMatcherFunction
  /** True for a decision about other callers' calls: approvers may make it as well. */
  readonly forApprovers?: boolean
  /**
   * True: providers of this name and these params do the same on every node, so a call may go to whichever is best.
   * Absent: it acts on what is attached to its own node, so a call never goes to another node by itself.
   */
  readonly anywhere?: boolean
  /**
   * True: the calls that its handler makes are what the tool itself does, and no choice of the caller's. A credential that
   * is restricted to profiles needs this tool in one of them, and not each tool behind it. Absent for a tool that calls
   * whatever its caller names.
   */
  readonly composes?: boolean
  /**
   * True: another node announced it. Its schemas are evaluated in bounded steps and never compiled; that holds for every
   * copy of the offer, such as one with a stricter effect.
   */
  readonly isFromPeer?: true
  /**
   * Finds out once, before the guard decides, what this call would do. Absent for reads and records without an
   * assessment, and for offers of other nodes, which plan and decide themselves.
   */
  readonly plan?: (call: Call) => PlannedCall | Promise<PlannedCall>
  /** Names of arguments that must never be stored, beside those that are recognised by their names. */
  readonly secrets?: readonly string[]
  readonly completeClaims?: ConfirmationArgumentCompleter
}

/**
 * Claims are arguments by which a caller only confirms that it means the call: `confirm`, `intent`, `why`, a key. Given
 * the body of a call, the function returns the missing claims, each with a true value that the caller can send
 * unchanged.
 */
export type ConfirmationArgumentCompleter = (body: JsonObject, call: { readonly traceId: string }) => JsonObject

/** How MCP clients see it. Every kind is the same capability behind the same five stages. */
export type McpExposure =
  /** `unlisted`: can be called by name like any other, but is not listed while it would only fail. */
  | { readonly kind: 'tool'; readonly unlisted?: boolean }
  | {
      readonly kind: 'resource'
      /** A URI, or an RFC 6570 template whose variables become the body. */
      readonly uri: string
      readonly mimeType: string
    }
  | { readonly kind: 'prompt'; readonly arguments: readonly PromptArgument[] }
  /** On the bus for services and peers, not in an MCP list. */
  | { readonly kind: 'service' }

export interface PromptArgument {
  readonly name: string
  readonly description: string
  readonly required: boolean
  readonly complete?: (typed: string) => readonly string[] | Promise<readonly string[]>
}

export interface ArgumentIssue {
  /** Path into the body, e.g. `['slots', 0, 'start']`. */
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly code: string
}

/** The envelope that an offer's answers are written in. A family only formats; it decides nothing. */
export interface FamilyEnvelope {
  readonly name: string
  /** The list of everything shows its tools in short; they are complete at `/mcp/<name>` and in docs/contract.md. */
  readonly isListedInShort?: boolean
  /** The structured content of a success; `replayed` when it is the answer to an earlier call with the same key. */
  readonly success: (data: Json, offer: Offer, replayed?: boolean) => Json
  /**
   * The structured content of a failure, and whether MCP shows it as an error. `listed` translates a tool's name into
   * the spelling of the reader's own list.
   */
  readonly failure: (
    fault: Fault,
    offer: Offer,
    listed?: (tool: CapabilityName) => string,
  ) => { readonly structured: Json; readonly isError: boolean; readonly content?: readonly ContentBlock[] }
  /**
   * The MCP output schema: what `success`, and a failure that is not `isError`, can look like. Its root is an object.
   * Absent: the family's tools are listed without one, because every answer is a sentence with a few fields.
   */
  readonly outputSchema?: (offer: Offer) => JsonSchema | undefined
}

/** What a family plans for one call before anything is decided: guard, approver and handler read the same value. */
export interface PlannedCall {
  /** The offer that planned it: no other offer may carry it out. */
  readonly offer: Offer
  readonly assessment: CallAssessment
  /** For the family's own `act`. A fault is the caller's mistake: it is the answer, and nothing is tried. */
  readonly plan: Result<unknown, Fault>
}

/** What one call would do, as facts for the guard and the approver. */
export interface CallAssessment {
  readonly effect: Effect
  /** What is acted on, e.g. `homeseer:ref:4711`: approvals, restrictions and the owner's rules name it so. */
  readonly target?: string
  /** The part that needs rest between changes and wears out, if it is only a part of the target. Absent: the target. */
  readonly actuator?: string
  /** Other actuators that this call would move: the owner's rules, limits and restrictions hold for them as well. */
  readonly touches?: readonly string[]
  /**
   * Actuators that the call might move, or would move later: what the owner's rules forbid for them is forbidden for
   * this call.
   */
  readonly mayTouch?: readonly string[]
  /** What a person would call it, e.g. `Front door lock (Hall)`. */
  readonly label?: string
  /** The caller asked for a plan only. */
  readonly dryRun?: boolean
  readonly idempotencyKey?: string
  /** The arguments that the idempotency key stands for, where others only say how to proceed. Absent: all of them. */
  readonly keyedChange?: JsonObject
  /** Every reason for which the family's own contract refuses this call; empty when it does not. */
  readonly reasons: readonly PolicyReason[]
  /** What a refusal of this call reports beside its reasons, as details of the fault. */
  readonly refusal?: JsonObject
  /** Before → after, for the approver. */
  readonly preview?: JsonObject
}

/** Spec 2 § 5.5 as data: every key that the caller asks for must pass its test against the offered value. */
export type ParamsMatchRules = { readonly [param: string]: 'equals' | 'one-of' | 'minimum' | 'subset' }
export type ParamsMatcherFunction = (offered: JsonObject, requested: JsonObject) => boolean

export type UnaryHandler = (call: Call) => Promise<Outcome>
/** Yields frames; what it returns is the outcome. */
export type StreamHandler = (call: Call) => AsyncGenerator<StreamFrame, Outcome, void>

export type Capability =
  | { readonly offer: Offer; readonly handle: UnaryHandler }
  | { readonly offer: Offer; readonly handleStream: StreamHandler }

/** What a family registers on the bus: the named owner of a prefix, with its own start and stop. */
export interface Service {
  readonly name: string
  /** Every capability name starts with one of these; `''` is for families whose spec gives their names no prefix. */
  readonly prefixes: readonly string[]
  readonly capabilities: () => readonly Capability[]
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly health: () => ServiceHealth
  /** Tests whether the service is ready, which may take a moment; absent where `health` is enough. */
  readonly probe?: () => Promise<ServiceHealth>
  /**
   * What the doctor says about this service; absent where `health` says it all. A service of this program calls the
   * examination that the doctor calls before a start, and adds what only a running service knows.
   */
  readonly examine?: () => Promise<readonly DoctorFinding[]>
  /**
   * The version of the service itself, whatever its capabilities' versions are; absent for services of this program.
   */
  readonly version?: string
}

export interface ServiceHealth {
  readonly status: 'ok' | 'degraded' | 'failing'
  readonly details: JsonObject
}

/**
 * A service whose far end is away is only degraded, since the gateway itself works; but the house does not, so the
 * doctor reports a failure.
 */
export function toHealthFinding(about: string, { status, details }: ServiceHealth): DoctorFinding {
  const { advice, away } = details
  const level = away === true || status === 'failing' ? 'fail' : status === 'degraded' ? 'warn' : 'ok'
  return { level, about, sentence: typeof advice === 'string' ? advice : `is ${away === true ? 'failing' : status}.` }
}

export function formatCapabilityVersion(version: CapabilityVersion): string {
  return `${version[0]}.${version[1]}`
}
