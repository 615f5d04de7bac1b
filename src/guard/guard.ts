/**
 * Guard: the one gate for every change of every family, and the things that go with it: approvals, change tokens,
 * idempotency keys, limits, credentials and the emergency stop.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { createKeyedLock } from '../core/fair-queue.ts'
import type { Json } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { createActuatorUsageStore, createEmergencyStopControl } from './actuator-usage-and-stop-store.ts'
import type { EmergencyStopControl } from './actuator-usage-and-stop-store.ts'
import { createApprovalStore } from './approvals-store.ts'
import type { ApprovalService } from './approval-service.ts'
import { mayReadRecord } from './administration-and-record-rights.ts'
import type { RecordAccessFacts } from './administration-and-record-rights.ts'
import { computeKeyedHash } from './call-binding.ts'
import { previewDecision } from './call-decision.ts'
import type { DecisionPreviewer } from './call-decision.ts'
import { listCallerRefusalReasons, isToolInCallerProfiles } from './call-permission.ts'
import type { GuardMode } from './policy.ts'
import { createPreparedChangeStore } from './prepared-changes-store.ts'
import type { PreparedChangeService } from './prepared-changes-store.ts'
import { listGuardConfigFlaws, computePolicyVersion } from './config.ts'
import type { GuardConfig } from './config.ts'
import { createGrantStore } from './grants-store.ts'
import type { GrantService } from './grants-store.ts'
import { createQuorumRoundService } from './quorum-round-service.ts'
import type { QuorumRoundService } from './quorum-round-service.ts'
import { createQuorumRoundStore } from './quorum-round-store.ts'
import type { NodeVoterIdentity } from './quorum-voters.ts'
import { createIdempotencyKeyStore } from './idempotency-key-store.ts'
import type { IdempotencyKeyService } from './idempotency-key-store.ts'
import { createGuardLimiter } from './limits.ts'
import { guardProjection } from './guard-state.ts'
import { createCallDecisionSteps } from './call-reservation.ts'
import type { CallDecisionSteps, CallReservationDependencies } from './call-reservation.ts'
import { readGuardHashKey, computeSecretCommitment } from './guard-secret-store.ts'
import { createAccessTokenService } from './access-token-store.ts'
import type { AccessTokenService } from './access-token-store.ts'
import { createGuardTransactionRunner } from './guard-transaction-store.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'

export interface GuardOptions {
  readonly database: Database
  readonly log: ProjectionLogWriter
  readonly clock: Clock
  readonly config: GuardConfig
  /** This node's identity and keys as a voter. */
  readonly voting: NodeVoterIdentity
  readonly logger?: Logger
  /** Waits for the rest of an actuator; ends early when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface Guard {
  readonly steps: CallDecisionSteps
  /**
   * Whether a list shows the tool to this caller. Role and credential decide that; a gate that a call's arguments can
   * open does not hide a tool.
   */
  readonly visible: (caller: Caller, offer: Offer) => boolean
  /** Whether a caller may read about a call, a change or an approval. `offer` is the tool as it is offered now. */
  readonly mayRead: (caller: Caller, record: Omit<RecordAccessFacts, 'inProfile'>, offer: Offer | undefined) => boolean
  readonly approvals: ApprovalService
  readonly quorums: QuorumRoundService
  readonly grants: GrantService
  readonly tokens: AccessTokenService
  readonly stop: EmergencyStopControl
  readonly services: FamilyGuardServices
  /** The commitment to the guard's secret in `node.start`. */
  readonly secretCommitment: string
  /** A hash that only who has the guard's secret can try out: the value may contain credentials. */
  readonly keyedHash: (value: Json) => string
  /** Runs before the first call: marks what a crashed process left unfinished as unknown. */
  readonly recover: () => Promise<Recovered>
  /** Closes approvals, grants, changes and keys that have lapsed. The node calls it about every second. */
  readonly sweep: () => Promise<void>
}

/** What families use. */
export interface FamilyGuardServices {
  readonly mode: GuardMode
  readonly policyVersion: string
  /** Previews the decision about a call that is being staged. Nothing is used up and nobody is asked. */
  readonly previewDecision: DecisionPreviewer
  readonly changes: PreparedChangeService
  readonly keys: IdempotencyKeyService
  readonly approvals: Pick<ApprovalService, 'list' | 'get'>
  readonly stopped: EmergencyStopControl['state']
  readonly mayRead: Guard['mayRead']
}

interface Recovered {
  readonly unknownKeys: number
  readonly unknownChanges: number
  readonly expiredApprovals: number
  readonly endedGrants: number
}

/** With more changes waiting for one actuator, later callers are refused at once. */
const MAX_WAITING_PER_ACTUATOR = 128

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  // An abort ends the wait; the caller checks the signal itself.
  await pause(ms, undefined, { signal }).catch(() => undefined)
}

/** Throws when the configuration does not say what is allowed. */
export function createGuard({ database, log, clock, config, voting, logger, sleep = sleepFor }: GuardOptions): Guard {
  const flaws = listGuardConfigFlaws(config)
  if (flaws.length > 0) throw new Error(`the guard cannot start: ${flaws.join('; ')}`)
  const report = (error: unknown, message: string): void => logger?.error({ err: error }, message)
  const version = computePolicyVersion(config)
  const state = log.projections.state(guardProjection)
  const hashKey = readGuardHashKey(database.sql, state)
  const transact = createGuardTransactionRunner({ database, log, clock })
  const actuators = createActuatorUsageStore(state, clock)
  const limits = createGuardLimiter(config.limits, clock.monotonic, actuators.remembered())
  const grants = createGrantStore({ state, log, transact, policyVersion: version })
  const rounds = createQuorumRoundStore({ state, voting })
  const approvals = createApprovalStore({
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
  const changes = createPreparedChangeStore({ state, log, transact, clock, config: config.changes, hashKey })
  const tokens = createAccessTokenService({
    database,
    state,
    transact,
    clock,
    forgetIn: (transaction, principal) => {
      for (const store of [approvals, grants, changes]) store.forgetIn(transaction, principal)
    },
  })
  const stop = createEmergencyStopControl({ state, log, transact, nowMs: clock.now })
  const parts: CallReservationDependencies = {
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

  const quorums = createQuorumRoundService(parts, { state, disputeMs: config.approvals.disputeMs })
  const mayRead: Guard['mayRead'] = (caller, record, offer) =>
    mayReadRecord(caller, { ...record, inProfile: isInProfile(caller, offer, config) })

  return {
    steps: createCallDecisionSteps(parts),
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
    secretCommitment: computeSecretCommitment(hashKey),
    keyedHash: (value) => computeKeyedHash(hashKey, value),
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
        approvals.expireTamperedIn(transaction)
        grants.sweepIn(transaction)
        keys.sweepIn(transaction)
      })
      await tokens.sweep()
      await tokens.flush()
    },
  }
}

/** A tool that is not offered now is in no profile. */
function isInProfile(caller: Caller, offer: Offer | undefined, config: GuardConfig): boolean {
  if (offer !== undefined) return isToolInCallerProfiles(config, caller, offer)
  return caller.kind !== 'principal' || caller.restrictions?.profiles === undefined
}

function isVisible(caller: Caller, offer: Offer, config: GuardConfig): boolean {
  const reasons = listCallerRefusalReasons(caller, {
    effect: offer.effect,
    trustRequired: offer.trustRequired,
    target: undefined,
    inProfile: isToolInCallerProfiles(config, caller, offer),
    forApprovers: offer.forApprovers,
  })
  // A list cannot know the device of a future call.
  return reasons.every((reason) => reason.rule === 'token-devices')
}
