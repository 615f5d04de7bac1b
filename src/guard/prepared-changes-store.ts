/**
 * Prepared changes: prepared changes, each committed at most once, by the caller that prepared it.
 *
 * Taking a token is durable before its change is carried out. A token found in that state at a start belongs to a
 * process that died in between: it is not known what became of its change, and it is never carried out again.
 */
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import type { Offer } from '../bus/capability.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { toBase64url, fromBase64url } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isOutsideValidityPeriod } from './approval.ts'
import { computeArgumentsHash } from './call-binding.ts'
import {
  deriveChangeIdFromToken,
  isChangeToken,
  mintChangeToken,
  decryptChangeArguments,
  encryptChangeArguments,
} from './prepared-change.ts'
import type { PreparedChangeResultState, PreparedChange } from './prepared-change.ts'
import { isPreparedChangeForgettable } from './prepared-change-state.ts'
import type { PreparedChangeRecord } from './prepared-change-state.ts'
import type { GuardState } from './guard-state.ts'
import { redactArguments } from './redaction.ts'
import { NOT_UNICODE_FAULT } from './guard-faults.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'

export interface PreparedChangesConfig {
  /** Limit for all prepared changes together that were not taken yet. */
  readonly maxPrepared: number
  /**
   * Limit for one caller, or for a node with every caller it speaks for. The oldest make room, the caller's own first.
   */
  readonly maxPreparedPerPrincipal: number
}

export interface ChangeToPrepare {
  /** `toCallerKey` of the caller that prepares it, who alone may commit it. */
  readonly principal: string
  readonly tool: string
  /** Validated against the tool's schema. */
  readonly args: JsonObject
  readonly summary: string
  readonly ttlMs: number
  /** The tool's own offer, which names its secrets. */
  readonly offer?: Pick<Offer, 'requestSchema' | 'secrets'>
}

interface ChangeTicket {
  /** The token that commits the change; the store returns it only here. */
  readonly token: string
  readonly expiresAtMs: number
  readonly preparedSeq: number
}

export interface PreparedChangeService {
  readonly prepare: (request: ChangeToPrepare) => Promise<Result<ChangeTicket, Fault>>
  /** Returns what a token would commit, and takes nothing. */
  readonly peek: (token: string, principal: string) => Result<PreparedChange, Fault>
  /** Takes a change for its commit; of concurrent calls, one gets it. That caller must `finish` or `release` it. */
  readonly take: (token: string, principal: string) => Promise<Result<PreparedChange, Fault>>
  /** Records how the commit ended, and returns the entry. Throws when the change was not taken. */
  readonly finish: (token: string, end: PreparedChangeResultState) => Promise<{ readonly finishedSeq: number }>
  /**
   * Makes the change available again, for a commit that was refused before anything was tried. Throws when it was not
   * taken.
   */
  readonly release: (token: string) => Promise<{ readonly releasedSeq: number }>
}

export interface PreparedChangeStore extends PreparedChangeService {
  readonly recoverIn: (transaction: GuardTransaction) => number
  /** Drops the prepared changes of a caller whose credential has ended. */
  readonly forgetIn: (transaction: GuardTransaction, principal: string) => void
}

const MAX_SUMMARY = 1_000

