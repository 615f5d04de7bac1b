/**
 * Judge: whether an answer fits its contract, and what it says about the health of whoever gave it.
 *
 * Pure: time comes from outside.
 */
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Attempt } from './attempt.ts'
import type { Outcome, Reply } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
import type { HealthTracker } from './health-tracker.ts'
import type { Surroundings } from './provider.ts'
import { noteRefusedParams } from './refused-params.ts'
import { wrongReply } from './schema.ts'
import type { Tally } from './tally.ts'
import type { LiveTicket } from './ticket.ts'

export interface JudgeParts extends Pick<Surroundings, 'log' | 'timer'> {
  readonly health: HealthTracker
  readonly tally: Tally
}

/** The outcome as the caller hears it. */
export function judge(attempt: Attempt, given: Outcome, parts: JudgeParts): Outcome {
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
function wrongAnswerOf({ entry, round }: Attempt, reply: Reply): Fault | undefined {
  const isShown = entry.isLocal || entry.announced?.schemas !== undefined
  const wrong = wrongReply(isShown ? entry.offer : round.contract.offer, reply)
  if (wrong === undefined) return undefined
  return { ...wrong, kind: entry.isLocal ? wrong.kind : 'failed', begun: true }
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
