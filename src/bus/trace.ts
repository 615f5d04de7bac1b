/**
 * Trace: the last 10,000 calls, with where they went, how they ended and what each stage took; and what is counted about
 * every call, in plain numbers, of which metrics and `stats` are made when somebody asks (spec 2 § 3.6).
 *
 * A ring buffer whose slots are reused: once it is full, recording a call allocates nothing.
 */
import type { Clock } from '../core/clock.ts'
import type { Call, Caller, CallChannel, Outcome } from './call.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { CapabilityVersion } from './capability.ts'
import type { RunningCallTicket } from './call-ticket.ts'
import type { JsonObject } from '../core/json.ts'
import { mapFaultToErrorCode } from './error-code.ts'
import type { ErrorCode } from './error-code.ts'

export const TRACE_BUFFER_CAPACITY = 10_000
const RUNNING = 'running'

export interface CallTraceRecord {
  /** RFC 3339 with milliseconds: when the call ended, or now while it runs. */
  readonly ts: string
  readonly traceId: string
  readonly capability: string
  readonly version: string
  readonly fromNode: string
  /** `undefined` for a call that reached no provider. */
  readonly toNode: string | undefined
  readonly isLocal: boolean
  /** `ok`, or the fault's code or kind; `running` for a call that has not ended. */
  readonly result: string
  readonly ms: number
  readonly tokensIn?: number
  readonly tokensOut?: number
  /** Bytes from and to another node; 0 for a call that stays here. */
  readonly bytesIn: number
  readonly bytesOut: number
  readonly caller: string
  readonly channel: CallChannel
  readonly attempts: number
  readonly frames: number
  /** Milliseconds by stage: `lock`, `validate` …, and `provider` for the provider's own time. */
  readonly stages: Readonly<Record<string, number>>
}

/** The stored event: scalars only, so that no body and no secret outlives its call here. */
interface Slot {
  /** Monotonic; the wall-clock time is computed on request. */
  endedMs: number
  /**
   * A trace id in two parts that many events share: ten thousand strings of their own would be copied by every garbage
   * collection.
   */
  traceHead: string
  traceTail: string
  capability: string
  version: CapabilityVersion
  fromNode: string
  toNode: string | undefined
  isLocal: boolean
  result: string
  ms: number
  providerMs: number
  tokensIn: number | undefined
  tokensOut: number | undefined
  bytesIn: number
  bytesOut: number
  caller: string
  channel: CallChannel
  attempts: number
  frames: number
  stages: Readonly<Record<string, number>> | undefined
}

export class TraceBuffer {
  readonly #nodeId: string
  readonly #clock: Clock
  readonly #slots: Slot[] = []
  #recorded = 0

  constructor(nodeId: string, clock: Clock) {
    this.#nodeId = nodeId
    this.#clock = clock
  }

  /** How many calls there have been since the start, including those no longer in the ring. */
  get recorded(): number {
    return this.#recorded
  }

  /** Adds the call to the running ones. */
  onCallStart(call: Call, ticket: RunningCallTicket): void {
    ticket.call = call
  }

  /** The call has ended and its ticket is complete. */
  onCallEnd(call: Call, ticket: RunningCallTicket, outcome: Outcome): void {
    const usage = outcome.ok ? outcome.value.usage : undefined
    const slot = this.#nextSlot()
    this.#describe(slot, call, ticket)
    slot.endedMs = ticket.startedMs + ticket.totalMs
    slot.result = resultOf(outcome)
    slot.ms = ticket.totalMs
    slot.tokensIn = usage?.tokensIn
    slot.tokensOut = usage?.tokensOut
  }

  /** The running calls among the tickets, oldest first, with what is known so far. */
  running(tickets: readonly RunningCallTicket[]): readonly CallTraceRecord[] {
    const nowMs = this.#clock.monotonic()
    const wallOffsetMs = this.#clock.now() - nowMs
    return tickets
      .toSorted((one, other) => one.startedMs - other.startedMs)
      .flatMap((ticket) => (ticket.call === undefined ? [] : this.#runningSlot(ticket.call, ticket, nowMs)))
      .map((slot) => eventOf(slot, wallOffsetMs))
  }

  #runningSlot(call: Call, ticket: RunningCallTicket, nowMs: number): Slot {
    const slot = emptySlot()
    this.#describe(slot, call, ticket)
    return { ...slot, endedMs: nowMs, result: RUNNING, ms: nowMs - ticket.startedMs }
  }

  #describe(slot: Slot, call: Call, ticket: RunningCallTicket): void {
    const { entry } = ticket
    const isMinted = call.traceId === ticket.mintedTraceId
    slot.traceHead = isMinted ? ticket.traceHead : call.traceId
    slot.traceTail = isMinted ? ticket.traceTail : ''
    slot.capability = call.capability
    slot.version = entry?.offer.version ?? call.versionReq
    slot.fromNode = call.caller.kind === 'peer' ? call.caller.id : this.#nodeId
    slot.toNode = entry?.nodeId
    slot.isLocal = entry?.isLocal ?? true
    slot.providerMs = ticket.providerMs
    slot.bytesIn = ticket.receivedBytes
    slot.bytesOut = ticket.sentBytes
    slot.caller = callerName(call.caller)
    slot.channel = call.channel
    slot.attempts = ticket.attempts
    slot.frames = ticket.frames
    slot.stages = ticket.stages
  }

