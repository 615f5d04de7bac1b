/**
 * Dispatch: what `proceed` does. Finds a provider, lets it work, judges its answer, and tries another where that is safe.
 *
 *   route ─▶ attempt ─▶ answer fits its contract? ─▶ health ─▶ outcome
 *     ▲        │ nothing was tried, or the call may happen twice, and the budget allows it
 *     └────────┘ never at the same provider first, nor at a node that was not reached
 *
 * Pure: time, timers, chance and the way to other nodes come from outside.
 */
import { backoffMs } from '../core/backoff.ts'
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import { leave, mayWait, QUEUE_WAIT_MS, Waiter } from './admission.ts'
import { Attempt, cutOff, stillWorking } from './attempt.ts'
import type { Round } from './attempt.ts'
import type { BusConfig } from './bus-config.ts'
import type { Call, Outcome } from './call.ts'
import { CapabilityEntry } from './entry.ts'
import { hedged, isWorthHedging } from './hedge.ts'
import type { Race } from './hedge.ts'
import type { HealthTracker } from './health-tracker.ts'
import { pause } from './pause.ts'
import type { Emit } from './peer.ts'
import { startProvider } from './provider.ts'
import type { Surroundings } from './provider.ts'
import { isNothingTried, isSafeToRetry, RetryBudget } from './retry.ts'
import type { Router } from './router.ts'
import { wrongReply } from './schema.ts'
import type { Tally } from './tally.ts'
import { ticketOf } from './ticket.ts'

export interface DispatchOptions extends Surroundings {
  readonly config: BusConfig
  readonly router: Router
  readonly health: HealthTracker
  readonly tally: Tally
  readonly random: () => number
}

const DEFAULT_RETRIES = 2
const RETRY_PAUSE = { firstMs: 50, maxMs: 1_000, factor: 2 }

export class Dispatcher {
  readonly #options: DispatchOptions
  readonly #budget = new RetryBudget()

  constructor(options: DispatchOptions) {
    this.#options = options
  }

  async dispatch(call: Call, emit?: Emit): Promise<Outcome> {
    if (call.refusal !== undefined) return fail(call.refusal)
    const { router, timer, config } = this.#options
    const ticket = ticketOf(call)
    if (ticket.cause !== undefined) return fail(cutOff(call, 'reads', ticket.cause))
    this.#budget.deposit()
    const round: Round = { call, ticket, emit }
    let nowMs = timer.nowMs()
    let entry = router.route(call, nowMs)
    if (entry !== undefined) entry.inFlight++
    else {
      const queued = await this.#waitForSlot(round)
      if (!(queued instanceof CapabilityEntry)) return fail(queued)
      entry = queued
      nowMs = timer.nowMs()
    }
    if (config.hedge === true && isWorthHedging(round, entry)) return this.#hedge(round, entry)
    const attempt = this.#start(round, entry, nowMs)
    const outcome = this.#judge(round, attempt, await attempt.answered)
    return outcome.ok || !this.#mayRetry(round, entry, outcome.fault)
      ? outcome
      : this.#retry(round, { entry, outcome, tried: new Set([entry]) })
  }

  async #hedge(round: Round, first: CapabilityEntry): Promise<Outcome> {
    const tried = new Set([first])
    const outcome = await hedged(round, first, this.#race(round, tried))
    // Of two that answered, the last one is whose answer this is.
    const { entry = first } = round.ticket
    return outcome.ok ? outcome : this.#retry(round, { entry, outcome, tried })
  }

  /** The slot at `entry` is taken already. */
  #start(round: Round, entry: CapabilityEntry, startedMs = this.#options.timer.nowMs()): Attempt {
    round.ticket.attempts++
    round.ticket.entry = entry
    const attempt = new Attempt(round, entry, { timer: this.#options.timer, startedMs })
    startProvider(attempt, round, this.#options)
    return attempt
  }

  /** Whether the answer fits its contract, and what all this says about the provider. */
  #judge({ call, ticket }: Round, attempt: Attempt, given: Outcome): Outcome {
    const { timer, tally, health, log } = this.#options
    const { entry, isProbe, startedMs } = attempt
    const wrong = given.ok ? wrongReply(entry.offer, given.value) : undefined
    // Of our own mistakes the log hears as well.
    if (wrong?.kind === 'internal') log.error({ traceId: call.traceId, ...wrong.details }, wrong.message)
    const outcome = wrong === undefined ? given : fail(wrong)
    const nowMs = timer.nowMs()
    ticket.providerMs += nowMs - startedMs
    ticket.entry = entry
    if (ticket.cause !== undefined && stillWorking(call) !== undefined) tally.cutOff++
    const isCallersDoing =
      ticket.cause === 'cancelled' || (ticket.cause === 'deadline' && (ticket.isHurried || ticket.isWithConsumer))
    const latencyMs = Math.max(0, nowMs - startedMs - ticket.consumerMs)
    const change = health.record(entry, { outcome, latencyMs, nowMs, isProbe, isCallersDoing })
    if (change !== undefined) this.#tell(change, entry)
    return outcome
  }

  #tell(change: 'quarantined' | 'recovered', entry: CapabilityEntry): void {
    const { log, tally } = this.#options
    const details = { capability: entry.offer.name, node: entry.nodeId, ejections: entry.health.ejections }
    if (change === 'quarantined') tally.quarantines++
    log.warn(details, change === 'quarantined' ? 'a provider fails too often and is left alone' : 'a provider is back')
  }

