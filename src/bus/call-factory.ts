/**
 * Call factory: what a caller may say beside name and body, and the call and ticket that the bus makes of it. A handler
 * sees that call with two methods for making further calls:
 *
 *   context.call(name, body)      an answer          both carry on caller, trace, deadline, cancellation, held locks
 *   context.stream(name, body)    frames, answer     and rehearsal, and pass through the whole pipeline
 */
import type { Fault, TaskOrSessionReference } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type {
  Call,
  Caller,
  CallChannel,
  CallerInteraction,
  NestedCallRunner,
  NestedCallOptions,
  Outcome,
} from './call.ts'
import type { CapabilityName, CapabilityVersion } from './capability.ts'
import type { ContractWithProviders } from './contract.ts'
import type { RouteRequest } from './route-request-matching.ts'
import { RunningCallTicket } from './call-ticket.ts'
import type { TraceIdSource } from './call-ticket.ts'
import type { CallStream } from './call-stream.ts'

export interface CallOptions {
  readonly caller: Caller
  readonly channel: CallChannel
  readonly traceId?: string | undefined
  readonly parentSpan?: string | undefined
  readonly sessionId?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly node?: string | undefined
  readonly hopBudget?: number | undefined
  readonly heldLocks?: readonly string[] | undefined
  readonly rehearsal?: boolean | undefined
  readonly interaction?: CallerInteraction | undefined
  readonly work?: TaskOrSessionReference | undefined
}

/** A call that starts on this node may be sent to one other node, which serves it itself. */
const DEFAULT_HOP_BUDGET = 1
/** Upper limit of the hop budget, whatever a peer asks for. */
const MAX_HOPS = 4
/** The time-out for names that nobody offers: such a call is recorded as well. */
const UNKNOWN_TIMEOUT_SECONDS = 30
const NO_LOCKS: readonly string[] = []
const ANY_VERSION: CapabilityVersion = [0, 0]

/** Nodes exchange times in whole milliseconds, so a call with less than one millisecond left is not begun. */
const LEAST_TIME_MS = 1

/** The deadline is the caller's or the contract's, whichever comes first. */
export function openCallTicket(
  contract: ContractWithProviders | undefined,
  startedMs: number,
  wantedMs = Infinity,
): RunningCallTicket {
  const limitMs = (contract?.offer.timeoutSeconds ?? UNKNOWN_TIMEOUT_SECONDS) * 1_000
  const isHurried = typeof wantedMs === 'number' && wantedMs < limitMs
  const deadlineMs = startedMs + (isHurried ? Math.max(0, wantedMs) : limitMs)
  return new RunningCallTicket({ contract, startedMs, deadlineMs, isHurried })
}

/** Why a call with that little time is refused before anything is tried; `undefined` where there is enough. */
export function checkRequestedCallTimeout(name: CapabilityName, wantedMs = Infinity): Fault | undefined {
  // A program that uses the package may be JavaScript, so the type is checked at run time.
  const isTime = typeof wantedMs === 'number' && !Number.isNaN(wantedMs)
  if (isTime && wantedMs >= LEAST_TIME_MS) return undefined
  if (!isTime)
    return {
      kind: 'invalid-arguments',
      code: 'bad_request',
      message: `The time limit of ${name} is not a number of milliseconds. Nothing was done.`,
    }
  return {
    kind: 'timed-out',
    code: 'timeout',
    message: `The time limit of ${name} passed before it began. Nothing was done.`,
  }
}

/**
 * A call made for another one may have needed a person's decision. The record of the outer call names it, unless the
 * outer call has a decision of its own.
 */
export function noteNestedDecision({ ticket }: Call, outcome: Outcome): void {
  const record = outcome.ok ? outcome.value.record : outcome.fault.record
  const { approval, grant } = record ?? {}
  if (ticket === undefined || (approval ?? grant) === undefined) return
  ticket.nestedDecision ??= { ...(approval && { approval }), ...(grant && { grant }) }
}

/** What a caller asks for. Without a version: whatever is listed. */
export interface CallRequest {
  readonly name: CapabilityName
  readonly versionReq: CapabilityVersion | undefined
  readonly body: JsonObject
  readonly isStream: boolean
}

export function toRouteRequest({ name, versionReq, body }: CallRequest, options: CallOptions): RouteRequest {
  const { caller, node, sessionId, hopBudget = DEFAULT_HOP_BUDGET } = options
  return { capability: name, versionReq, body, caller, node, sessionId, hopBudget, schemaHash: undefined }
}

interface NewCallParts {
  readonly options: CallOptions
  readonly refusal: Fault | undefined
  readonly traceIds: TraceIdSource
  readonly nestedCalls: NestedCallRunner
}

/**
 * A call that begins on this node. Like everything that is made for every call and refers to the rest of it, it is a
 * class: V8 may come to allocate an object from a literal among long-lived ones, and the whole call would then stay in
 * memory with it (ADR 250).
 */
