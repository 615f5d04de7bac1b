/**
 * Idempotency key store: one key of one caller for one tool allows one act, across retries, crashes and restarts.
 *
 *   reserve ─▶ in-flight ──answered──▶ done      the answer is replayed
 *                  ├──nothing was tried──▶ free    the key can be used again
 *                  └──outcome unknown, or a restart──▶ unknown  the gateway never repeats it
 */
import type { Outcome } from '../bus/call.ts'
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { computeKeyedHash } from './call-binding.ts'
import type { GuardState } from './guard-state.ts'
import { isIdempotencyKeyActive } from './idempotency-key-state.ts'
import type { IdempotencyKeyRecord } from './idempotency-key-state.ts'
import { hideSecretsInJson } from './redaction.ts'
import { mapOutcomeToKeyState } from './call-reservation.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'

export interface IdempotencyKeysConfig {
  readonly ttlMs: number
  readonly maxKeys: number
  /**
   * Limit for one caller, or for a node with every caller it speaks for. The oldest answers make room, the caller's own
   * first.
   */
  readonly maxKeysPerPrincipal: number
  /** Longer answers are not stored, and a repetition of their call is refused. */
  readonly maxOutcomeBytes: number
}

export interface IdempotencyKeyUse {
  readonly principal: string
  readonly capability: string
  readonly key: string
  readonly argsHash: string
}

export type IdempotencyKeyStatus =
  | { readonly state: 'fresh' }
  | { readonly state: 'in-flight' }
  /** `outcome` is `undefined` when the answer was too long to be stored. */
  | { readonly state: 'replay'; readonly outcome: Outcome | undefined }
  /** The answer was stored and is gone: erased, or not the one that the log commits to. */
  | { readonly state: 'answer-lost' }
  /** The key was used with other arguments. */
  | { readonly state: 'mismatch' }
  | { readonly state: 'unknown' }
  | { readonly state: 'full' }

export interface IdempotencyKeyService {
  readonly reserve: (use: IdempotencyKeyUse) => Promise<IdempotencyKeyStatus>
  readonly finish: (use: IdempotencyKeyUse, outcome: Outcome) => Promise<void>
  /** Frees a key under which nothing was tried. */
  readonly release: (use: IdempotencyKeyUse) => Promise<void>
}

export interface IdempotencyKeyStore extends IdempotencyKeyService {
  readonly standingIn: (transaction: GuardTransaction, use: IdempotencyKeyUse) => IdempotencyKeyStatus
  /** Call only after `standingIn` returned `fresh`, in the same transaction. */
  readonly reserveIn: (transaction: GuardTransaction, use: IdempotencyKeyUse) => void
  readonly recoverIn: (transaction: GuardTransaction) => number
  readonly sweepIn: (transaction: GuardTransaction) => void
}

/** Smaller steps of the wall clock are ignored, since the two clocks drift apart anyway. */
const JUMP_MS = 60_000

