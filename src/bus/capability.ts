/**
 * Capability: everything callable, described once. From this one value come the bus registration, the MCP tool, the
 * CLI help and docs/contract.md (spec 2 § 3.1).
 */
import type { Fault, Reason } from '../core/fault.ts'
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
  readonly family: Family
  readonly face: McpExposure
  /** Checks and completes the body (defaults filled in). Absent: the request schema decides. */
  readonly accept?: (body: JsonObject) => Result<JsonObject, readonly ArgumentIssue[]>
  /** Which of a caller's `params` this instance can serve. As data it travels to peers; as a function it stays here. */
  readonly matches?: ParamsMatcher | ParamsPredicate
  /** A decision about calls of others: approvers make it as well. */
  readonly forApprovers?: boolean
  /**
   * True: any node's provider of this name and params does the same, so a call may go to whichever is best. Absent: it
   * acts on what is attached to its own node; the same name elsewhere is another house, and no call drifts there.
   */
  readonly anywhere?: boolean
  /**
   * True: another node announced it. Its schemas are evaluated in bounded steps and never compiled; that holds for every
   * copy of the offer, such as one with a stricter effect.
   */
  readonly isFromPeer?: true
  /**
   * What this very call would do, found out once, before the guard decides. Absent for reads and records that claim
   * nothing, and for offers of other nodes, which plan and judge for themselves.
   */
  readonly plan?: (call: Call) => PlannedCall | Promise<PlannedCall>
  /** Names of arguments that must never be stored, beyond those whose names give them away. */
  readonly secrets?: readonly string[]
}

/** Where models meet it. Every face is the same capability behind the same five stages. */
export type McpExposure =
  /** `unlisted`: called by name as any other, and in no list while it would only fail. */
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

/** Whose envelope an offer answers in. A family only spells; it decides nothing. */
export interface Family {
  readonly name: string
  /** The list of everything shows its tools in short; they are complete at `/mcp/<name>` and in docs/contract.md. */
  readonly isListedInShort?: boolean
  /** The structured content of a success; `replayed` when it is the answer to an earlier call with the same key. */
  readonly success: (data: Json, offer: Offer, replayed?: boolean) => Json
  /**
   * The structured content of a failure, and whether MCP shows it as an error. `listed` is how the reader's own list
   * spells a tool, where that is another way than ours.
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

/** What a family makes of one call before anything is decided: guard, approver and handler read the same value. */
export interface PlannedCall {
  /** Who planned it: no other offer carries it out. */
  readonly offer: Offer
  readonly assessment: Assessment
  /** For the family's own `act`. A fault is the caller's mistake: it is the answer, and nothing is tried. */
  readonly plan: Result<unknown, Fault>
}

/** What one call would do, in the family's words turned into facts, for guard and approver. */
export interface Assessment {
  readonly effect: Effect
  /** What is acted on, for approvals, credentials and the owner's overrides, e.g. `homeseer:ref:4711`. */
  readonly target?: string
  /** What rests between two changes and wears out, where that is only a part of the target; absent: the target. */
  readonly actuator?: string
  /** Other actuators that this call would move: the owner's word, limits and credentials hold for them, too. */
  readonly touches?: readonly string[]
  /** Actuators that it might move, or would move later on: what the owner forbids of them is forbidden to it, too. */
  readonly mayTouch?: readonly string[]
  /** What a person would call it, e.g. `Front door lock (Hall)`. */
  readonly label?: string
  /** The caller asked for a plan only. */
  readonly dryRun?: boolean
  readonly idempotencyKey?: string
  /** The part of the arguments that the key stands for, where others only say how to go about it. Absent: all. */
  readonly keyedChange?: JsonObject
  /** Why the family's own contract refuses this call, all reasons at once; empty means that it does not. */
  readonly reasons: readonly Reason[]
  /** What a refusal of this call tells beside its reasons, as details of the fault. */
  readonly refusal?: JsonObject
  /** Before → after, for the approver. */
  readonly preview?: JsonObject
}

/** Spec 2 § 5.5 as data: every key that the caller asks for must pass its test against the offered value. */
export type ParamsMatcher = { readonly [param: string]: 'equals' | 'one-of' | 'minimum' | 'subset' }
export type ParamsPredicate = (offered: JsonObject, requested: JsonObject) => boolean

export type UnaryHandler = (call: Call) => Promise<Outcome>
/** Yields frames; what it returns is the outcome. */
export type StreamHandler = (call: Call) => AsyncGenerator<StreamFrame, Outcome, void>

export type Capability =
  | { readonly offer: Offer; readonly handle: UnaryHandler }
  | { readonly offer: Offer; readonly handleStream: StreamHandler }

/** What a family gives to the bus: a named owner of a prefix, with a life of its own. */
export interface Service {
  readonly name: string
  /** Every capability name starts with one of these; `''` is for families whose spec gives their names no prefix. */
  readonly prefixes: readonly string[]
  readonly capabilities: () => readonly Capability[]
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly health: () => ServiceHealth
  /** A closer look, by trying, that may take a moment; absent where `health` says it all. */
  readonly examine?: () => Promise<ServiceHealth>
  /** Of the service itself, whatever its capabilities' versions are; absent for what comes with this program. */
  readonly version?: string
}

export interface ServiceHealth {
  readonly status: 'ok' | 'degraded' | 'failing'
  readonly details: JsonObject
}

export function formatCapabilityVersion(version: CapabilityVersion): string {
  return `${version[0]}.${version[1]}`
}
