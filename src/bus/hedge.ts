/**
 * Hedge: asks a second provider when a call takes unusually long, and uses the first good answer of the two.
 *
 *   first ──────────── p95 passes ─────────────────▶ answers late, or loses and is withdrawn
 *                           second ──▶ answers      (Dean & Barroso: a few per cent more calls cut the tail)
 *
 * Only for calls that may happen twice, and paid for from the retry budget.
 */
import { AttemptedCall } from './provider-attempt.ts'
import type { ProviderAttempt } from './provider-attempt.ts'
import type { Outcome } from './call.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { RunningCallTicket, CallEndListener } from './call-ticket.ts'

/** With fewer samples the usual latency is not known. */
const MIN_SAMPLES = 20
/** A shorter wait is not worth a second call. */
const MIN_DELAY_MS = 10

export interface HedgedCallDependencies {
  readonly start: (round: AttemptedCall, entry: CapabilityEntry) => ProviderAttempt
  /**
   * Returns another provider with a slot already taken for this call, if there is one and the retry budget allows it.
   */
  readonly another: (than: CapabilityEntry) => CapabilityEntry | undefined
  readonly pause: (ms: number) => Promise<void>
}

export function mayHedge({ emit }: AttemptedCall, { offer, health }: CapabilityEntry): boolean {
  return emit === undefined && offer.idempotent && offer.anywhere === true && health.samples >= MIN_SAMPLES
}

export async function runHedgedCall(
  round: AttemptedCall,
  entry: CapabilityEntry,
  race: HedgedCallDependencies,
): Promise<Outcome> {
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
  // A fast failure does not win: the other provider may still succeed.
  if (!outcome.ok) return finish(slow)
  slow.leash.withdraw()
  slow.attempt.abandon()
  return outcome
}

interface Runner {
  readonly attempt: ProviderAttempt
  readonly leash: Leash
}

/** Each attempt has its own signal, which aborts when the call ends or when the other attempt has won. */
class Leash implements CallEndListener {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  callEnded(ticket: RunningCallTicket): void {
    this.#controller.abort(ticket.signal.reason)
  }

  withdraw(): void {
    this.#controller.abort(new DOMException('another provider was quicker', 'AbortError'))
  }
}

function launch(round: AttemptedCall, entry: CapabilityEntry, race: HedgedCallDependencies): Runner {
  const leash = new Leash()
  round.ticket.employ(leash)
  const leashed = new AttemptedCall({ ...round.call, signal: leash.signal }, round.contract, round.emit)
  return { attempt: race.start(leashed, entry), leash }
}

async function finish({ attempt, leash }: Runner): Promise<Outcome> {
  const outcome = await attempt.answered
  attempt.round.ticket.dismiss(leash)
  return outcome
}