export class LocallyStartedCall implements HandlerContext {
  readonly capability: CapabilityName
  readonly versionReq: CapabilityVersion
  readonly body: JsonObject
  readonly caller: Caller
  readonly channel: CallChannel
  readonly traceId: string
  readonly parentSpan: string | undefined
  readonly sessionId: string | undefined
  readonly deadlineMs: number
  readonly isStream: boolean
  readonly signal: AbortSignal
  readonly hopBudget: number
  readonly node: string | undefined
  readonly rehearsal: boolean
  readonly heldLocks: readonly string[]
  readonly interaction: CallerInteraction | undefined
  readonly work: TaskOrSessionReference | undefined
  readonly refusal: Fault | undefined
  readonly ticket: RunningCallTicket
  readonly nestedCalls: NestedCallRunner
  readonly call: HandlerContext['call']
  readonly stream: HandlerContext['stream']

  constructor(
    wanted: CallRequest,
    ticket: RunningCallTicket,
    { options, refusal, traceIds, nestedCalls }: NewCallParts,
  ) {
    this.capability = wanted.name
    this.versionReq = wanted.versionReq ?? ticket.contract?.offer.version ?? ANY_VERSION
    this.body = wanted.body
    this.caller = options.caller
    this.channel = options.channel
    this.traceId = options.traceId ?? traceIds.mintFor(ticket)
    this.parentSpan = options.parentSpan
    this.sessionId = options.sessionId
    this.deadlineMs = ticket.deadlineMs
    this.isStream = wanted.isStream
    this.signal = ticket.signal
    this.hopBudget = options.hopBudget ?? DEFAULT_HOP_BUDGET
    this.node = options.node
    this.rehearsal = options.rehearsal ?? false
    this.heldLocks = options.heldLocks ?? NO_LOCKS
    this.interaction = options.interaction
    this.work = options.work
    this.refusal = refusal
    this.ticket = ticket
    this.nestedCalls = nestedCalls
    // An own property, so that a stage's copy of the call has it, too.
    this.call = callNested
    this.stream = streamNested
  }
}

/**
 * The options that a nested call takes over from the call that it is made for. Deadline and hop budget shrink: a call
 * that another node sent here with its last hop is not forwarded.
 */
export function deriveNestedCallOptions(
  parent: Call,
  { node, sessionId, timeoutMs = Infinity, isLocal = false }: NestedCallOptions,
  nowMs: number,
): CallOptions {
  const { channel, traceId, parentSpan, signal, heldLocks, interaction, rehearsal, work } = parent
  return {
    caller: deriveNestedCaller(parent),
    channel,
    traceId,
    parentSpan,
    signal,
    heldLocks,
    interaction,
    rehearsal,
    work,
    sessionId,
    node,
    hopBudget: isLocal ? 0 : parent.hopBudget,
    timeoutMs: Math.min(timeoutMs, Math.max(0, parent.deadlineMs - nowMs)),
  }
}

/**
 * The caller itself. Behind a tool that composes, the caller's profiles no longer restrict it; its effects and devices
 * still do.
 */
function deriveNestedCaller({ caller, ticket }: Call): Caller {
  const composes = ticket instanceof RunningCallTicket && ticket.contract?.offer.composes === true
  if (!composes || caller.kind !== 'principal' || caller.restrictions?.profiles === undefined) return caller
  const { profiles: _profiles, ...restrictions } = caller.restrictions
  return { ...caller, restrictions }
}

/** A peer's call with this node's deadline and signal; the peer's hop budget is accepted up to a limit. */
export function createPeerCallHandlerContext(
  inbound: Omit<Call, 'signal'>,
  ticket: RunningCallTicket,
  {
    isStream,
    refusal,
    nestedCalls,
  }: { readonly isStream: boolean; readonly refusal: Fault | undefined; readonly nestedCalls: NestedCallRunner },
): HandlerContext {
  return {
    ...inbound,
    deadlineMs: ticket.deadlineMs,
    signal: ticket.signal,
    isStream,
    hopBudget: limitHopBudget(inbound.hopBudget),
    ticket,
    refusal,
    nestedCalls,
    call: NESTED_CALL_FUNCTIONS.call,
    stream: NESTED_CALL_FUNCTIONS.stream,
  }
}

export function limitHopBudget(hopBudget: number): number {
  return Math.min(Math.max(0, Math.floor(hopBudget)), MAX_HOPS)
}

export interface HandlerContext extends Call {
  /** Never rejects. */
  readonly call: (this: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions) => Promise<Outcome>
  readonly stream: (this: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions) => CallStream
}

/**
 * The bus adds both functions to every call. They use the call that they are called on (`this`), so a stage that copies
 * a call with a lock or a parsed body needs to add nothing.
 */
export const NESTED_CALL_FUNCTIONS: Pick<HandlerContext, 'call' | 'stream'> = { call: callNested, stream: streamNested }

export function createHandlerContext(call: Call | HandlerContext): HandlerContext {
  return 'call' in call ? call : { ...call, ...NESTED_CALL_FUNCTIONS }
}

function callNested(this: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions): Promise<Outcome> {
  return nestedCallsOf(this).call(this, name, body, options)
}

function streamNested(this: Call, name: CapabilityName, body: JsonObject, options?: NestedCallOptions): CallStream {
  return nestedCallsOf(this).stream(this, name, body, options)
}

/**
 * Returns the function that a call's context makes further calls with. A call object that was not made by the bus lacks
 * it.
 */
function nestedCallsOf({ nestedCalls, capability }: Call): NestedCallRunner {
  if (nestedCalls === undefined) throw new TypeError(`a call of ${capability} that no bus carries cannot call on`)
  return nestedCalls
}
