/**
 * Call dispatcher: finds a provider for a call, runs it, checks its answer, and tries another provider where that is
 * safe.
 *
 *   route ─▶ attempt ─▶ answer fits its contract? ─▶ health ─▶ outcome
 *     ▲        │ nothing was begun, or the call may happen twice, and the budget allows it
 *     └────────┘ only among providers of its contract; never at the same one first, nor at a node that was not reached
 *
 * Retries that multiply with failures overload providers that were only slow: at most a fifth of the calls, plus a
 * small reserve, may be tried again (the budgets of Linkerd and tower).
 */
import { computeBackoffMs } from '../core/backoff.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import { markProviderSlotTaken, releaseProviderSlot, MAX_QUEUE_WAIT_MS, QueuedCall } from './provider-queue.ts'
import { TriedProviders } from './tried-providers.ts'
import {
  AttemptedCall,
  ProviderAttempt,
  createCallEndedBeforeStartFault,
  recordAttemptOutcome,
} from './provider-attempt.ts'
import type { ProviderOutcomeHandler, OutcomeRecordingDependencies } from './provider-attempt.ts'
import type { BusConfig } from './bus-config.ts'
import type { Call, Outcome } from './call.ts'
import { toAccountKey } from './caller.ts'
import { CapabilityEntry } from './capability-entry.ts'
import { isRefusedBeforeStart } from './health.ts'
import { runHedgedCall, mayHedge } from './hedge.ts'
import type { HedgedCallDependencies } from './hedge.ts'
import { pauseBeforeRetry } from './retry-pause.ts'
import type { StreamFrameEmitter } from './peer.ts'
import { startProviderAttempt } from './provider-attempt-start.ts'
import type { ProviderAttemptDependencies } from './provider-attempt-start.ts'
import type { CapabilityRouter } from './router.ts'
import { requireCallTicket } from './call-ticket.ts'
import type { Offer } from './capability.ts'

export interface CallDispatcherDependencies extends ProviderAttemptDependencies, OutcomeRecordingDependencies {
  readonly config: BusConfig
  readonly router: CapabilityRouter
  readonly random: () => number
}

const DEFAULT_RETRIES = 2
/** After so many nodes have refused one call, the refusal is the answer. */
const MAX_REFUSALS = 8
const RETRY_PAUSE = { firstMs: 50, maxMs: 1_000, factor: 2 }

export class CallDispatcher {
  readonly #options: CallDispatcherDependencies
  readonly #budget = new RetryBudget()
  readonly #record: ProviderOutcomeHandler
  readonly #recordFirst: ProviderOutcomeHandler

