/**
 * Guarded bus: bus, ledger and guard, joined by the chain. Families register on it and faces call through it.
 *
 * Only joins; the modules do the work.
 */
import { CapabilityBus } from '../bus/bus.ts'
import type { BusOptions } from '../bus/bus-options.ts'
import { validateRequest } from '../bus/schema-validation.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { createKeyedLock } from '../core/fair-queue.ts'
import type { Logger } from '../core/logger.ts'
import type { GuardConfig } from '../guard/config.ts'
import { createGuard } from '../guard/guard.ts'
import type { Guard } from '../guard/guard.ts'
import type { NodeVoterIdentity } from '../guard/quorum-voters.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { createLedgerAuditLog, AUDIT_REDACTORS } from './audit.ts'
import { createCallChain } from './chain.ts'

export interface GuardedBusOptions {
  readonly database: Database
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
  readonly guard: GuardConfig
  readonly voting: NodeVoterIdentity
  readonly bus: Omit<BusOptions, 'admit' | 'clock'>
}

export interface GuardedBus {
  readonly bus: CapabilityBus
  readonly ledger: Ledger
  readonly guard: Guard
  /** How many calls wait for a lock, and how many may wait for one key at most. */
  readonly queue: () => { readonly waiting: number; readonly limit: number }
}

/** With more calls waiting for one key, later callers are refused at once. */
const MAX_WAITING_PER_KEY = 128

/** Calls that a crashed process left open are closed here, before the first new one is accepted. */
export async function openGuardedBus({
  database,
  ledger,
  clock,
  logger,
  ...options
}: GuardedBusOptions): Promise<GuardedBus> {
  const guard = createGuard({ database, log: ledger, clock, config: options.guard, voting: options.voting, logger })
  const aborted = await ledger.abortOpenCalls()
  const recovered = await guard.recover()
  if (aborted.length > 0)
    logger.warn(
      { calls: aborted.length, ...recovered },
      'calls of an earlier run were cut off and are closed as aborted',
    )
  const lock = createKeyedLock(MAX_WAITING_PER_KEY)
  const admit = createCallChain({
    lock,
    validateRequest,
    audit: {
      log: createLedgerAuditLog(database, ledger),
      ...AUDIT_REDACTORS,
    },
    decision: guard.steps,
    monotonic: clock.monotonic,
    report: (error, message) => logger.error({ err: error }, message),
  })
  return {
    bus: new CapabilityBus({ ...options.bus, clock, admit }),
    ledger,
    guard,
    queue: () => ({ waiting: lock.waiting(), limit: MAX_WAITING_PER_KEY }),
  }
}
