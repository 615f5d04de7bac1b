/**
 * Dispatch: what `proceed` does. Finds a provider, lets it work, judges its answer, and tries another where that is
 * safe.
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
import { enter, leave, mayWait, QUEUE_WAIT_MS, Waiter } from './admission.ts'
import { Asked } from './asked.ts'
import { Attempt, cutOff } from './attempt.ts'
import type { Round } from './attempt.ts'
import type { BusConfig } from './bus-config.ts'
import type { Call, Outcome } from './call.ts'
import { CapabilityEntry } from './entry.ts'
import { hedged, isWorthHedging } from './hedge.ts'
import type { Race } from './hedge.ts'
import { judge } from './judge.ts'
import type { JudgeParts } from './judge.ts'
import { pause } from './pause.ts'
import type { Emit } from './peer.ts'
import { startProvider } from './provider.ts'
import type { Surroundings } from './provider.ts'
import { isNothingTried, isSafeToRetry, RetryBudget } from './retry.ts'
import type { Router } from './router.ts'
import { ticketOf } from './ticket.ts'

export interface DispatchOptions extends Surroundings, JudgeParts {
  readonly config: BusConfig
  readonly router: Router
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
    if (entry !== undefined) enter(entry)
    else {
      const queued = await this.#waitForSlot(round)
      if (!(queued instanceof CapabilityEntry)) return fail(queued)
      entry = queued
      nowMs = timer.nowMs()
    }
    if (config.hedge === true && isWorthHedging(round, entry)) return this.#hedge(round, entry)
    const attempt = this.#start(round, entry, nowMs)
    const outcome = judge(attempt, await attempt.answered, this.#options)
    return outcome.ok || !mayRetry(round, entry, outcome.fault)
      ? outcome
      : this.#retry(round, { entry, outcome, asked: new Asked(entry) })
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
    // The slot came too late for the call, or its provider is gone.
    if (hasSlot) leave(entry)
    return ticket.cause === undefined ? router.explain(call, timer.nowMs()) : cutOff(call, 'reads', ticket.cause)
  }

  /** The slot at `entry` is taken already. */
  #start(round: Round, entry: CapabilityEntry, startedMs = this.#options.timer.nowMs()): Attempt {
    round.ticket.attempts++
    round.ticket.entry = entry
    const attempt = new Attempt(round, entry, { timer: this.#options.timer, startedMs })
    startProvider(attempt, round, this.#options)
    return attempt
  }

  async #retry(round: Round, { entry: first, outcome, asked }: Failed): Promise<Outcome> {
    const { config, timer, tally } = this.#options
    let [entry, last] = [first, outcome]
    for (let again = 0; again < (config.retries ?? DEFAULT_RETRIES); again++) {
      if (last.ok || !mayRetry(round, entry, last.fault)) return last
      asked.failed(entry, last.fault)
      const next = await this.#nextProvider(round, { entry, fault: last.fault, asked, again })
      if (next === undefined || !this.#budget.withdraw(timer.nowMs())) return last
      tally.retries++
      enter(next)
      asked.add(next)
      entry = next
      const attempt = this.#start(round, next)
      last = judge(attempt, await attempt.answered, this.#options)
    }
    return last
  }

  /** Somebody else at once; the same one only if nothing else is left, nothing was tried, and after a pause. */
  async #nextProvider({ call, ticket }: Round, search: Search): Promise<CapabilityEntry | undefined> {
    const { router, timer, random } = this.#options
    const { entry, fault, asked, again } = search
    const other = entry.offer.anywhere === true ? asked.another(call, router, timer.nowMs()) : undefined
    if (other !== undefined || entry.isLocal || !isNothingTried(fault)) return other
    const pauseMs = Math.max(backoffMs(RETRY_PAUSE, again, random), fault.retryAfterMs ?? 0)
    if (timer.nowMs() + pauseMs >= ticket.deadlineMs) return undefined
    await pause(pauseMs, timer, ticket)
    return ticket.cause === undefined ? router.route(call, timer.nowMs()) : undefined
  }

  async #hedge(round: Round, first: CapabilityEntry): Promise<Outcome> {
    const asked = new Asked(first)
    const outcome = await hedged(round, first, this.#race(round, asked))
    // The ticket names the provider whose answer was taken.
    const { entry = first } = round.ticket
    return outcome.ok ? outcome : this.#retry(round, { entry, outcome, asked })
  }

  #race({ call, ticket }: Round, asked: Asked): Race {
    const { router, timer, tally } = this.#options
    return {
      start: (round, entry) => this.#start(round, entry),
      judge: (attempt, given) => judge(attempt, given, this.#options),
      pause: (ms) => pause(ms, timer, ticket),
      another: (than) => {
        // Without the session: it stays with its provider, only this second try goes elsewhere.
        const other = router.route({ ...call, sessionId: undefined }, timer.nowMs(), (entry) => entry === than)
        if (other === undefined || !this.#budget.withdraw(timer.nowMs())) return undefined
        tally.hedges++
        enter(other)
        asked.add(other)
        return other
      },
    }
  }
}

function mayRetry({ ticket }: Round, entry: CapabilityEntry, fault: Fault): boolean {
  // Once a frame was delivered, a second provider would tell the consumer something twice.
  return ticket.cause === undefined && ticket.frames === 0 && isSafeToRetry(fault, entry.offer)
}

/** Who answered so, and all that were asked. */
interface Failed {
  readonly entry: CapabilityEntry
  readonly outcome: Outcome
  readonly asked: Asked
}

interface Search {
  readonly entry: CapabilityEntry
  readonly fault: Fault
  readonly asked: Asked
  /** How many tries there were after the first. */
  readonly again: number
}
