/**
 * Ticket: what the bus keeps about one call while it lives, from the first question to the last word.
 *
 *   open ──deadline──▶ ended (deadline)        ending aborts the signal and tells whoever works on the call;
 *     └────caller────▶ ended (cancelled)       both only once
 *
 * Pure: time and timers come from outside.
 */
import type { Call, CallTicket, Reply, ReplyOrigin } from './call.ts'
import { TimerWheelEntry } from './deadline-timer.ts'
import type { CapabilityContract } from './contract.ts'
import type { CapabilityEntry } from './entry.ts'

export type EndCause = 'deadline' | 'cancelled'

/** Something that works on the call, or waits for it, and has to hear that the call is over. */
export interface CallWorker {
  readonly callEnded: (ticket: LiveTicket) => void
}

export class LiveTicket extends TimerWheelEntry implements CallTicket {
  readonly startedMs: number
  readonly deadlineMs: number
  /** Whether the caller gave it less time than the capability has: running out of that is nobody's failure. */
  readonly isHurried: boolean
  cause: EndCause | undefined
  stages: Record<string, number> | undefined
  receivedBytes = 0
  sentBytes = 0
  attempts = 0
  /** What its providers took, in all; and the whole call, once it is over. */
  providerMs = 0
  totalMs = 0
  frames = 0
  /** A frame is waiting to be taken; the time that took so far, in all. */
  isWithConsumer = false
  consumerMs = 0
  /** Who worked on it last. */
  entry: CapabilityEntry | undefined
  /** What it was resolved to, before anybody looked at its arguments. */
  readonly contract: CapabilityContract | undefined
  /** As it came in. */
  call: Call | undefined
  /** A handler was entered for it, here or on another node, or may have been. */
  hasBegun = false
  stillWorking: Promise<void> | undefined
  readonly #controller = new AbortController()
  readonly #workers: CallWorker[] = []
  #parent: AbortSignal | undefined
  #parentAborted: (() => void) | undefined

  constructor(opened: Pick<LiveTicket, 'contract' | 'startedMs' | 'deadlineMs' | 'isHurried'>) {
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

  /** Ends with the caller's own signal; `release` forgets it again, as a signal may outlive many calls. */
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

  employ(worker: CallWorker): void {
    this.#workers.push(worker)
    if (this.cause !== undefined) worker.callEnded(this)
  }

  dismiss(worker: CallWorker): void {
    const workers = this.#workers
    // Nearly always there is one.
    if (workers.at(-1) === worker) workers.pop()
    else if (workers.includes(worker)) workers.splice(workers.indexOf(worker), 1)
  }

  /** Whether it is over, or has to be: its timer may ring a moment late. */
  isOver(nowMs: number): boolean {
    if (this.cause === undefined && nowMs >= this.deadlineMs) this.end('deadline')
    return this.cause !== undefined
  }

  /** A provider goes on although the call was answered. */
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

  end(cause: EndCause, reason?: unknown): void {
    if (this.cause !== undefined) return
    this.cause = cause
    this.#controller.abort(
      reason ?? new DOMException(REASONS[cause], cause === 'deadline' ? 'TimeoutError' : 'AbortError'),
    )
    for (const worker of this.#workers.splice(0)) worker.callEnded(this)
  }

  ring(): void {
    this.end('deadline')
  }
}

const REASONS: Readonly<Record<EndCause, string>> = {
  deadline: 'the time for this call is over',
  cancelled: 'the caller withdrew',
}

/** Every call that the bus hands out has one; a stage that builds a call from nothing has lost it. */
export function requireTicket(call: Call): LiveTicket {
  if (call.ticket instanceof LiveTicket) return call.ticket
  throw new TypeError(`a call of ${call.capability} came back without the ticket it was given`)
}

/**
 * Every answer names the node that it came from, so that nobody takes another house's temperature for its own. The node
 * is the one whose key answered; what that node says of its devices is its own word.
 */
export function attributeReply(reply: Reply, nodeId: string): Reply {
  return { ...reply, from: readReplyOrigin(reply, nodeId) }
}

/** As faces show it. An answer that names no node is the asked node's own. */
export function readReplyOrigin({ from }: Reply, nodeId: string): ReplyOrigin & { readonly node: string } {
  return from?.device === undefined ? { node: nodeId } : { node: nodeId, device: from.device }
}
