/**
 * Guard: the one gate for every change of every family, and the things that go with it: approvals, change tokens,
 * idempotency keys, limits, credentials and the emergency stop.
 *
 * Reads and writes through its stores.
 */
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { createActuators } from './actuators-store.ts'
import { createApprovals } from './approvals-store.ts'
import type { Approvals } from './approvals.ts'
import { callerReasons } from './caller-rights.ts'
import { createChanges } from './changes-store.ts'
import type { Changes } from './changes-store.ts'
import { configFlaws, holdsTool, policyVersion } from './config.ts'
import type { GuardConfig } from './config.ts'
import { createGate, judge } from './gate.ts'
import type { Around, Judge } from './gate.ts'
import { createGrants } from './grants-store.ts'
import type { Grants } from './grants-store.ts'
import { createKeys } from './keys-store.ts'
import type { Keys } from './keys-store.ts'
import { createLimits } from './limits.ts'
import type { Mode } from './mode.ts'
import { guardProjection } from './guard-state.ts'
import { readHashKey, secretCommitment } from './schema-store.ts'
import type { StepParts } from './step.ts'
import { createEmergencyStop } from './stop-store.ts'
import type { EmergencyStop } from './stop-store.ts'
import { createTokens } from './token-store.ts'
import type { Tokens } from './token-store.ts'
import { createTransact } from './transaction-store.ts'
import type { StateLog } from '../ledger/state-log.ts'

export interface GuardOptions {
  readonly database: Database
  readonly log: StateLog
  readonly clock: Clock
  readonly config: GuardConfig
  readonly logger?: Logger
}

export interface Guard {
  /** The dispatch stage's gate. Whoever cannot pass hears why; whoever can is passed on, once. */
  readonly around: Around
  /**
   * Whether a list shows the tool to this caller: role and credential decide, what a call's arguments can open does
   * not.
   */
  readonly visible: (caller: Caller, offer: Offer) => boolean
  readonly approvals: Approvals
  readonly grants: Grants
  readonly tokens: Tokens
  readonly stop: EmergencyStop
  readonly services: GuardServices
  /** What `node.start` says of the guard's secret. */
  readonly secretCommitment: string
  /** Before the first call: what a dead process left half done is unknown from now on. */
  readonly recover: () => Promise<Recovered>
  /** Closes what has lapsed. Whoever runs the node calls it every second or so. */
  readonly sweep: () => Promise<void>
}

/** What families use. */
export interface GuardServices {
  readonly mode: Mode
  readonly policyVersion: string
  /** What would be decided about a call, for whoever stages it. Nothing is used up, nobody is asked. */
  readonly judge: Judge
  readonly changes: Changes
  readonly keys: Keys
  readonly approvals: Pick<Approvals, 'list' | 'get'>
  readonly stopped: EmergencyStop['state']
}

interface Recovered {
  readonly unknownKeys: number
  readonly unknownChanges: number
  readonly expiredApprovals: number
  readonly endedGrants: number
}

/** Throws when the configuration leaves open what is allowed. */
export function createGuard({ database, log, clock, config, logger }: GuardOptions): Guard {
  const flaws = configFlaws(config)
  if (flaws.length > 0) throw new Error(`the guard cannot start: ${flaws.join('; ')}`)
  const report = (error: unknown, message: string): void => logger?.error({ err: error }, message)
  const version = policyVersion(config)
  const state = log.projections.state(guardProjection)
  const hashKey = readHashKey(database.sql, state)
  const transact = createTransact({ database, log, clock })
  const actuators = createActuators(state, clock)
  const limits = createLimits(config.limits, clock.monotonic, actuators.remembered())
  const grants = createGrants({ state, log, transact, policyVersion: version })
  const approvals = createApprovals({
    state,
    log,
    transact,
    config: config.approvals,
    policyVersion: version,
    grants,
    report,
  })
  const keys = createKeys({ state, log, transact, clock, config: config.keys, hashKey })
  const changes = createChanges({ state, log, transact, clock, config: config.changes, hashKey })
  const tokens = createTokens({
    database,
    state,
    transact,
    clock,
    forgetIn: (transaction, principal) => {
      for (const store of [approvals, grants, changes]) store.forgetIn(transaction, principal)
    },
  })
  const stop = createEmergencyStop({ state, log, transact, nowMs: clock.now })
  const parts: StepParts = {
    config,
    policyVersion: version,
    hashKey,
    monotonic: clock.monotonic,
    transact,
    limits,
    actuators,
    keys,
    approvals,
    grants,
    stop,
    report,
  }

  return {
    around: createGate(parts),
    visible: (caller, offer) => isVisible(caller, offer, config),
    approvals,
    grants,
    tokens,
    stop,
    services: {
      mode: config.mode,
      policyVersion: version,
      judge: (call, offer) => judge(call, offer, parts),
      changes,
      keys,
      approvals,
      stopped: stop.state,
    },
    secretCommitment: secretCommitment(hashKey),
    recover: () =>
      transact((transaction) => {
        actuators.recoverIn(transaction)
        return {
          unknownKeys: keys.recoverIn(transaction),
          unknownChanges: changes.recoverIn(transaction),
          expiredApprovals: approvals.sweepIn(transaction),
          endedGrants: grants.sweepIn(transaction),
        }
      }),
    sweep: async () => {
      await transact((transaction) => {
        approvals.sweepIn(transaction)
        grants.sweepIn(transaction)
        keys.sweepIn(transaction)
      })
      tokens.sweep()
      await tokens.flush()
    },
  }
}

function isVisible(caller: Caller, offer: Offer, config: GuardConfig): boolean {
  const reasons = callerReasons(caller, {
    effect: offer.effect,
    trustRequired: offer.trustRequired,
    target: undefined,
    inProfile: holdsTool(config, caller, offer),
  })
  // Which device a call would name is not known yet.
  return reasons.every((reason) => reason.rule === 'token-devices')
}
