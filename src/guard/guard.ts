/**
 * Guard: the one gate for every change of every family, and the things that go with it: approvals, change tokens,
 * idempotency keys, limits, credentials and the emergency stop.
 *
 * Reads and writes through its stores.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Call, Caller, Outcome } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import { keyedLock } from '../core/turns.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { createActuators } from './actuator-store.ts'
import { createApprovals } from './approvals-store.ts'
import type { Approvals } from './approvals.ts'
import { mayReadRecord } from './authority.ts'
import type { RecordSubject } from './authority.ts'
import { authorise, previewDecision } from './authorise.ts'
import type { Authorization, PreviewDecision } from './authorise.ts'
import { callerReasons, holdsTool } from './caller-rights.ts'
import { createChanges } from './changes-store.ts'
import type { Changes } from './changes-store.ts'
import { configFlaws, policyVersion } from './config.ts'
import type { GuardConfig } from './config.ts'
import { createGrants } from './grants-store.ts'
import type { Grants } from './grants-store.ts'
import { createQuorums } from './quorums.ts'
import type { Quorums } from './quorums.ts'
import { createRounds } from './rounds-store.ts'
import type { Voting } from './rounds-store.ts'
import { createKeys } from './keys-store.ts'
import type { Keys } from './keys-store.ts'
import { createLimits } from './limits.ts'
import { guardProjection } from './guard-state.ts'
import type { Mode } from './policy.ts'
import { planCall } from './plan.ts'
import type { AssessedCall } from './plan.ts'
import type { Decision } from './policy.ts'
import { reserve, settleCall } from './reserve.ts'
import type { ReserveParts, Reserved } from './reserve.ts'
import { readHashKey, secretCommitment } from './schema-store.ts'
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
  /** Who this node is among voters. */
  readonly voting: Voting
  readonly logger?: Logger
  /** Waits for the rest of an actuator; ends early when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The decision about one call, as the steps that dispatch takes before and after it executes the call. */
export interface DecisionSteps {
  readonly plan: (call: Call, offer: Offer) => Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>>
  readonly authorise: (assessed: AssessedCall) => Authorization
  readonly reserve: (assessed: AssessedCall, decision: Decision) => Authorization | Promise<Authorization>
  readonly settle: (outcome: Outcome, reserved: Reserved) => Promise<Outcome>
}

export interface Guard {
  readonly steps: DecisionSteps
  /**
   * Whether a list shows the tool to this caller: role and credential decide, what a call's arguments can open does
   * not.
   */
  readonly visible: (caller: Caller, offer: Offer) => boolean
  /** Whether a caller may read about a call, a change or an approval. `offer`: the tool, as it is offered now. */
  readonly mayRead: (caller: Caller, record: Omit<RecordSubject, 'inProfile'>, offer: Offer | undefined) => boolean
  readonly approvals: Approvals
  readonly quorums: Quorums
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
  readonly previewDecision: PreviewDecision
  readonly changes: Changes
  readonly keys: Keys
  readonly approvals: Pick<Approvals, 'list' | 'get'>
  readonly stopped: EmergencyStop['state']
  readonly mayRead: Guard['mayRead']
}

interface Recovered {
  readonly unknownKeys: number
  readonly unknownChanges: number
  readonly expiredApprovals: number
  readonly endedGrants: number
}

/** More changes waiting for one actuator than this, and later callers are better off being told at once. */
const MAX_WAITING_PER_ACTUATOR = 128

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  // An abort ends the wait; whoever waited looks at the signal itself.
  await pause(ms, undefined, { signal }).catch(() => undefined)
}

/** Throws when the configuration leaves open what is allowed. */
export function createGuard({ database, log, clock, config, voting, logger, sleep = sleepFor }: GuardOptions): Guard {
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
  const rounds = createRounds({ state, voting })
  const approvals = createApprovals({
    state,
    rounds,
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
  const parts: ReserveParts = {
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
    rounds,
    nowMs: clock.now,
    stop,
    report,
    turns: keyedLock(MAX_WAITING_PER_ACTUATOR),
    sleep,
  }

  const quorums = createQuorums(parts, { state, disputeMs: config.approvals.disputeMs })
  const mayRead: Guard['mayRead'] = (caller, record, offer) =>
    mayReadRecord(caller, { ...record, inProfile: isInProfile(caller, offer, config) })

  return {
    steps: {
      plan: (call, offer) => planCall(call, offer, parts),
      authorise: (assessed) => authorise(assessed, parts),
      reserve: (assessed, decision) => reserve(assessed, decision, parts),
      settle: (outcome, reserved) => settleCall(outcome, reserved, parts),
    },
    visible: (caller, offer) => isVisible(caller, offer, config),
    mayRead,
    approvals,
    quorums,
    grants,
    tokens,
    stop,
    services: {
      mode: config.mode,
      policyVersion: version,
      previewDecision: (call, offer) => previewDecision(call, offer, parts),
      changes,
      keys,
      approvals,
      stopped: stop.state,
      mayRead,
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

/** What is offered by nobody now is in no profile. */
function isInProfile(caller: Caller, offer: Offer | undefined, config: GuardConfig): boolean {
  if (offer !== undefined) return holdsTool(config, caller, offer)
  return caller.kind !== 'principal' || caller.restrictions?.profiles === undefined
}

function isVisible(caller: Caller, offer: Offer, config: GuardConfig): boolean {
  const reasons = callerReasons(caller, {
    effect: offer.effect,
    trustRequired: offer.trustRequired,
    target: undefined,
    inProfile: holdsTool(config, caller, offer),
    forApprovers: offer.forApprovers,
  })
  // Which device a call would name is not known yet.
  return reasons.every((reason) => reason.rule === 'token-devices')
}