export function createIdempotencyKeyStore(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly clock: Clock
  readonly config: IdempotencyKeysConfig
  readonly hashKey: Uint8Array
}): IdempotencyKeyStore {
  const { state, log, transact, clock, config, hashKey } = options

  /** The caller's own key may be long or secret and is not stored. */
  const hashOf = ({ principal, capability, key }: IdempotencyKeyUse): string =>
    computeKeyedHash(hashKey, [principal, capability, key.toWellFormed()])

  /**
   * Drops the oldest answers of the caller that needs room; keys in flight or unknown stay, because they protect the
   * house.
   */
  function makeRoomIn({ nowMs, record }: GuardTransaction, principal: string): boolean {
    // Usually there is room, and nothing has to be counted.
    if (state.keys.size < Math.min(config.maxKeys, config.maxKeysPerPrincipal)) return true
    const account = toAccountKeyFromCallerKey(principal)
    const standing = [...state.keys.values()].filter((key) => isIdempotencyKeyActive(key, nowMs))
    const own = standing.filter((key) => toAccountKeyFromCallerKey(key.principal) === account)
    const excess = own.length - config.maxKeysPerPrincipal + 1
    if (excess <= 0) return standing.length < config.maxKeys
    const answered = own
      .filter((key) => key.state === 'done')
      .toSorted((left, right) => {
        const [isLeftOwn, isRightOwn] = [left.principal === principal, right.principal === principal]
        return isLeftOwn === isRightOwn ? left.reservedAtMs - right.reservedAtMs : isLeftOwn ? -1 : 1
      })
    const dropped = answered.slice(0, excess)
    for (const { hash } of dropped) record({ kind: 'key.freed', key: hash, because: 'to make room' })
    return dropped.length > 0 && standing.length - dropped.length < config.maxKeys
  }

  let aheadMs = clock.now() - clock.monotonic()

  /**
   * Setting the clock forward does not mean that time has passed: keys that were reserved before still last as long as
   * they would have. Keys dated later than the clock's time before it was set come from a run with a right clock, and
   * stay as they are.
   */
  function followClockIn({ nowMs, record }: GuardTransaction): void {
    const jumpMs = nowMs - clock.monotonic() - aheadMs
    aheadMs += jumpMs
    if (jumpMs >= JUMP_MS && state.keys.size > 0) record({ kind: 'clock.moved', by_ms: Math.round(jumpMs) })
  }

  function standingOf(key: IdempotencyKeyRecord, use: IdempotencyKeyUse): IdempotencyKeyStatus {
    if (key.argsHash !== use.argsHash) return { state: 'mismatch' }
    if (key.state === 'in-flight' || key.state === 'unknown') return { state: key.state }
    if (key.outcomeSeq === undefined) return { state: 'replay', outcome: undefined }
    const stored = readEntryBodyFields(log, key.outcomeSeq)
    return stored === undefined
      ? { state: 'answer-lost' }
      : { state: 'replay', outcome: stored['outcome'] as Outcome | undefined }
  }

  const inFlight = (use: IdempotencyKeyUse): IdempotencyKeyRecord | undefined => {
    const key = state.keys.get(hashOf(use))
    return key?.state === 'in-flight' ? key : undefined
  }

  const store: IdempotencyKeyStore = {
    standingIn: (transaction, use) => {
      followClockIn(transaction)
      // A key that the node used before it named its agents counts as used when it names one now.
      for (const principal of new Set([use.principal, toAccountKeyFromCallerKey(use.principal)])) {
        const key = state.keys.get(hashOf({ ...use, principal }))
        if (key !== undefined && isIdempotencyKeyActive(key, transaction.nowMs)) return standingOf(key, use)
      }
      return makeRoomIn(transaction, use.principal) ? { state: 'fresh' } : { state: 'full' }
    },

    reserveIn: ({ nowMs, record }, use) => {
      const { principal, capability, argsHash } = use
      const expires = { expires_at: formatIsoTime(nowMs + config.ttlMs) }
      record({ kind: 'key.reserved', key: hashOf(use), principal, tool: capability, args_hash: argsHash, ...expires })
    },

    reserve: (use) =>
      transact((transaction) => {
        const standing = store.standingIn(transaction, use)
        if (standing.state === 'fresh') store.reserveIn(transaction, use)
        return standing
      }),

    finish: (use, outcome) =>
      transact((transaction) => {
        const { nowMs, record } = transaction
        followClockIn(transaction)
        const key = inFlight(use)?.hash
        if (key === undefined) return
        const fate = mapOutcomeToKeyState(outcome)
        const expires = { expires_at: formatIsoTime(nowMs + config.ttlMs) }
        if (fate === 'free') record({ kind: 'key.freed', key, because: 'nothing was tried' })
        else if (fate === 'unknown') record({ kind: 'key.unknown', key, ...expires })
        else record({ kind: 'key.done', key, ...expires }, toStoredOutcome(outcome, config.maxOutcomeBytes))
      }),

    release: (use) =>
      transact(({ record }) => {
        const key = inFlight(use)?.hash
        if (key !== undefined) record({ kind: 'key.freed', key, because: 'nothing was tried' })
      }),

    recoverIn: ({ nowMs, record }) => {
      const cutOff = [...state.keys.values()].filter((key) => key.state === 'in-flight')
      for (const { hash } of cutOff)
        record({ kind: 'key.unknown', key: hash, expires_at: formatIsoTime(nowMs + config.ttlMs) })
      return cutOff.length
    },

    // A key in flight is kept however long its call takes; a lapsed key is ignored.
    sweepIn: followClockIn,
  }
  return store
}

/** Secrets in an answer are returned once, to the caller that caused it, and not stored for a replay. */
function toStoredOutcome(outcome: Outcome, maxBytes: number): JsonObject | undefined {
  const whole = JSON.stringify(outcome)
  if (Buffer.byteLength(whole) > maxBytes) return undefined
  return { outcome: hideSecretsInJson(JSON.parse(whole) as Json) }
}