  /** Newest first. */
  recent(count = 50): readonly CallTraceRecord[] {
    const held = Math.min(this.#recorded, TRACE_BUFFER_CAPACITY, Math.max(0, count))
    const wallOffsetMs = this.#clock.now() - this.#clock.monotonic()
    return Array.from({ length: held }, (_, back) =>
      eventOf(this.#slots[(this.#recorded - 1 - back) % TRACE_BUFFER_CAPACITY] ?? emptySlot(), wallOffsetMs),
    )
  }

  #nextSlot(): Slot {
    const at = this.#recorded++ % TRACE_BUFFER_CAPACITY
    return (this.#slots[at] ??= emptySlot())
  }
}

/** The peer's node id, and the caller for whom that node says that it calls. */
function callerName(caller: Caller): string {
  return caller.kind === 'peer' && caller.actor !== undefined ? `${caller.id}/${caller.actor}` : caller.id
}

function resultOf(outcome: Outcome): string {
  return outcome.ok ? 'ok' : (outcome.fault.code ?? outcome.fault.kind)
}

function emptySlot(): Slot {
  return {
    endedMs: 0,
    traceHead: '',
    traceTail: '',
    capability: '',
    version: [0, 0],
    fromNode: '',
    toNode: undefined,
    isLocal: true,
    result: '',
    ms: 0,
    providerMs: 0,
    tokensIn: undefined,
    tokensOut: undefined,
    bytesIn: 0,
    bytesOut: 0,
    caller: '',
    channel: 'service',
    attempts: 0,
    frames: 0,
    stages: undefined,
  }
}

function eventOf(slot: Slot, wallOffsetMs: number): CallTraceRecord {
  const { endedMs, traceHead, traceTail, version, tokensIn, tokensOut, stages, providerMs, ...same } = slot
  return {
    ...same,
    ts: new Date(endedMs + wallOffsetMs).toISOString(),
    traceId: traceHead + traceTail,
    version: formatCapabilityVersion(version),
    ...(tokensIn === undefined ? {} : { tokensIn }),
    ...(tokensOut === undefined ? {} : { tokensOut }),
    stages: { ...stages, ...(slot.toNode === undefined ? {} : { provider: providerMs }) },
  }
}

/** Upper bounds in milliseconds (X03), finer at the lower end: a local call takes microseconds. */
export const DURATION_BUCKETS_MS: readonly number[] = [0.1, 0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]

export class CapabilityTally {
  ok = 0
  readonly errors = new Map<ErrorCode, number>()
  /** Not cumulative; the last one is for everything beyond the bounds. */
  readonly durations = new Float64Array(DURATION_BUCKETS_MS.length + 1)
  durationSumMs = 0
  activeStreams = 0

  get calls(): number {
    let errors = 0
    for (const count of this.errors.values()) errors += count
    return this.ok + errors
  }

  count(outcome: Outcome, ms: number): void {
    if (outcome.ok) {
      this.ok++
    } else {
      const code = mapFaultToErrorCode(outcome.fault)
      this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
    }
    let bucket = 0
    while (ms > (DURATION_BUCKETS_MS[bucket] ?? Infinity)) bucket++
    this.durations[bucket] = (this.durations[bucket] ?? 0) + 1
    this.durationSumMs += ms
  }
}

/** Names that nobody offers are counted together, or a caller could fill the memory with invented names. */
export const UNKNOWN_CAPABILITY_LABEL = 'unknown'

/** Further capabilities are counted together. */
const MAX_CAPABILITIES = 5_000
const MAX_MODELS = 1_000
const MAX_RULES = 200

interface Tokens {
  readonly model: string
  readonly backend: string
  tokens: number
}

export class CallCounters {
  readonly byCapability = new Map<string, CapabilityTally>()
  readonly tokens = new Map<string, Tokens>()
  /** How often each rule refused a call. */
  readonly refusals = new Map<string, number>()
  quarantines = 0
  retries = 0
  hedges = 0
  /** Providers that were cut off because they ignored their signal. */
  cutOff = 0

  /** The provider's params say which model it is. */
  countTokens(params: JsonObject, tokens: number): void {
    const model = typeof params['model'] === 'string' ? params['model'] : ''
    const backend = typeof params['backend'] === 'string' ? params['backend'] : ''
    const key = `${model}\n${backend}`
    const known = this.tokens.get(key)
    if (known !== undefined) known.tokens += tokens
    else if (this.tokens.size < MAX_MODELS) this.tokens.set(key, { model, backend, tokens })
  }

  /** Rule names of our own are few; those that a peer sends are limited in number. */
  countRefusal(outcome: Outcome): void {
    if (outcome.ok) return
    for (const { rule } of outcome.fault.reasons ?? []) {
      const key = this.refusals.has(rule) || this.refusals.size < MAX_RULES ? rule : 'other'
      this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1)
    }
  }

  of(name: string): CapabilityTally {
    const known = this.byCapability.get(name)
    if (known !== undefined) return known
    // Devices come and go for years, and each may bring new names.
    if (this.byCapability.size >= MAX_CAPABILITIES && name !== UNKNOWN_CAPABILITY_LABEL)
      return this.of(UNKNOWN_CAPABILITY_LABEL)
    const tally = new CapabilityTally()
    this.byCapability.set(name, tally)
    return tally
  }
}
