/**
 * Changes store: prepared changes, each committed at most once, by whoever prepared it.
 *
 * Taking a token is durable before its change is carried out. A token found in that state at a start belongs to a
 * process that died in between: what became of its change, nobody knows, and it is never carried out again.
 *
 * Does I/O.
 */
import { accountOf } from '../bus/caller-key.ts'
import type { Offer } from '../bus/capability.ts'
import type { Database } from '../core/database-store.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { OF_ACCOUNT } from './account.ts'
import { hasLapsed } from './approval.ts'
import { argumentsHash } from './binding.ts'
import { changeHash, isChangeToken, mintChangeToken, openArguments, sealArguments } from './change.ts'
import type { ChangeEnd, ChangeState, PreparedChange } from './change.ts'
import { redactArguments } from './redact.ts'
import { redactText } from './secret-text.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface ChangesConfig {
  /** Prepared and not yet taken, of all callers. */
  readonly maxPrepared: number
  /** Of one caller, or of a node with all it speaks for; the oldest make room, the caller's own first. */
  readonly maxPreparedPerPrincipal: number
  /** How long it is remembered how a change ended. */
  readonly keepMs: number
}

export interface ChangeRequest {
  /** `callerKey` of whoever prepares, who alone may commit. */
  readonly principal: string
  readonly tool: string
  /** Validated by whoever offers the tool. */
  readonly args: JsonObject
  readonly summary: string
  readonly ttlMs: number
  /** The tool's own offer, which knows its secrets. */
  readonly offer?: Pick<Offer, 'requestSchema' | 'secrets'>
}

interface ChangeTicket {
  /** Shown once. */
  readonly token: string
  readonly expiresAtMs: number
  readonly preparedSeq: number
}

export interface Changes {
  readonly prepare: (request: ChangeRequest) => Promise<Result<ChangeTicket, Fault>>
  /** What would be committed; takes nothing. */
  readonly peek: (token: string, principal: string) => Result<PreparedChange, Fault>
  /** Of any number of takers at once, one gets it. Whoever takes must `finish` or `release`. */
  readonly take: (token: string, principal: string) => Promise<Result<PreparedChange, Fault>>
  /** Where the ledger says how it ended. Throws when nobody took it. */
  readonly finish: (token: string, end: ChangeEnd) => Promise<{ readonly finishedSeq: number }>
  /** Puts it back as it was, for a taker that was refused before it tried anything. Throws when nobody took it. */
  readonly release: (token: string) => Promise<{ readonly releasedSeq: number }>
}

export interface ChangeStore extends Changes {
  readonly recoverIn: (transaction: Transaction) => number
  readonly sweepIn: (transaction: Transaction) => void
  /** Drops what a caller prepared whose credential is gone. */
  readonly forgetIn: (transaction: Transaction, principal: string) => void
}

const MAX_SUMMARY = 1_000

