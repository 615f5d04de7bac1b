/**
 * Hedge: a second provider for a call that takes unusually long, and the first good answer of the two.
 *
 *   first ──────────── p95 passes ─────────────────▶ answers late, or loses and is withdrawn
 *                           second ──▶ answers      (Dean & Barroso: a few per cent more calls cut the tail)
 *
 * Only for calls that may happen twice, and paid for from the retry budget.
 *
 * Pure: timers come from outside.
 */
import type { ProviderAttempt, CallAttempts } from './attempt.ts'
import type { Outcome } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
import type { LiveTicket, CallWorker } from './ticket.ts'

/** Below this many answers nobody knows what is unusual. */
const MIN_SAMPLES = 20
/** A shorter wait is not worth a second call. */
const MIN_DELAY_MS = 10

export interface HedgeRace {
  readonly start: (round: CallAttempts, entry: CapabilityEntry) => ProviderAttempt
  /** Somebody else with a slot taken for us, if there is one and we can afford it. */
  readonly another: (than: CapabilityEntry) => CapabilityEntry | undefined
  readonly pause: (ms: number) => Promise<void>
}

export function isWorthHedging({ emit }: CallAttempts, { offer, health }: CapabilityEntry): boolean {
  return emit === undefined && offer.idempotent && offer.anywhere === true && health.samples >= MIN_SAMPLES
}

export async function runHedged(round: CallAttempts, entry: CapabilityEntry, race: HedgeRace): Promise<Outcome> {
  const first = launch(round, entry, race)
  const early = await Promise.race([first.attempt.answered, race.pause(Math.max(entry.health.p95Ms, MIN_DELAY_MS))])
  const other = early === undefined && round.ticket.cause === undefined ? race.another(entry) : undefined
  if (other === undefined) return finish(first)

  const second = launch(round, other, race)
  const [quick, slow] = await Promise.race([
    first.attempt.answered.then(() => [first, second] as const),
    second.attempt.answered.then(() => [second, first] as const),
  ])
  const outcome = await finish(quick)
  // A quick failure wins nothing: the other one may still do better.
  if (!outcome.ok) return finish(slow)
  slow.leash.withdraw()
  slow.attempt.abandon()
  return outcome
}

interface Runner {
  readonly attempt: ProviderAttempt
  readonly leash: Leash
}

/** Each runner has a signal of its own: it ends with the call, or when the other one has won. */
class Leash implements CallWorker {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  callEnded(ticket: LiveTicket): void {
    this.#controller.abort(ticket.signal.reason)
  }

  withdraw(): void {
    this.#controller.abort(new DOMException('another provider was quicker', 'AbortError'))
  }
}

function launch(round: CallAttempts, entry: CapabilityEntry, race: HedgeRace): Runner {
  const leash = new Leash()
  round.ticket.employ(leash)
  const leashed: CallAttempts = { ...round, call: { ...round.call, signal: leash.signal } }
  return { attempt: race.start(leashed, entry), leash }
}

async function finish({ attempt, leash }: Runner): Promise<Outcome> {
  const outcome = await attempt.answered
  attempt.round.ticket.dismiss(leash)
  return outcome
}
