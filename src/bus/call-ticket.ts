/**
 * Call ticket: what the bus keeps about one call from its start to its end.
 *
 *   open ──deadline──▶ ended (deadline)        ending aborts the signal and tells whoever works on the call;
 *     └────caller────▶ ended (cancelled)       both only once
 */
import type { Clock } from '../core/clock.ts'
import type { CallRecordReference } from '../core/fault.ts'
import type { ApprovalOrGrantReference } from '../core/fault.ts'
import { readLastMintedUlidPrefix, readLastMintedUlidSuffix, newUlid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { Call, CallTraceRecorder, Reply, ReplyOrigin } from './call.ts'
import { TimerWheelEntry } from './timer-wheel.ts'
import type { ContractWithProviders } from './contract.ts'
import type { CapabilityEntry } from './capability-entry.ts'

export type EarlyCallEndCause = 'deadline' | 'cancelled'

/** Something that works on the call, or waits for it, and must be told when the call is over. */
export interface CallEndListener {
  readonly callEnded: (ticket: RunningCallTicket) => void
}

export class RunningCallTicket extends TimerWheelEntry implements CallTraceRecorder {
  readonly startedMs: number
  readonly deadlineMs: number
  /**
   * True where the caller allowed less time than the capability's time-out: running out of it is not the provider's
   * failure.
   */
  readonly isHurried: boolean
  cause: EarlyCallEndCause | undefined
  stages: Record<string, number> | undefined
  receivedBytes = 0
  sentBytes = 0
  attempts = 0
  /** The time that providers took in all, and that of the whole call once it is over. */
  providerMs = 0
  totalMs = 0
  frames = 0
  /** Whether a frame is waiting to be taken by the consumer, and how long consumers have taken in all. */
  isWithConsumer = false
  consumerMs = 0
  /** The provider that worked on the call last. */
  entry: CapabilityEntry | undefined
  /** The contract that the call was resolved to, before its arguments were validated. */
  readonly contract: ContractWithProviders | undefined
  /** The call as it was received. */
  call: Call | undefined
  /** True once a handler was, or may have been, entered for the call, here or on another node. */
  hasBegun = false
  nestedDecision: ApprovalOrGrantReference | undefined
  stillWorking: Promise<void> | undefined
  /**
   * The trace id that was minted for the call, and its two parts; a trace id that the caller gave is only in the call.
   */
  mintedTraceId = ''
  traceHead = ''
  traceTail = ''
  readonly #controller = new AbortController()
  /** Nearly always there is one. */
  #worker: CallEndListener | undefined
  #otherWorkers: CallEndListener[] | undefined
  #parent: AbortSignal | undefined
  #parentAborted: (() => void) | undefined

  constructor(opened: Pick<RunningCallTicket, 'contract' | 'startedMs' | 'deadlineMs' | 'isHurried'>) {
    super()
    this.contract = opened.contract
    this.startedMs = opened.startedMs
    this.deadlineMs = opened.deadlineMs
    this.isHurried = opened.isHurried
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  mark(stage: string, ms: number): void {
    this.stages ??= {}
    this.stages[stage] = (this.stages[stage] ?? 0) + ms
  }

  bytes(received: number, sent: number): void {
    this.receivedBytes += received
    this.sentBytes += sent
  }

  /**
   * Ends with the caller's own signal; `release` removes the listener again, because one signal may serve many calls.
   */
  follow(parent: AbortSignal): void {
    if (parent.aborted) {
      this.end('cancelled', parent.reason)
      return
    }
    this.#parent = parent
    this.#parentAborted = () => this.end('cancelled', parent.reason)
    parent.addEventListener('abort', this.#parentAborted, { once: true })
  }

  release(): void {
    if (this.#parentAborted !== undefined) this.#parent?.removeEventListener('abort', this.#parentAborted)
  }

  employ(worker: CallEndListener): void {
    if (this.#worker === undefined) this.#worker = worker
    else (this.#otherWorkers ??= []).push(worker)
    if (this.cause !== undefined) worker.callEnded(this)
  }

  dismiss(worker: CallEndListener): void {
    if (this.#worker === worker) this.#worker = undefined
    else this.#otherWorkers = this.#otherWorkers?.filter((other) => other !== worker)
  }

  /** Whether the call is over, or its deadline has passed and only its timer is late. */
  isOver(nowMs: number): boolean {
    if (this.cause === undefined && nowMs >= this.deadlineMs) this.end('deadline')
    return this.cause !== undefined
  }

  /** A provider is still running although the call was answered. */
  linger(working: Promise<void>): void {
    const earlier = this.stillWorking
    const all = earlier === undefined ? working : Promise.all([earlier, working]).then(() => undefined)
    this.stillWorking = all
    void this.#forgetWhenDone(all)
  }

  async #forgetWhenDone(working: Promise<void>): Promise<void> {
    await working
    if (this.stillWorking === working) this.stillWorking = undefined
  }

  end(cause: EarlyCallEndCause, reason?: unknown): void {
    if (this.cause !== undefined) return
    this.cause = cause
    this.#controller.abort(
      reason ?? new DOMException(REASONS[cause], cause === 'deadline' ? 'TimeoutError' : 'AbortError'),
    )
    const [first, others = []] = [this.#worker, this.#otherWorkers]
    this.#worker = undefined
    this.#otherWorkers = undefined
    first?.callEnded(this)
    for (const worker of others) worker.callEnded(this)
  }

  ring(): void {
    this.end('deadline')
  }
}

/** Mints trace ids. An id holds milliseconds, so the wall clock is not read again within one. */
export class TraceIdSource {
  readonly #clock: Clock
  #readAtMs = -1
  #wallMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  mintFor(ticket: RunningCallTicket): string {
    const readAtMs = Math.floor(ticket.startedMs)
    if (readAtMs !== this.#readAtMs) {
      this.#readAtMs = readAtMs
      this.#wallMs = this.#clock.now()
    }
    ticket.mintedTraceId = newUlid(this.#wallMs)
    ticket.traceHead = readLastMintedUlidPrefix()
    ticket.traceTail = readLastMintedUlidSuffix()
    return ticket.mintedTraceId
  }
}

const REASONS: Readonly<Record<EarlyCallEndCause, string>> = {
  deadline: 'the deadline of this call has passed',
  cancelled: 'the caller withdrew',
}

/** Every call that the bus hands out has a ticket; a stage that builds a new call object has lost it. */
export function requireCallTicket(call: Call): RunningCallTicket {
  if (call.ticket instanceof RunningCallTicket) return call.ticket
  throw new TypeError(`a call of ${call.capability} came back without the ticket it was given`)
}

/**
 * Every answer names the node that it came from, so that nobody takes another house's temperature for their own. The
 * node is the one whose key authenticated the answer; what that node says of its devices is not verified.
 */
export function setReplyOrigin(reply: Reply, nodeId: string): Reply {
  return { ...reply, from: resolveReplyOrigin(reply, nodeId) }
}

/** The origin as faces show it. An answer that names no node comes from the node that was called. */
export function resolveReplyOrigin({ from }: Reply, nodeId: string): ReplyOrigin & { readonly node: string } {
  return from?.device === undefined ? { node: nodeId } : { node: nodeId, device: from.device }
}

/** The reference to a call's record in the ledger, as the answers of every face have it. */
export function toCallRecordReferenceJson({
  traceId,
  logIndex,
  endLogIndex,
  ...rest
}: CallRecordReference): JsonObject {
  const { approval, grant, work } = rest
  return {
    trace_id: traceId,
    log_index: logIndex,
    end_log_index: endLogIndex,
    ...(approval === undefined ? {} : { approval }),
    ...(grant === undefined ? {} : { grant }),
    ...(work?.taskId === undefined ? {} : { task_id: work.taskId }),
    ...(work?.sessionId === undefined ? {} : { session_id: work.sessionId }),
  }
}
