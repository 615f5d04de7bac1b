/**
 * Provider attempt: one provider working on one call, and what its answer says about its health.
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
 */
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import { releaseProviderSlot } from './provider-queue.ts'
import type { Call, Outcome, Reply } from './call.ts'
import type { Effect } from './capability.ts'
import type { ContractWithProviders } from './contract.ts'
import { TimerWheelEntry } from './timer-wheel.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { StreamFrameEmitter } from './peer.ts'
import { requireCallTicket } from './call-ticket.ts'
import type { EarlyCallEndCause, RunningCallTicket, CallEndListener } from './call-ticket.ts'
import type { HealthTracker } from './health.ts'
import type { ProviderAttemptDependencies } from './provider-attempt-start.ts'
import { rememberRefusedParams } from './refused-params.ts'
import { checkReplySchema } from './schema-validation.ts'
import type { CallCounters } from './trace.ts'

/** How long a provider may take to say how far it got, once its signal has aborted. */
const GRACE_MS = 100
/** How long a provider that was cut off keeps its slot, so that a concurrency limit of one is kept. */
const LINGER_MS = 5_000

/** One call that is tried at one provider after another. */
export class AttemptedCall {
  readonly call: Call
  readonly ticket: RunningCallTicket
  readonly contract: ContractWithProviders
  readonly emit: StreamFrameEmitter | undefined

  constructor(call: Call, contract: ContractWithProviders, emit?: StreamFrameEmitter) {
    this.call = call
    this.ticket = requireCallTicket(call)
    this.contract = contract
    this.emit = emit
  }
}

export interface AttemptTimer {
  readonly set: (alarm: TimerWheelEntry, dueMs: number) => void
  readonly clear: (alarm: TimerWheelEntry) => void
  readonly nowMs: () => number
  /** Resolves after the event loop has run what is ready. */
  readonly nextTurn: () => Promise<void>
}

/** Turns a provider's answer into the outcome, possibly by asking another provider. */
export type ProviderOutcomeHandler = (attempt: ProviderAttempt, given: Outcome) => Outcome | Promise<Outcome>

interface AttemptOptions {
  readonly timer: AttemptTimer
  readonly startedMs: number
  readonly onAnswer: ProviderOutcomeHandler
}

export class ProviderAttempt extends TimerWheelEntry implements CallEndListener {
  readonly round: AttemptedCall
  readonly entry: CapabilityEntry
  readonly isProbe: boolean
  readonly startedMs: number
  /**
   * Resolves with what `onAnswer` made of the provider's answer; for a provider that was abandoned, with its own
   * answer.
   */
  readonly answered: Promise<Outcome>
  isAbandoned = false
  /** The call was answered while the provider was still running. */
  isCutOff = false
  readonly #timer: AttemptTimer
  readonly #onAnswer: ProviderOutcomeHandler
  #answer: ((outcome: Outcome | Promise<Outcome>) => void) | undefined
  #holdsSlot = true
  #endedAfterCut: (() => void) | undefined

  /** The caller has taken the slot at `entry`; the attempt releases it. */
  constructor(round: AttemptedCall, entry: CapabilityEntry, { timer, startedMs, onAnswer }: AttemptOptions) {
    super()
    this.round = round
    this.#timer = timer
    this.#onAnswer = onAnswer
    this.entry = entry
    this.startedMs = startedMs
    this.isProbe = entry.health.isProbeDue(this.startedMs)
    if (this.isProbe) entry.health.startProbe()
    this.answered = new Promise((resolve) => {
      this.#answer = resolve
    })
    round.ticket.employ(this)
  }

  /** Ends the attempt with the provider's own answer. */
  settle(outcome: Outcome): void {
    this.#end()
    this.#deliver(this.round.ticket.cause === 'deadline' ? outOfTime(outcome, this.round.call) : outcome)
  }

  /** The provider threw. Once the call is over this is how most providers stop, and not a bug. */
  crash(fault: Fault): void {
    this.#end()
    this.#deliver(fail(this.round.ticket.cause === undefined ? fault : this.#cutOff()))
  }

  /** Another provider has answered: this one's answer is ignored and does not count for its health. */
  abandon(): void {
    this.isAbandoned = true
    if (this.isProbe) this.entry.health.probeEndedOpenly()
    this.callEnded()
  }

  callEnded(): void {
    this.#timer.set(this, this.#timer.nowMs() + GRACE_MS)
  }