export function createPreparedChangeStore(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly clock: Clock
  readonly config: PreparedChangesConfig
  readonly hashKey: Uint8Array
}): PreparedChangeStore {
  const { state, log, transact, clock, config, hashKey } = options

  const waiting = (nowMs: number): readonly PreparedChangeRecord[] =>
    [...state.changes.values()].filter((change) => change.state === 'prepared' && change.expiresAtMs > nowMs)

  function dropIn({ record }: GuardTransaction, { name, principal }: PreparedChangeRecord, because: string): void {
    record({ kind: 'change.dropped', change: name, principal, because })
  }

  function makeRoomIn(transaction: GuardTransaction, principal: string): boolean {
    const account = toAccountKeyFromCallerKey(principal)
    const held = waiting(transaction.nowMs).filter((change) => toAccountKeyFromCallerKey(change.principal) === account)
    // The caller's own oldest changes make room first.
    const oldest = held.toSorted((left, right) => {
      const [isLeftOwn, isRightOwn] = [left.principal === principal, right.principal === principal]
      return isLeftOwn === isRightOwn ? left.preparedSeq - right.preparedSeq : isLeftOwn ? -1 : 1
    })
    for (const change of oldest.slice(0, Math.max(0, held.length - config.maxPreparedPerPrincipal + 1)))
      dropIn(transaction, change, 'to make room')
    return waiting(transaction.nowMs).length < config.maxPrepared
  }

  function find(token: string, principal: string, nowMs: number): Result<PreparedChangeRecord, Fault> {
    const change = isChangeToken(token) ? state.changes.get(deriveChangeIdFromToken(token)) : undefined
    // For any caller but its owner, a token looks like one that does not exist.
    if (change?.principal !== principal || isPreparedChangeForgettable(change, nowMs)) return fail(noSuchChange())
    if (change.state !== 'prepared') return fail(alreadyTaken(change))
    if (isOutsideValidityPeriod({ fromMs: change.preparedAtMs, untilMs: change.expiresAtMs }, nowMs))
      return fail(noSuchChange())
    return ok(change)
  }

  function opened(
    token: string,
    { tool, preparedAtMs, expiresAtMs, preparedSeq }: PreparedChangeRecord,
  ): PreparedChange {
    const words = readEntryBodyFields(log, preparedSeq)
    const [sealedText, summary] = [words?.['sealed'], words?.['summary']]
    const sealed = typeof sealedText === 'string' ? fromBase64url(sealedText) : undefined
    if (sealed === undefined || typeof summary !== 'string')
      throw new Error('the arguments of a prepared change are gone')
    return { tool, args: decryptChangeArguments(token, sealed), summary, preparedAtMs, expiresAtMs, preparedSeq }
  }

  /** A change whose arguments were erased cannot be carried out. */
  function read(token: string, change: PreparedChangeRecord): Result<PreparedChange, Fault> {
    return readEntryBodyFields(log, change.preparedSeq) === undefined ? fail(noSuchChange()) : ok(opened(token, change))
  }

  function committing(token: string): PreparedChangeRecord {
    const change = state.changes.get(deriveChangeIdFromToken(token))
    if (change?.state !== 'committing')
      throw new RangeError(`change ${deriveChangeIdFromToken(token)} is not being committed`)
    return change
  }

  const store: PreparedChangeStore = {
    prepare: async ({ principal, tool, args, summary, ttlMs, offer }) => {
      if (!(ttlMs > 0)) throw new RangeError(`a change cannot wait for ${ttlMs} ms`)
      const argsHash = computeArgumentsHash(hashKey, args)
      if (argsHash === undefined) return fail(NOT_UNICODE_FAULT)
      const token = mintChangeToken()
      const shownSummary = truncateAndRedactText(summary, MAX_SUMMARY)
      const sealed = toBase64url(encryptChangeArguments(token, args))
      return transact((transaction): Result<ChangeTicket, Fault> => {
        const { nowMs, record } = transaction
        if (!makeRoomIn(transaction, principal))
          return fail({ kind: 'busy', message: 'Too many prepared changes wait already.', retryAfterMs: ttlMs })
        const expiresAtMs = nowMs + ttlMs
        const named = { change: deriveChangeIdFromToken(token), principal, tool, args_hash: argsHash }
        const preparedSeq = record(
          { kind: 'change.prepared', ...named, expires_at: formatIsoTime(expiresAtMs) },
          { arguments: redactArguments(args, offer), summary: shownSummary, sealed },
        )
        return ok({ token, expiresAtMs, preparedSeq })
      })
    },

    peek: (token, principal) => {
      const found = find(token, principal, clock.now())
      return found.ok ? read(token, found.value) : found
    },

    take: (token, principal) =>
      transact(({ nowMs, record }) => {
        const found = find(token, principal, nowMs)
        if (!found.ok) return found
        const change = read(token, found.value)
        if (change.ok) record({ kind: 'change.taken', change: found.value.name, principal, tool: change.value.tool })
        return change
      }),

    finish: (token, end) => transact((transaction) => ({ finishedSeq: finishIn(transaction, committing(token), end) })),

    release: (token) =>
      transact(({ record }) => {
        const { name: change, principal, tool } = committing(token)
        return { releasedSeq: record({ kind: 'change.released', change, principal, tool }) }
      }),

    recoverIn: (transaction) => {
      const cutOff = [...state.changes.values()].filter((change) => change.state === 'committing')
      for (const change of cutOff) finishIn(transaction, change, 'unknown')
      return cutOff.length
    },

    forgetIn: (transaction, principal) => {
      for (const change of waiting(transaction.nowMs))
        if (change.principal === principal) dropIn(transaction, change, 'the credential is gone')
    },
  }
  return store
}

function finishIn(
  { record }: GuardTransaction,
  { name, principal, tool }: PreparedChangeRecord,
  end: PreparedChangeResultState,
): number {
  return record({ kind: `change.${end}`, change: name, principal, tool })
}

function noSuchChange(): Fault {
  return { kind: 'not-found', message: 'There is no such prepared change, or it has expired. Prepare it again.' }
}

function alreadyTaken({ state, finishedAtMs }: PreparedChangeRecord): Fault {
  const details = {
    state,
    finished_at: finishedAtMs === undefined ? null : formatIsoTime(finishedAtMs),
  }
  if (state === 'unknown')
    return {
      kind: 'unknown-outcome',
      message:
        'This change was begun, and nobody knows whether it took effect. Check the state before preparing it again.',
      details,
    }
  const message = state === 'committing' ? 'This change is being committed.' : `This change has ${state} already.`
  return { kind: 'conflict', message, details }
}
