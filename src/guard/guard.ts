/**
 * Guard: the one gate for every change of every family, and the things that go with it: approvals, change tokens,
 * idempotency keys, limits, credentials and the emergency stop.
 *
 * Reads and writes through its stores.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { createKeyedLock } from '../core/fair-queue.ts'
import type { Logger } from '../core/logger.ts'
import { createActuators, createEmergencyStop } from './actuator-store.ts'
import type { EmergencyStop } from './actuator-store.ts'
import { createApprovals } from './approvals-store.ts'
import type { Approvals } from './approvals.ts'
import { mayReadRecord } from './authority.ts'
import type { RecordSubject } from './authority.ts'
import { previewDecision } from './decision.ts'
import type { DecisionPreviewer } from './decision.ts'
import { explainCallerRefusal, isToolInCallerProfiles } from './caller-rights.ts'
import type { GuardMode } from './policy.ts'
import { createChanges } from './changes-store.ts'
import type { PreparedChanges } from './changes-store.ts'
import { listConfigFlaws, computePolicyVersion } from './config.ts'
import type { GuardConfig } from './config.ts'
import { createGrants } from './grants-store.ts'
import type { Grants } from './grants-store.ts'
import { createQuorums } from './quorums.ts'
import type { QuorumRounds } from './quorums.ts'
import { createRounds } from './rounds-store.ts'
import type { NodeVoter } from './rounds-store.ts'
import { createIdempotencyKeyStore } from './idempotency-key-store.ts'
import type { IdempotencyKeys } from './idempotency-key-store.ts'
import { createGuardLimits } from './limits.ts'
import { guardProjection } from './guard-state.ts'
import { createDecisionSteps } from './reserve.ts'
import type { DecisionSteps, ReserveParts } from './reserve.ts'
import { readHashKey, secretCommitment } from './schema-store.ts'
import { createAccessTokens } from './token-store.ts'
import type { AccessTokens } from './token-store.ts'
import { createTransactionRunner } from './transaction-store.ts'
import type { ProjectionLog } from '../ledger/state-log.ts'

export interface GuardOptions {
  readonly database: Database
  readonly log: ProjectionLog
  readonly clock: Clock
  readonly config: GuardConfig
  /** Who this node is among voters. */
  readonly voting: NodeVoter
  readonly logger?: Logger
  /** Waits for the rest of an actuator; ends early when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
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
  readonly quorums: QuorumRounds
  readonly grants: Grants
  readonly tokens: AccessTokens
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
  readonly mode: GuardMode
  readonly policyVersion: string
  /** What would be decided about a call, for whoever stages it. Nothing is used up, nobody is asked. */
  readonly previewDecision: DecisionPreviewer
  readonly changes: PreparedChanges
  readonly keys: IdempotencyKeys
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
  const flaws = listConfigFlaws(config)
  if (flaws.length > 0) throw new Error(`the guard cannot start: ${flaws.join('; ')}`)
  const report = (error: unknown, message: string): void => logger?.error({ err: error }, message)
  const version = computePolicyVersion(config)
  const state = log.projections.state(guardProjection)
  const hashKey = readHashKey(database.sql, state)
  const transact = createTransactionRunner({ database, log, clock })
  const actuators = createActuators(state, clock)
  const limits = createGuardLimits(config.limits, clock.monotonic, actuators.remembered())
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
  const keys = createIdempotencyKeyStore({ state, log, transact, clock, config: config.keys, hashKey })
  const changes = createChanges({ state, log, transact, clock, config: config.changes, hashKey })
  const tokens = createAccessTokens({
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
    turns: createKeyedLock(MAX_WAITING_PER_ACTUATOR),
    sleep,
  }

  const quorums = createQuorums(parts, { state, disputeMs: config.approvals.disputeMs })
  const mayRead: Guard['mayRead'] = (caller, record, offer) =>
    mayReadRecord(caller, { ...record, inProfile: isInProfile(caller, offer, config) })

  return {
    steps: createDecisionSteps(parts),
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
  if (offer !== undefined) return isToolInCallerProfiles(config, caller, offer)
  return caller.kind !== 'principal' || caller.restrictions?.profiles === undefined
}

function isVisible(caller: Caller, offer: Offer, config: GuardConfig): boolean {
  const reasons = explainCallerRefusal(caller, {
    effect: offer.effect,
    trustRequired: offer.trustRequired,
    target: undefined,
    inProfile: isToolInCallerProfiles(config, caller, offer),
    forApprovers: offer.forApprovers,
  })
  // Which device a call would name is not known yet.
  return reasons.every((reason) => reason.rule === 'token-devices')
}