  #race({ call, ticket }: Round, tried: Set<CapabilityEntry>): Race {
    const { router, timer, tally } = this.#options
    return {
      start: (round, entry) => this.#start(round, entry),
      judge: (round, attempt, given) => this.#judge(round, attempt, given),
      pause: (ms) => pause(ms, timer, ticket),
      another: (than) => {
        // A session stays where it is: only the second opinion goes elsewhere.
        const other = router.route({ ...call, sessionId: undefined }, timer.nowMs(), (entry) => entry === than)
        if (other === undefined || !this.#budget.withdraw(timer.nowMs())) return undefined
        tried.add(other)
        other.inFlight++
        tally.hedges++
        return other
      },
    }
  }

  /** Every provider on this node is full: its queue is short, and so is the patience in it. */
  async #waitForSlot({ call, ticket }: Round): Promise<CapabilityEntry | Fault> {
    const { router, timer } = this.#options
    const nowMs = timer.nowMs()
    const entry = router.queueFor(call, nowMs)
    if (entry === undefined || !mayWait(entry)) return router.explain(call, nowMs)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = new Waiter(entry, resolve)
    timer.set(waiter, nowMs + QUEUE_WAIT_MS)
    ticket.employ(waiter)
    const hasSlot = await promise
    ticket.dismiss(waiter)
    timer.clear(waiter)
    if (hasSlot && ticket.cause === undefined && !entry.removed) return entry
    if (hasSlot) leave(entry)
    return ticket.cause === undefined ? router.explain(call, timer.nowMs()) : cutOff(call, 'reads', ticket.cause)
  }

  #mayRetry({ ticket }: Round, entry: CapabilityEntry, fault: Fault): boolean {
    // Once a frame was delivered, a second provider would tell the consumer something twice.
    return ticket.cause === undefined && ticket.frames === 0 && isSafeToRetry(fault, entry.offer)
  }

  async #retry(round: Round, { entry: first, outcome, tried }: Failed): Promise<Outcome> {
    const { config, timer, tally } = this.#options
    const unreached = new Set<string>()
    let [entry, last] = [first, outcome]
    for (let again = 0; again < (config.retries ?? DEFAULT_RETRIES); again++) {
      if (last.ok || !this.#mayRetry(round, entry, last.fault)) return last
      // Of another node this most likely means all of it; here it is what the provider itself has behind it.
      if (last.fault.kind === 'offline' && !entry.isLocal) unreached.add(entry.nodeId)
      const next = await this.#nextProvider(round, { tried, unreached, entry, fault: last.fault, again })
      if (next === undefined || !this.#budget.withdraw(timer.nowMs())) return last
      tally.retries++
      tried.add(next)
      next.inFlight++
      entry = next
      const attempt = this.#start(round, next)
      last = this.#judge(round, attempt, await attempt.answered)
    }
    return last
  }

  /** Somebody else at once; the same one only if nothing else is left, nothing was tried, and after a pause. */
  async #nextProvider(round: Round, { tried, unreached, entry, fault, again }: Search): Promise<Provider> {
    const { router, timer, random } = this.#options
    const { call, ticket } = round
    const other = entry.offer.anywhere === true ? this.#another(call, tried, unreached) : undefined
    if (other !== undefined || entry.isLocal || !isNothingTried(fault)) return other
    const pauseMs = Math.max(backoffMs(RETRY_PAUSE, again, random), fault.retryAfterMs ?? 0)
    if (timer.nowMs() + pauseMs >= ticket.deadlineMs) return undefined
    await pause(pauseMs, timer, ticket)
    return ticket.cause === undefined ? router.route(call, timer.nowMs()) : undefined
  }

  /** On a node that was reached, as long as there is one. */
  #another(call: Call, tried: ReadonlySet<CapabilityEntry>, unreached: ReadonlySet<string>): Provider {
    const { router, timer } = this.#options
    const nowMs = timer.nowMs()
    const elsewhere = router.route(call, nowMs, (entry) => tried.has(entry) || unreached.has(entry.nodeId))
    if (elsewhere !== undefined || unreached.size === 0) return elsewhere
    return router.route(call, nowMs, (entry) => tried.has(entry))
  }
}

type Provider = CapabilityEntry | undefined

/** Who answered so, and all that were asked. */
interface Failed {
  readonly entry: CapabilityEntry
  readonly outcome: Outcome
  readonly tried: Set<CapabilityEntry>
}

interface Search {
  readonly tried: ReadonlySet<CapabilityEntry>
  readonly unreached: ReadonlySet<string>
  readonly entry: CapabilityEntry
  readonly fault: Fault
  readonly again: number
}
