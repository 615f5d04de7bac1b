/**
 * Judge: whether an answer fits its contract, and what it says about the health of whoever gave it.
 *
 * Pure: time comes from outside.
 */
import { fail } from '../core/result.ts'
import type { Attempt } from './attempt.ts'
import type { Outcome } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
import type { HealthTracker } from './health-tracker.ts'
import type { Surroundings } from './provider.ts'
import { wrongReply } from './schema.ts'
import type { Tally } from './tally.ts'
import type { LiveTicket } from './ticket.ts'

export interface JudgeParts extends Pick<Surroundings, 'log' | 'timer'> {
  readonly health: HealthTracker
  readonly tally: Tally
}

/** The outcome as the caller hears it. */
export function judge({ round, entry, isProbe, startedMs }: Attempt, given: Outcome, parts: JudgeParts): Outcome {
  const { call, ticket } = round
  const { timer, tally, health, log } = parts
  const wrong = given.ok ? wrongReply(entry.offer, given.value) : undefined
  // Our own mistakes go to the log as well.
  if (wrong?.kind === 'internal') log.error({ traceId: call.traceId, ...wrong.details }, wrong.message)
  const outcome = wrong === undefined ? given : fail(wrong)
  const nowMs = timer.nowMs()
  ticket.providerMs += nowMs - startedMs
  ticket.entry = entry
  if (ticket.cause !== undefined && ticket.lingering !== undefined) tally.cutOff++
  // The time that the consumer took for frames is not the provider's.
  const latencyMs = Math.max(0, nowMs - startedMs - ticket.consumerMs)
  const change = health.record(entry, { outcome, latencyMs, nowMs, isProbe, isCallersDoing: isCallersDoing(ticket) })
  if (change !== undefined) tell(change, entry, parts)
  return outcome
}

/** Then the missing answer says nothing about the provider. */
function isCallersDoing({ cause, isHurried, isWithConsumer }: LiveTicket): boolean {
  return cause === 'cancelled' || (cause === 'deadline' && (isHurried || isWithConsumer))
}

function tell(change: 'quarantined' | 'recovered', entry: CapabilityEntry, { log, tally }: JudgeParts): void {
  const details = { capability: entry.offer.name, node: entry.nodeId, ejections: entry.health.ejections }
  if (change === 'quarantined') tally.quarantines++
  log.warn(details, change === 'quarantined' ? 'a provider fails too often and is left alone' : 'a provider is back')
}
