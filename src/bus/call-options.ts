/**
 * Call options: what a caller may say beside name and body, and the call and ticket that the bus makes of it. A handler
 * sees that call with the way to call on:
 *
 *   context.call(name, body)      an answer          both carry on caller, trace, deadline, cancellation, held locks
 *   context.stream(name, body)    frames, answer     and rehearsal, and pass the whole pipeline for themselves
 *
 * Pure: time comes from outside.
 */
import type { Clock } from '../core/clock.ts'
import type { Fault, WorkReference } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { Call, Caller, CallChannel, CallerInteraction, OnwardCalls, OnwardOptions, Outcome } from './call.ts'
import type { CapabilityName, CapabilityVersion } from './capability.ts'
import type { CapabilityContract } from './contract.ts'
import { LiveTicket } from './ticket.ts'
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
  readonly work?: WorkReference | undefined
}

/** A call of our own may go to one other node, which serves it itself. */
export const DEFAULT_HOPS = 1
/** Whatever a peer allows, no call wanders further than this. */
const MAX_HOPS = 4
/** For names that nobody offers: the chain still writes down that somebody asked. */
const UNKNOWN_TIMEOUT_SECONDS = 30
const NO_LOCKS: readonly string[] = []
const ANY_VERSION: CapabilityVersion = [0, 0]

/** Between nodes time is counted in whole milliseconds: with less than one, nothing is begun. */
const LEAST_TIME_MS = 1

/** The deadline is the caller's or the contract's, whichever comes first. */
export function openCallTicket(
  contract: CapabilityContract | undefined,
  startedMs: number,
  wantedMs = Infinity,
): LiveTicket {
  const limitMs = (contract?.offer.timeoutSeconds ?? UNKNOWN_TIMEOUT_SECONDS) * 1_000
  const isHurried = wantedMs < limitMs
  const deadlineMs = startedMs + (isHurried ? Math.max(0, wantedMs) : limitMs)
  return new LiveTicket({ contract, startedMs, deadlineMs, isHurried })
}

/** Why a call with that much time is refused before anything is tried; `undefined` where there is time enough. */
export function refuseUntimelyCall(name: CapabilityName, wantedMs = Infinity): Fault | undefined {
  if (wantedMs >= LEAST_TIME_MS) return undefined
  if (Number.isNaN(wantedMs))
    return {
      kind: 'invalid-arguments',
      code: 'bad_request',
      message: `The time for ${name} is not a number of milliseconds. Nothing was done.`,
    }
  return {
    kind: 'timed-out',
    code: 'timeout',
    message: `The time for ${name} was over before it began. Nothing was done.`,
  }
}

/** What a caller asks for. Without a version: whatever is listed. */
export interface CallRequest {
  readonly name: CapabilityName
  readonly versionReq: CapabilityVersion | undefined
  readonly body: JsonObject
  readonly isStream: boolean
}

interface NewCallParts {
  readonly options: CallOptions
  readonly refusal: Fault | undefined
  readonly clock: Clock
  readonly onward: OnwardCalls
}

export function newCall(
  { name, versionReq, body, isStream }: CallRequest,
  ticket: LiveTicket,
  { options, refusal, clock, onward }: NewCallParts,
): HandlerContext {
  return {
    capability: name,
    versionReq: versionReq ?? ticket.contract?.offer.version ?? ANY_VERSION,
    body,
    caller: options.caller,
    channel: options.channel,
    traceId: options.traceId ?? newUlid(clock.now()),
    parentSpan: options.parentSpan,
    sessionId: options.sessionId,
    deadlineMs: ticket.deadlineMs,
    isStream,
    signal: ticket.signal,
    hopBudget: options.hopBudget ?? DEFAULT_HOPS,
    node: options.node,
    rehearsal: options.rehearsal ?? false,
    heldLocks: options.heldLocks ?? NO_LOCKS,
    interaction: options.interaction,
    work: options.work,
    refusal,
    ticket,
    onward,
    call: ONWARD_CALL_METHODS.call,
    stream: ONWARD_CALL_METHODS.stream,
  }
}

/**
 * What a call that is made for another takes over from it. The deadline shrinks, the hop budget too: a call that
 * another node sent here with its last hop is not sent on.
 */
export function deriveOnwardOptions(
  parent: Call,
  { node, sessionId, timeoutMs = Infinity, isLocal = false }: OnwardOptions,
  nowMs: number,
): CallOptions {
  const { caller, channel, traceId, parentSpan, signal, heldLocks, interaction, rehearsal, work } = parent
  return {
    caller,
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

/** A peer's call with this node's deadline and signal; what the peer says about hops is believed up to a bound. */
export function createReceivedCall(
  inbound: Omit<Call, 'signal'>,
  ticket: LiveTicket,
  {
    isStream,
    refusal,
    onward,
  }: { readonly isStream: boolean; readonly refusal: Fault | undefined; readonly onward: OnwardCalls },
): HandlerContext {
  return {
    ...inbound,
    deadlineMs: ticket.deadlineMs,
    signal: ticket.signal,
    isStream,
    hopBudget: limitHops(inbound.hopBudget),
    ticket,
    refusal,
    onward,
    call: ONWARD_CALL_METHODS.call,
    stream: ONWARD_CALL_METHODS.stream,
  }
}

export function limitHops(hopBudget: number): number {
  return Math.min(Math.max(0, Math.floor(hopBudget)), MAX_HOPS)
}

export interface HandlerContext extends Call {
  /** Never rejects. */
  readonly call: (this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => Promise<Outcome>
  readonly stream: (this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => CallStream
}

/**
 * The bus makes every call with both functions. They look at the call that they are called on, so that one that a stage
 * has copied with a lock or a parsed body carries these on, and nothing has to be made per handler.
 */
export const ONWARD_CALL_METHODS: Pick<HandlerContext, 'call' | 'stream'> = { call: callOnward, stream: streamOnward }

export function createHandlerContext(call: Call | HandlerContext): HandlerContext {
  return 'call' in call ? call : { ...call, ...ONWARD_CALL_METHODS }
}

function callOnward(this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions): Promise<Outcome> {
  return onwardOf(this).call(this, name, body, options)
}

function streamOnward(this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions): CallStream {
  return onwardOf(this).stream(this, name, body, options)
}

/** Every call that the bus hands out has it; one that was built from nothing leads nowhere. */
function onwardOf({ onward, capability }: Call): OnwardCalls {
  if (onward === undefined) throw new TypeError(`a call of ${capability} that no bus carries cannot call on`)
  return onward
}
