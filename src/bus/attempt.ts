/**
 * Attempt: one provider at work on one call, and what its answer says about it.
 *
 *   working ──answers or throws──▶ done
 *      │ the call ends (deadline, caller gone): the signal has aborted
 *      ▼
 *   grace ────answers in time────▶ done                      its own word is the best there is
 *      │ GRACE_MS
 *      ▼
 *   cut off ──ends, or LINGER_MS─▶ slot free                 the caller has long been answered
 *
 * A provider that ignores its signal holds nobody but its own slot, and that for a bounded time. The slot is given
 * back exactly once.
 *
 * Pure: time and timers come from outside.
 */
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import { releaseProviderSlot } from './admission.ts'
import type { Call, Outcome, Reply } from './call.ts'
import type { Effect } from './capability.ts'
import type { CapabilityContract } from './contract.ts'
import { TimerWheelEntry } from './deadline-timer.ts'
import type { CapabilityEntry } from './entry.ts'
import type { EmitFrame } from './peer.ts'
import type { EndCause, LiveTicket, CallWorker } from './ticket.ts'
import type { HealthTracker } from './health.ts'
import type { ProviderDependencies } from './provider.ts'
import { noteRefusedParams } from './refused-params.ts'
import { checkReply } from './schema.ts'
import type { CallTally } from './trace.ts'

/** How long a provider may take to say how far it got, once its signal has aborted. */
const GRACE_MS = 100
/** How long a provider that was cut off keeps its slot, so that a limit of one means one at a time. */
const LINGER_MS = 5_000

/** One call on its way to providers, one after another. */
export interface CallAttempts {
  readonly call: Call
  readonly ticket: LiveTicket
  readonly contract: CapabilityContract
  readonly emit: EmitFrame | undefined
}

export interface AttemptTimer {
  readonly set: (alarm: TimerWheelEntry, dueMs: number) => void
  readonly clear: (alarm: TimerWheelEntry) => void
  readonly nowMs: () => number
  /** Lets everything else run that can. */
  readonly nextTurn: () => Promise<void>
}

/** What becomes of a provider's word: the outcome, or what another provider is asked for in its place. */
export type ProviderOutcomeHandler = (attempt: ProviderAttempt, given: Outcome) => Outcome | Promise<Outcome>

interface AttemptOptions {
  readonly timer: AttemptTimer
  readonly startedMs: number
  readonly onAnswer: ProviderOutcomeHandler
}

export class ProviderAttempt extends TimerWheelEntry implements CallWorker {
  readonly round: CallAttempts
  readonly entry: CapabilityEntry
  readonly isProbe: boolean
  readonly startedMs: number
  /** With what `onAnswer` made of the provider's word; of a provider that was abandoned, its word as it is. */
  readonly answered: Promise<Outcome>
  isAbandoned = false
  /** It was answered for, and went on. */
  isCutOff = false
  readonly #timer: AttemptTimer
  readonly #onAnswer: ProviderOutcomeHandler
  readonly #reject: (error: unknown) => void
  #answer: ((outcome: Outcome | Promise<Outcome>) => void) | undefined
  #hasEnded = false
  #holdsSlot = true
  #endedAfterCut: (() => void) | undefined

  /** The slot at `entry` is taken already, and becomes the attempt's to give back. */
  constructor(round: CallAttempts, entry: CapabilityEntry, { timer, startedMs, onAnswer }: AttemptOptions) {
    super()
    this.round = round
    this.#timer = timer
    this.#onAnswer = onAnswer
    this.entry = entry
    this.startedMs = startedMs
    this.isProbe = entry.health.isProbeDue(this.startedMs)
    if (this.isProbe) entry.health.startProbe()
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    this.answered = promise
    this.#answer = resolve
    this.#reject = reject
    round.ticket.employ(this)
  }

  /** The provider's own word. */
  settle(outcome: Outcome): void {
    this.#end()
    this.#say(this.round.ticket.cause === 'deadline' ? outOfTime(outcome, this.round.call) : outcome)
  }

  /** The provider threw. Once the call is over that is how most of them stop, and no mistake. */
  crash(fault: Fault): void {
    this.#end()
    this.#say(fail(this.round.ticket.cause === undefined ? fault : this.#cutOff()))
  }

  /** Somebody else has answered: whatever this provider still says is not heard, and tells nothing about it. */
  abandon(): void {
    this.isAbandoned = true
    if (this.isProbe) this.entry.health.probeEndedOpenly()
    this.callEnded()
  }