export function createChanges(options: {
  readonly database: Database
  readonly transact: Transact
  readonly clock: Clock
  readonly config: ChangesConfig
  readonly hashKey: Uint8Array
}): ChangeStore {
  const { database, transact, clock, config, hashKey } = options
  const select = database.sql.prepare('SELECT * FROM guard_change WHERE hash = ?')

  function makeRoomIn({ sql }: Transaction, principal: string): boolean {
    const held = `SELECT hash FROM guard_change WHERE ${OF_ACCOUNT} AND state = 'prepared'`
    // The caller's own oldest go first.
    sql
      .prepare(
        `DELETE FROM guard_change WHERE hash IN (${held} ORDER BY principal = ?2, prepared_at DESC LIMIT -1 OFFSET ?3)`,
      )
      .run(accountOf(principal), principal, config.maxPreparedPerPrincipal - 1)
    const all = sql.prepare(`SELECT COUNT(*) AS n FROM guard_change WHERE state = 'prepared'`).get()?.['n']
    return Number(all) < config.maxPrepared
  }

  function find(token: string, principal: string, nowMs: number): Result<PreparedChange, Fault> {
    const row = isChangeToken(token) ? select.get(changeHash(token)) : undefined
    // To anybody but its owner, a token looks like one that does not exist.
    if (row === undefined || row['principal'] !== principal) return fail(noSuchChange())
    const state = row['state'] as ChangeState
    if (state !== 'prepared') return fail(alreadyTaken(state, row['finished_at']))
    const change = toChange(token, row)
    if (hasLapsed({ fromMs: change.preparedAtMs, untilMs: change.expiresAtMs }, nowMs)) return fail(noSuchChange())
    return ok(change)
  }

  const store: ChangeStore = {
    prepare: async ({ principal, tool, args, summary, ttlMs, offer }) => {
      if (!(ttlMs > 0)) throw new RangeError(`a change cannot wait for ${ttlMs} ms`)
      const argsHash = argumentsHash(hashKey, args)
      if (argsHash === undefined)
        return fail({ kind: 'invalid-arguments', message: 'The arguments hold text that is not valid Unicode.' })
      const token = mintChangeToken()
      const kept = redactText(summary.slice(0, MAX_SUMMARY)).toWellFormed()
      return transact((transaction): Result<ChangeTicket, Fault> => {
        const { sql, nowMs, record } = transaction
        store.sweepIn(transaction)
        if (!makeRoomIn(transaction, principal))
          return fail({ kind: 'busy', message: 'Too many prepared changes wait already.', retryAfterMs: ttlMs })
        const expiresAtMs = nowMs + ttlMs
        const shown = redactArguments(args, offer)
        const preparedSeq = record(
          {
            kind: 'change.prepared',
            change: nameOf(token),
            principal,
            tool,
            args_hash: argsHash,
            expires_at: new Date(expiresAtMs).toISOString(),
          },
          { arguments: shown, summary: kept },
        )
        sql
          .prepare(
            `INSERT INTO guard_change (hash, state, principal, tool, sealed, summary, prepared_at, expires_at, prepared_seq)
             VALUES (?, 'prepared', ?, ?, ?, ?, ?, ?, ?)`,
          )
          .run(changeHash(token), principal, tool, sealArguments(token, args), kept, nowMs, expiresAtMs, preparedSeq)
        return ok({ token, expiresAtMs, preparedSeq })
      })
    },

    peek: (token, principal) => find(token, principal, clock.now()),

    take: (token, principal) =>
      transact(({ sql, nowMs }) => {
        const found = find(token, principal, nowMs)
        if (!found.ok) return found
        const taken = sql
          .prepare(`UPDATE guard_change SET state = 'committing', taken_at = ? WHERE hash = ? AND state = 'prepared'`)
          .run(nowMs, changeHash(token))
        if (Number(taken.changes) !== 1) throw new Error('a prepared change was taken by nobody')
        return found
      }),

    finish: (token, end) =>
      transact((transaction) => ({
        finishedSeq: finishIn(transaction, { name: nameOf(token), hash: changeHash(token), end }),
      })),

    release: (token) =>
      transact(({ sql, record }) => {
        const row = takenRow(sql, { name: nameOf(token), hash: changeHash(token) })
        const releasedSeq = record({ kind: 'change.released', change: nameOf(token), ...row })
        sql.prepare(`UPDATE guard_change SET state = 'prepared', taken_at = NULL WHERE hash = ?`).run(changeHash(token))
        return { releasedSeq }
      }),

    recoverIn: (transaction) => {
      const cutOff = transaction.sql.prepare(`SELECT hash FROM guard_change WHERE state = 'committing'`).all()
      for (const row of cutOff) {
        const hash = row['hash'] as Uint8Array
        finishIn(transaction, { name: shortName(hash), hash, end: 'unknown' })
      }
      return cutOff.length
    },

    sweepIn: ({ sql, nowMs }) => {
      sql.prepare(`DELETE FROM guard_change WHERE state = 'prepared' AND expires_at <= ?`).run(nowMs)
      sql
        .prepare(`DELETE FROM guard_change WHERE finished_at IS NOT NULL AND finished_at <= ?`)
        .run(nowMs - config.keepMs)
    },

    forgetIn: ({ sql }, principal) => {
      sql.prepare(`DELETE FROM guard_change WHERE principal = ? AND state = 'prepared'`).run(principal)
    },
  }
  return store
}

function finishIn(
  { sql, nowMs, record }: Transaction,
  change: { readonly name: string; readonly hash: Uint8Array; readonly end: ChangeEnd },
): number {
  const { name, hash, end } = change
  const seq = record({ kind: `change.${end}`, change: name, ...takenRow(sql, { name, hash }) })
  sql
    .prepare('UPDATE guard_change SET state = ?, finished_at = ?, finished_seq = ? WHERE hash = ?')
    .run(end, nowMs, seq, hash)
  return seq
}

function takenRow(
  sql: Transaction['sql'],
  { name, hash }: { readonly name: string; readonly hash: Uint8Array },
): { readonly principal: string; readonly tool: string } {
  const row = sql.prepare(`SELECT principal, tool FROM guard_change WHERE hash = ? AND state = 'committing'`).get(hash)
  if (row === undefined) throw new RangeError(`change ${name} is not being committed`)
  return { principal: String(row['principal']), tool: String(row['tool']) }
}

/** What the ledger calls a change: nothing that could be used to commit it. */
function nameOf(token: string): string {
  return shortName(changeHash(token))
}

function shortName(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex').slice(0, 32)
}

function toChange(token: string, row: Readonly<Record<string, unknown>>): PreparedChange {
  return {
    tool: String(row['tool']),
    args: openArguments(token, row['sealed'] as Uint8Array),
    summary: String(row['summary']),
    preparedAtMs: Number(row['prepared_at']),
    expiresAtMs: Number(row['expires_at']),
    preparedSeq: Number(row['prepared_seq']),
  }
}

function noSuchChange(): Fault {
  return { kind: 'not-found', message: 'There is no such prepared change, or its time is over. Prepare it again.' }
}

function alreadyTaken(state: ChangeState, finishedAt: unknown): Fault {
  const details = {
    state,
    finished_at: typeof finishedAt === 'number' ? new Date(finishedAt).toISOString() : null,
  }
  if (state === 'unknown')
    return {
      kind: 'unknown-outcome',
      message: 'This change was begun, and nobody knows whether it took effect. Look before preparing it again.',
      details,
    }
  const message = state === 'committing' ? 'This change is being committed.' : `This change has ${state} already.`
  return { kind: 'conflict', message, details }
}