  constructor(options: CallDispatcherDependencies) {
    this.#options = options
    this.#record = (attempt, given) => recordAttemptOutcome(attempt, given, options)
    this.#recordFirst = (attempt, given) => {
      const { round, entry } = attempt
      const outcome = recordAttemptOutcome(attempt, given, options)
      if (outcome.ok || !mayRetry(round, outcome.fault)) return outcome
      return this.#retry(round, { entry, outcome, tried: new TriedProviders(entry) })
    }
  }

  /** Not async: a call that finds its provider at once waits for nothing but the answer. */
  dispatch(call: Call, emit?: StreamFrameEmitter): Promise<Outcome> {
    if (call.refusal !== undefined) return Promise.resolve(fail(call.refusal))
    const { router, timer } = this.#options
    const ticket = requireCallTicket(call)
    const nowMs = timer.nowMs()
    if (ticket.isOver(nowMs))
      return Promise.resolve(fail(createCallEndedBeforeStartFault(call, ticket.cause ?? 'deadline')))
    const { contract } = ticket
    if (contract === undefined) return Promise.resolve(fail(router.explain(call, nowMs)))
    this.#budget.deposit()
    const round = new AttemptedCall(call, contract, emit)
    const entry = router.route(call, nowMs)
    if (entry === undefined) return this.#dispatchQueued(round, nowMs)
    markProviderSlotTaken(entry)
    return this.#attempt(round, entry, nowMs)
  }

  async #dispatchQueued(round: AttemptedCall, sinceMs: number): Promise<Outcome> {
    const queued = await this.#waitForSlot(round, sinceMs)
    if (!(queued instanceof CapabilityEntry)) return fail(queued)
    return this.#attempt(round, queued, this.#options.timer.nowMs())
  }

  /** The caller has already taken the slot at `entry`. */
  #attempt(round: AttemptedCall, entry: CapabilityEntry, nowMs: number): Promise<Outcome> {
    if (this.#options.config.hedge === true && mayHedge(round, entry)) return this.#hedge(round, entry)
    return this.#start(round, entry, { startedMs: nowMs, onAnswer: this.#recordFirst }).answered
  }

  /** Every provider is at its limit or has asked to be left alone: the call waits, for a bounded time. */
  async #waitForSlot(round: AttemptedCall, sinceMs: number): Promise<CapabilityEntry | Fault> {
    const { router, timer } = this.#options
    const { call, ticket } = round
    const untilMs = sinceMs + MAX_QUEUE_WAIT_MS
    for (let nowMs = sinceMs; ; nowMs = timer.nowMs()) {
      if (ticket.isOver(nowMs)) return createCallEndedBeforeStartFault(call, ticket.cause ?? 'deadline')
      const free = nowMs === sinceMs ? undefined : router.route(call, nowMs)
      if (free !== undefined) {
        markProviderSlotTaken(free)
        return free
      }
      const full = router.queueFor(call, nowMs)
      if (full !== undefined) return (await this.#queue(round, full, untilMs)) ? full : this.#unserved(round)
      const freeAtMs = router.freeAtMs(call, nowMs)
      if (freeAtMs === undefined || freeAtMs >= Math.min(untilMs, ticket.deadlineMs)) return router.explain(call, nowMs)
      await pauseBeforeRetry(freeAtMs - nowMs, timer, ticket)
    }
  }

  #unserved({ call, ticket }: AttemptedCall): Fault {
    const nowMs = this.#options.timer.nowMs()
    return ticket.isOver(nowMs)
      ? createCallEndedBeforeStartFault(call, ticket.cause ?? 'deadline')
      : this.#options.router.explain(call, nowMs)
  }

  /** Resolves with whether the call got the slot. */
  async #queue({ call, ticket, contract }: AttemptedCall, entry: CapabilityEntry, untilMs: number): Promise<boolean> {
    const { timer, router } = this.#options
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = new QueuedCall(entry, toAccountKey(call.caller), resolve)
    timer.set(waiter, untilMs)
    ticket.employ(waiter)
    const hasSlot = await promise
    ticket.dismiss(waiter)
    timer.clear(waiter)
    if (!hasSlot) return false
    router.regroup(call)
    if (!ticket.isOver(timer.nowMs()) && !entry.removed && entry.contract === contract) return true
    // The slot came too late for the call, or its provider was removed or replaced meanwhile.
    releaseProviderSlot(entry)
    return false
  }

  /** The caller has already taken the slot at `entry`. */
  #start(
    round: AttemptedCall,
    entry: CapabilityEntry,
    how: { readonly startedMs: number; readonly onAnswer: ProviderOutcomeHandler },
  ): ProviderAttempt {
    round.ticket.attempts++
    round.ticket.entry = entry
    const { startedMs, onAnswer } = how
    const attempt = new ProviderAttempt(round, entry, { timer: this.#options.timer, startedMs, onAnswer })
    startProviderAttempt(attempt, round, this.#options)
    return attempt
  }

  async #retry(round: AttemptedCall, { entry: first, outcome, tried }: Failed): Promise<Outcome> {
    const { config, timer, tally } = this.#options
    let [entry, last] = [first, outcome]
    let [again, refusals] = [0, 0]
    while (!last.ok && mayRetry(round, last.fault)) {
      // A refusal costs no work and says nothing about load: it needs no retry budget, only an upper limit.
      const isRefused = isRefusedBeforeStart(last.fault)
      if (isRefused ? refusals++ >= MAX_REFUSALS : again >= (config.retries ?? DEFAULT_RETRIES)) return last
      tried.failed(entry, last.fault)
      const next = await this.#nextProvider(round, { entry, fault: last.fault, tried, again })
      if (next === undefined || (!isRefused && !this.#budget.withdraw(timer.nowMs()))) return last
      if (!isRefused) again++
      tally.retries++
      markProviderSlotTaken(next)
      tried.add(next)
      entry = next
      last = await this.#start(round, next, { startedMs: timer.nowMs(), onAnswer: this.#record }).answered
    }
    return last
  }

  /**
   * Chooses another provider at once; the same one only if no other is left and it has not begun, and then after a
   * pause.
   */
  async #nextProvider({ call, ticket, contract }: AttemptedCall, search: Search): Promise<CapabilityEntry | undefined> {
    const { router, timer, random } = this.#options
    const { entry, fault, tried, again } = search
    if (ticket.isOver(timer.nowMs())) return undefined
    const other = contract.isBoundToNode ? undefined : tried.nextProvider(call, router, timer.nowMs())
    if (other !== undefined || entry.isLocal || fault.begun !== false || isRefusedBeforeStart(fault)) return other
    const pauseMs = Math.max(computeBackoffMs(RETRY_PAUSE, again, random), fault.retryAfterMs ?? 0)
    // Where the remote queue was full, the call has already waited there: it does not wait again, and never beyond its
    // deadline.
    const untilMs = Math.min(ticket.deadlineMs, ticket.startedMs + MAX_QUEUE_WAIT_MS)
    if (timer.nowMs() + pauseMs >= untilMs) return undefined
    await pauseBeforeRetry(pauseMs, timer, ticket)
    return ticket.isOver(timer.nowMs()) ? undefined : router.route(call, timer.nowMs())
  }

  async #hedge(round: AttemptedCall, first: CapabilityEntry): Promise<Outcome> {
    const tried = new TriedProviders(first)
    const outcome = await runHedgedCall(round, first, this.#race(round, tried))
    // The ticket names the provider whose answer was taken.
    const { entry = first } = round.ticket
    return outcome.ok ? outcome : this.#retry(round, { entry, outcome, tried })
  }

  #race({ call, ticket }: AttemptedCall, tried: TriedProviders): HedgedCallDependencies {
    const { router, timer, tally } = this.#options
    return {
      start: (round, entry) => this.#start(round, entry, { startedMs: timer.nowMs(), onAnswer: this.#record }),
      pause: (ms) => pauseBeforeRetry(ms, timer, ticket),
      another: (than) => {
        // Without the session: the session stays bound to its provider, only this hedged attempt goes to another one.
        const other = router.route({ ...call, sessionId: undefined }, timer.nowMs(), (entry) => entry === than)
        if (other === undefined || !this.#budget.withdraw(timer.nowMs())) return undefined
        tally.hedges++
        markProviderSlotTaken(other)
        tried.add(other)
        return other
      },
    }
  }
}

function mayRetry({ ticket, contract }: AttemptedCall, fault: Fault): boolean {
  // Once a frame was delivered, another provider would deliver it a second time.
  return ticket.cause === undefined && ticket.frames === 0 && isSafeToRetry(fault, contract.offer)
}

/** A failed attempt: which provider answered, and every provider that was asked. */
interface Failed {
  readonly entry: CapabilityEntry
  readonly outcome: Outcome
  readonly tried: TriedProviders
}

interface Search {
  readonly entry: CapabilityEntry
  readonly fault: Fault
  readonly tried: TriedProviders
  /** How many tries there were after the first. */
  readonly again: number
}

/**
 * Faults of the provider: another one may succeed, or the same one later. All other kinds are about the call itself.
 */
const PROVIDERS_TROUBLE: ReadonlySet<FaultKind> = new Set(['busy', 'offline', 'timed-out', 'failed', 'internal'])
/** A retry is safe if the provider says that it did not begin, or if the call is idempotent. */
export function isSafeToRetry(fault: Fault, { idempotent }: Pick<Offer, 'idempotent'>): boolean {
  if (isRefusedBeforeStart(fault)) return true
  return PROVIDERS_TROUBLE.has(fault.kind) && (fault.begun === false || idempotent)
}

/** Every call adds 1 to the budget and a retry costs 5, so that at most a fifth of the calls are retried. */
const COST = 5
const RESERVE = 10 * COST
const MAX_BALANCE = 100 * COST
/** Refills one retry per second, up to the reserve. */
const TRICKLE_PER_MS = COST / 1_000

export class RetryBudget {
  #balance = RESERVE
  #atMs = 0

  /** Counts an incoming call towards the budget. */
  deposit(): void {
    if (this.#balance < MAX_BALANCE) this.#balance++
  }

  /** Takes one retry from the budget; false when there is not enough. */
  withdraw(nowMs: number): boolean {
    const trickle = Math.max(0, nowMs - this.#atMs) * TRICKLE_PER_MS
    if (this.#balance < RESERVE) this.#balance = Math.min(RESERVE, this.#balance + trickle)
    this.#atMs = nowMs
    if (this.#balance < COST) return false
    this.#balance -= COST
    return true
  }
}