  callEnded(): void {
    if (!this.#hasEnded) this.#timer.set(this, this.#timer.nowMs() + GRACE_MS)
  }

  ring(nowMs: number): void {
    if (this.#answer === undefined) {
      this.#freeSlot()
      return
    }
    this.isCutOff = true
    this.round.ticket.linger(new Promise((resolve) => (this.#endedAfterCut = resolve)))
    this.#timer.set(this, nowMs + LINGER_MS)
    this.#say(fail(this.#cutOff()))
  }

  #cutOff(): Fault {
    const { call, ticket } = this.round
    return createInterruptedCallFault(call, this.round.contract.offer.effect, ticket.cause ?? 'cancelled')
  }

  #say(outcome: Outcome): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.round.ticket.dismiss(this)
    try {
      answer(this.isAbandoned ? outcome : this.#onAnswer(this, outcome))
    } catch (error) {
      this.#reject(error)
    }
  }

  #end(): void {
    this.#hasEnded = true
    this.#timer.clear(this)
    this.#freeSlot()
  }

  #freeSlot(): void {
    if (!this.#holdsSlot) return
    this.#holdsSlot = false
    releaseProviderSlot(this.entry)
    this.#endedAfterCut?.()
  }
}

/**
 * A provider that sees its signal abort says that the call was withdrawn. But it was too slow: that counts against the
 * provider, and the caller may try again.
 */
function outOfTime(outcome: Outcome, call: Call): Outcome {
  if (outcome.ok || outcome.fault.kind !== 'cancelled') return outcome
  return fail({ ...outcome.fault, ...createInterruptedCallFault(call, 'reads', 'deadline') })
}

const CHANGES: ReadonlySet<Effect> = new Set(['writes', 'sensitive', 'admin'])

/** Nobody has begun with it: whatever it would have done, it did not. */
export function createNotBegunFault({ capability }: Call, cause: EndCause): Fault {
  return cause === 'deadline'
    ? {
        kind: 'timed-out',
        code: 'timeout',
        message: `The time for ${capability} was over before it began. Nothing was done.`,
        begun: false,
      }
    : {
        kind: 'cancelled',
        code: 'cancelled',
        message: `${capability} was cancelled before it began. Nothing was done.`,
        begun: false,
      }
}

/** A change that was begun and not answered for may have happened: nobody may be told that it did not. */
export function createInterruptedCallFault(call: Call, effect: Effect, cause: EndCause): Fault {
  const why = cause === 'deadline' ? 'did not answer in time' : 'was cancelled'
  const code = cause === 'deadline' ? 'timeout' : 'cancelled'
  if (CHANGES.has(effect) && !call.rehearsal)
    return {
      kind: 'unknown-outcome',
      code,
      message: `${call.capability} ${why}. The change may or may not have taken effect: read it back before trying again.`,
    }
  return { kind: cause === 'deadline' ? 'timed-out' : 'cancelled', code, message: `${call.capability} ${why}.` }
}

export interface OutcomeRecorders extends Pick<ProviderDependencies, 'log' | 'timer'> {
  readonly health: HealthTracker
  readonly tally: CallTally
}

/** The outcome as the caller hears it. */
export function recordOutcome(attempt: ProviderAttempt, given: Outcome, parts: OutcomeRecorders): Outcome {
  const { round, entry, isProbe, startedMs } = attempt
  const { call, ticket } = round
  const { timer, tally, health, log } = parts
  const wrong = given.ok ? wrongAnswerOf(attempt, given.value) : undefined
  // Our own mistakes go to the log as well.
  if (wrong?.kind === 'internal') log.error({ traceId: call.traceId, ...wrong.details }, wrong.message)
  const outcome = wrong === undefined ? given : fail(wrong)
  const nowMs = timer.nowMs()
  ticket.providerMs += nowMs - startedMs
  ticket.entry = entry
  if (outcome.ok || outcome.fault.begun !== false) ticket.hasBegun = true
  if (attempt.isCutOff) tally.cutOff++
  if (!outcome.ok) noteRefusedParams(entry, outcome.fault, { body: call.body, nowMs })
  // The time that the consumer took for frames is not the provider's.
  const latencyMs = Math.max(0, nowMs - startedMs - ticket.consumerMs)
  const change = health.record(entry, { outcome, latencyMs, nowMs, isProbe, isCallersDoing: isCallersDoing(ticket) })
  if (change !== undefined) tell(change, entry, parts)
  return outcome
}

/** By the contract's own schemas: those of another node's provider may not have come yet. */
function wrongAnswerOf({ entry, round }: ProviderAttempt, reply: Reply): Fault | undefined {
  const isShown = entry.isLocal || entry.announced?.schemas !== undefined
  const wrong = checkReply(isShown ? entry.offer : round.contract.offer, reply)
  if (wrong === undefined) return undefined
  return { ...wrong, kind: entry.isLocal ? wrong.kind : 'failed', begun: true }
}

/** Then the missing answer says nothing about the provider. */
function isCallersDoing({ cause, isHurried, isWithConsumer }: LiveTicket): boolean {
  return cause === 'cancelled' || (cause === 'deadline' && (isHurried || isWithConsumer))
}

function tell(change: 'quarantined' | 'recovered', entry: CapabilityEntry, { log, tally }: OutcomeRecorders): void {
  const details = { capability: entry.offer.name, node: entry.nodeId, ejections: entry.health.ejections }
  if (change === 'quarantined') tally.quarantines++
  log.warn(details, change === 'quarantined' ? 'a provider fails too often and is left alone' : 'a provider is back')
}
