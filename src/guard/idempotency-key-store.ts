/**
 * Keys store: idempotency keys. One key of one caller for one tool acts once, across retries, crashes and restarts.
 *
 *   reserve ─▶ in-flight ──answered──▶ done      the answer is replayed
 *                  ├──nothing was tried──▶ free    the key can be used again
 *                  └──nobody knows, or a restart──▶ unknown   never repeated by us
 */
import type { Outcome } from '../bus/call.ts'
import { readCallerAccount } from '../bus/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { keyedHash } from './binding.ts'
import type { GuardState } from './guard-state.ts'
import { isIdempotencyKeyActive } from './idempotency-key-state.ts'
import type { IdempotencyKeyRecord } from './idempotency-key-state.ts'
import { hideSecrets } from './redact.ts'
import { decideIdempotencyKeyState } from './reserve.ts'
import { formatEntryTime, readEntryWords } from '../ledger/state-log.ts'
import type { ProjectionLog } from '../ledger/state-log.ts'
import type { TransactionRunner, Transaction } from './transaction-store.ts'

export interface KeysConfig {
  readonly ttlMs: number
  readonly maxKeys: number
  /** Of one caller, or of a node with all it speaks for; the oldest answers make room, the caller's own first. */
  readonly maxKeysPerPrincipal: number
  /** Longer answers are not kept: a repeat is refused with that reason. */
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
  /** `outcome` is `undefined` when the answer was too long to keep. */
  | { readonly state: 'replay'; readonly outcome: Outcome | undefined }
  /** The key was used for other arguments. */
  | { readonly state: 'mismatch' }
  | { readonly state: 'unknown' }
  | { readonly state: 'full' }

export interface IdempotencyKeys {
  readonly reserve: (use: IdempotencyKeyUse) => Promise<IdempotencyKeyStatus>
  readonly finish: (use: IdempotencyKeyUse, outcome: Outcome) => Promise<void>
  /** Gives back a key under which nothing was tried. */
  readonly release: (use: IdempotencyKeyUse) => Promise<void>
}

export interface IdempotencyKeyStore extends IdempotencyKeys {
  readonly standingIn: (transaction: Transaction, use: IdempotencyKeyUse) => IdempotencyKeyStatus
  /** Only after `standingIn` said `fresh`, in the same transaction. */
  readonly reserveIn: (transaction: Transaction, use: IdempotencyKeyUse) => void
  readonly recoverIn: (transaction: Transaction) => number
  readonly sweepIn: (transaction: Transaction) => void
}

/** Smaller steps of the wall clock do not matter here, and the two clocks drift apart by themselves. */
const JUMP_MS = 60_000

export function createIdempotencyKeyStore(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLog, 'body'>
  readonly transact: TransactionRunner
  readonly clock: Clock
  readonly config: KeysConfig
  readonly hashKey: Uint8Array
}): IdempotencyKeyStore {
  const { state, log, transact, clock, config, hashKey } = options

  /** The caller's word, which may be long, secret or both, is not kept. */
  const hashOf = ({ principal, capability, key }: IdempotencyKeyUse): string =>
    keyedHash(hashKey, [principal, capability, key.toWellFormed()])

  /** Drops the oldest answers of whoever needs it; what is in flight or unknown stays, it protects the house. */
  function makeRoomIn({ nowMs, record }: Transaction, principal: string): boolean {
    // Most of the time nobody has to be counted.
    if (state.keys.size < Math.min(config.maxKeys, config.maxKeysPerPrincipal)) return true
    const account = readCallerAccount(principal)
    const standing = [...state.keys.values()].filter((key) => isIdempotencyKeyActive(key, nowMs))
    const own = standing.filter((key) => readCallerAccount(key.principal) === account)
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
   * Setting the clock forward lets no time pass: keys reserved before it last as long as they would have. Those dated
   * later than the clock was then come from a run in which it was right, and stay as they are.
   */
  function followClockIn({ nowMs, record }: Transaction): void {
    const jumpMs = nowMs - clock.monotonic() - aheadMs
    aheadMs += jumpMs
    if (jumpMs >= JUMP_MS && state.keys.size > 0) record({ kind: 'clock.moved', by_ms: Math.round(jumpMs) })
  }

  function standingOf(key: IdempotencyKeyRecord, use: IdempotencyKeyUse): IdempotencyKeyStatus {
    if (key.argsHash !== use.argsHash) return { state: 'mismatch' }
    if (key.state === 'in-flight' || key.state === 'unknown') return { state: key.state }
    return { state: 'replay', outcome: readEntryWords(log, key.outcomeSeq)?.['outcome'] as Outcome | undefined }
  }

  const inFlight = (use: IdempotencyKeyUse): IdempotencyKeyRecord | undefined => {
    const key = state.keys.get(hashOf(use))
    return key?.state === 'in-flight' ? key : undefined
  }

  const store: IdempotencyKeyStore = {
    standingIn: (transaction, use) => {
      followClockIn(transaction)
      // A key that the node used before it named its agents is not free because it names one now.
      for (const principal of new Set([use.principal, readCallerAccount(use.principal)])) {
        const key = state.keys.get(hashOf({ ...use, principal }))
        if (key !== undefined && isIdempotencyKeyActive(key, transaction.nowMs)) return standingOf(key, use)
      }
      return makeRoomIn(transaction, use.principal) ? { state: 'fresh' } : { state: 'full' }
    },

    reserveIn: ({ nowMs, record }, use) => {
      const { principal, capability, argsHash } = use
      const expires = { expires_at: formatEntryTime(nowMs + config.ttlMs) }
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
        const fate = decideIdempotencyKeyState(outcome)
        const expires = { expires_at: formatEntryTime(nowMs + config.ttlMs) }
        if (fate === 'free') record({ kind: 'key.freed', key, because: 'nothing was tried' })
        else if (fate === 'unknown') record({ kind: 'key.unknown', key, ...expires })
        else record({ kind: 'key.done', key, ...expires }, keptOutcome(outcome, config.maxOutcomeBytes))
      }),

    release: (use) =>
      transact(({ record }) => {
        const key = inFlight(use)?.hash
        if (key !== undefined) record({ kind: 'key.freed', key, because: 'nothing was tried' })
      }),

    recoverIn: ({ nowMs, record }) => {
      const cutOff = [...state.keys.values()].filter((key) => key.state === 'in-flight')
      for (const { hash } of cutOff)
        record({ kind: 'key.unknown', key: hash, expires_at: formatEntryTime(nowMs + config.ttlMs) })
      return cutOff.length
    },

    // What is in flight is not forgotten, however long it takes; what has lapsed is passed over.
    sweepIn: followClockIn,
  }
  return store
}

/** Secrets in an answer are told once, to whoever caused it, and not kept for a replay. */
function keptOutcome(outcome: Outcome, maxBytes: number): JsonObject | undefined {
  const whole = JSON.stringify(outcome)
  if (Buffer.byteLength(whole) > maxBytes) return undefined
  return { outcome: hideSecrets(JSON.parse(whole) as Json) }
}