  ring(nowMs: number): void {
    if (this.#answer === undefined) {
      this.#freeSlot()
      return
    }
    this.isCutOff = true
    this.round.ticket.linger(new Promise((resolve) => (this.#endedAfterCut = resolve)))
    this.#timer.set(this, nowMs + LINGER_MS)
    this.#deliver(fail(this.#cutOff()))
  }

  #cutOff(): Fault {
    const { call, ticket } = this.round
    return createTimeoutOrCancelFault(call, this.round.contract.offer.effect, ticket.cause ?? 'cancelled')
  }

  #deliver(outcome: Outcome): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.round.ticket.dismiss(this)
    answer(this.isAbandoned ? outcome : this.#handleAnswer(outcome))
  }

  /** An error while an answer is handled goes to the chain, which reports it: the call is over in any case. */
  #handleAnswer(outcome: Outcome): Outcome | Promise<Outcome> {
    try {
      return this.#onAnswer(this, outcome)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #end(): void {
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
 * A provider whose signal aborts reports that the call was cancelled. If the deadline was the reason, the provider was
 * too slow: that counts against it, and the caller may retry.
 */
function outOfTime(outcome: Outcome, call: Call): Outcome {
  if (outcome.ok || outcome.fault.kind !== 'cancelled') return outcome
  return fail({ ...outcome.fault, ...createTimeoutOrCancelFault(call, 'reads', 'deadline') })
}

const CHANGES: ReadonlySet<Effect> = new Set(['writes', 'sensitive', 'admin'])

/** No provider has begun: nothing was done. */
export function createCallEndedBeforeStartFault({ capability }: Call, cause: EarlyCallEndCause): Fault {
  return cause === 'deadline'
    ? {
        kind: 'timed-out',
        code: 'timeout',
        message: `The time limit of ${capability} passed before it began. Nothing was done.`,
        begun: false,
      }
    : {
        kind: 'cancelled',
        code: 'cancelled',
        message: `${capability} was cancelled before it began. Nothing was done.`,
        begun: false,
      }
}

/** A change that was begun and not answered may have happened: the caller must not be told that it did not. */
export function createTimeoutOrCancelFault(call: Call, effect: Effect, cause: EarlyCallEndCause): Fault {
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

export interface OutcomeRecordingDependencies extends Pick<ProviderAttemptDependencies, 'log' | 'timer'> {
  readonly health: HealthTracker
  readonly tally: CallCounters
}

/** Records the provider's answer and returns the outcome for the caller. */
export function recordAttemptOutcome(
  attempt: ProviderAttempt,
  given: Outcome,
  parts: OutcomeRecordingDependencies,
): Outcome {
  const { round, entry, isProbe, startedMs } = attempt
  const { call, ticket } = round
  const { timer, tally, health, log } = parts
  const wrong = given.ok ? wrongAnswerOf(attempt, given.value) : undefined
  // Internal errors are logged as well.
  if (wrong?.kind === 'internal') log.error({ traceId: call.traceId, ...wrong.details }, wrong.message)
  const outcome = wrong === undefined ? given : fail(wrong)
  const nowMs = timer.nowMs()
  ticket.providerMs += nowMs - startedMs
  ticket.entry = entry
  if (outcome.ok || outcome.fault.begun !== false) ticket.hasBegun = true
  if (attempt.isCutOff) tally.cutOff++
  if (!outcome.ok) rememberRefusedParams(entry, outcome.fault, { body: call.body, nowMs })
  // The time that the consumer took for frames does not count as the provider's.
  const latencyMs = Math.max(0, nowMs - startedMs - ticket.consumerMs)
  const change = health.record(entry, { outcome, latencyMs, nowMs, isProbe, isCallersDoing: isCallersDoing(ticket) })
  if (change !== undefined) reportHealthChange(change, entry, parts)
  return outcome
}

/** Uses the contract's schemas: those of another node's provider may not have arrived yet. */
function wrongAnswerOf({ entry, round }: ProviderAttempt, reply: Reply): Fault | undefined {
  const isShown = entry.isLocal || entry.announced?.schemas !== undefined
  const wrong = checkReplySchema(isShown ? entry.offer : round.contract.offer, reply)
  if (wrong === undefined) return undefined
  return { ...wrong, kind: entry.isLocal ? wrong.kind : 'failed', begun: true }
}

/** In these cases a missing answer says nothing about the provider. */
function isCallersDoing({ cause, isHurried, isWithConsumer }: RunningCallTicket): boolean {
  return cause === 'cancelled' || (cause === 'deadline' && (isHurried || isWithConsumer))
}

function reportHealthChange(
  change: 'quarantined' | 'recovered',
  entry: CapabilityEntry,
  { log, tally }: OutcomeRecordingDependencies,
): void {
  const details = { capability: entry.offer.name, node: entry.nodeId, ejections: entry.health.ejections }
  if (change === 'quarantined') tally.quarantines++
  log.warn(
    details,
    change === 'quarantined' ? 'a provider failed too often and is quarantined' : 'a provider has left quarantine',
  )
}
