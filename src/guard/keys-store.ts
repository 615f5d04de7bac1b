/**
 * Keys store: idempotency keys. One key of one caller for one tool acts once, across retries, crashes and restarts.
 *
 *   reserve ─▶ in-flight ──answered──▶ done      the answer is replayed
 *                  ├──nothing was tried──▶ free    the key can be used again
 *                  └──nobody knows, or a restart──▶ unknown   never repeated by us
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Outcome } from '../bus/call.ts'
import { accountOf } from '../bus/caller-key.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { fromHex } from '../core/bytes.ts'
import type { Json } from '../core/json.ts'
import { OF_ACCOUNT } from './account.ts'
import { keyedHash } from './binding.ts'
import { hideSecrets } from './redact.ts'
import { keyFate } from './settle.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface KeysConfig {
  readonly ttlMs: number
  readonly maxKeys: number
  /** Of one caller, or of a node with all it speaks for; the oldest answers make room, the caller's own first. */
  readonly maxKeysPerPrincipal: number
  /** Longer answers are not kept: a repeat is refused with that reason. */
  readonly maxOutcomeBytes: number
}

export interface KeyUse {
  readonly principal: string
  readonly capability: string
  readonly key: string
  readonly argsHash: string
}

export type KeyStanding =
  | { readonly state: 'fresh' }
  | { readonly state: 'in-flight' }
  /** `outcome` is `undefined` when the answer was too long to keep. */
  | { readonly state: 'replay'; readonly outcome: Outcome | undefined }
  /** The key was used for other arguments. */
  | { readonly state: 'mismatch' }
  | { readonly state: 'unknown' }
  | { readonly state: 'full' }

export interface Keys {
  readonly reserve: (use: KeyUse) => Promise<KeyStanding>
  readonly finish: (use: KeyUse, outcome: Outcome) => Promise<void>
  /** Gives back a key under which nothing was tried. */
  readonly release: (use: KeyUse) => Promise<void>
}

export interface KeyStore extends Keys {
  readonly standingIn: (transaction: Transaction, use: KeyUse) => KeyStanding
  /** Only after `standingIn` said `fresh`, in the same transaction. */
  readonly reserveIn: (transaction: Transaction, use: KeyUse) => void
  readonly recoverIn: (transaction: Transaction) => number
  readonly sweepIn: (transaction: Transaction) => void
}

/** Smaller steps of the wall clock do not matter here, and the two clocks drift apart by themselves. */
const JUMP_MS = 60_000

export function createKeys(options: {
  readonly database: Database
  readonly transact: Transact
  readonly clock: Clock
  readonly config: KeysConfig
  readonly hashKey: Uint8Array
}): KeyStore {
  const { database, transact, clock, config, hashKey } = options
  const select = database.sql.prepare('SELECT args_hash, state, outcome, expires_at FROM guard_key WHERE hash = ?')
  const count = database.sql.prepare('SELECT COUNT(*) AS n FROM guard_key WHERE ?1 IS NULL OR principal = ?1')
  const countOwn = database.sql.prepare(`SELECT COUNT(*) AS n FROM guard_key WHERE ${OF_ACCOUNT}`)

  /** The caller's word, which may be long, secret or both, is not kept. */
  const hashOf = ({ principal, capability, key }: KeyUse): Uint8Array =>
    fromHex(keyedHash(hashKey, [principal, capability, key.toWellFormed()]))

  /** Drops the oldest answers of whoever needs it; what is in flight or unknown stays, it protects the house. */
  function makeRoomIn({ sql }: Transaction, principal: string): boolean {
    const account = accountOf(principal)
    const own = Number(countOwn.get(account)?.['n'])
    if (own >= config.maxKeysPerPrincipal) {
      const dropped = sql
        .prepare(
          `DELETE FROM guard_key WHERE hash IN (SELECT hash FROM guard_key WHERE ${OF_ACCOUNT} AND state = 'done'
           ORDER BY principal = ?2 DESC, reserved_at LIMIT ?3)`,
        )
        .run(account, principal, own - config.maxKeysPerPrincipal + 1)
      if (Number(dropped.changes) === 0) return false
    }
    return Number(count.get(null)?.['n']) < config.maxKeys
  }

  let aheadMs = clock.now() - clock.monotonic()

  /**
   * Setting the clock forward lets no time pass: keys reserved before it last as long as they would have. Rows dated
   * later than the clock was then come from a run in which it was right, and stay as they are.
   */
  function followClockIn({ sql, nowMs }: Transaction): void {
    const jumpMs = nowMs - clock.monotonic() - aheadMs
    aheadMs += jumpMs
    if (jumpMs < JUMP_MS) return
    sql
      .prepare(
        `UPDATE guard_key SET reserved_at = reserved_at + ?1, expires_at = expires_at + ?1 WHERE reserved_at <= ?2`,
      )
      .run(jumpMs, nowMs - jumpMs)
  }

  const store: KeyStore = {
    standingIn: (transaction, use) => {
      const { sql, nowMs } = transaction
      followClockIn(transaction)
      // A key that the node used before it named its agents is not free because it names one now.
      for (const principal of new Set([use.principal, accountOf(use.principal)])) {
        const hash = hashOf({ ...use, principal })
        const row = select.get(hash)
        // What is in flight is not over because a clock says so: the clock may have been set.
        const stands = row !== undefined && (row['state'] === 'in-flight' || Number(row['expires_at']) > nowMs)
        if (stands) return standingOf(row, use)
        if (row !== undefined) sql.prepare('DELETE FROM guard_key WHERE hash = ?').run(hash)
      }
      return makeRoomIn(transaction, use.principal) ? { state: 'fresh' } : { state: 'full' }
    },

    reserveIn: ({ sql, nowMs }, use) => {
      sql
        .prepare(
          `INSERT INTO guard_key (hash, principal, capability, args_hash, state, reserved_at, expires_at)
           VALUES (?, ?, ?, ?, 'in-flight', ?, ?)`,
        )
        .run(hashOf(use), use.principal, use.capability, use.argsHash, nowMs, nowMs + config.ttlMs)
    },

    reserve: (use) =>
      transact((transaction) => {
        const standing = store.standingIn(transaction, use)
        if (standing.state === 'fresh') store.reserveIn(transaction, use)
        return standing
      }),

    finish: (use, outcome) =>
      transact((transaction) => {
        const { sql, nowMs } = transaction
        followClockIn(transaction)
        const fate = keyFate(outcome)
        const hash = hashOf(use)
        if (fate === 'free') return free(sql, hash)
        const text = fate === 'done' ? keptText(outcome, config.maxOutcomeBytes) : null
        sql
          .prepare(`UPDATE guard_key SET state = ?, outcome = ?, expires_at = ? WHERE hash = ? AND state = 'in-flight'`)
          .run(fate, text, nowMs + config.ttlMs, hash)
      }),

    release: (use) => transact(({ sql }) => free(sql, hashOf(use))),

    recoverIn: ({ sql, nowMs }) => {
      const found = sql
        .prepare(`UPDATE guard_key SET state = 'unknown', expires_at = ? WHERE state = 'in-flight'`)
        .run(nowMs + config.ttlMs)
      return Number(found.changes)
    },

    sweepIn: (transaction) => {
      const { sql, nowMs } = transaction
      followClockIn(transaction)
      // What is in flight is not forgotten, however long it takes.
      sql.prepare(`DELETE FROM guard_key WHERE expires_at <= ? AND state <> 'in-flight'`).run(nowMs)
    },
  }
  return store
}

function free(sql: DatabaseSync, hash: Uint8Array): void {
  sql.prepare(`DELETE FROM guard_key WHERE hash = ? AND state = 'in-flight'`).run(hash)
}

function standingOf(row: Readonly<Record<string, unknown>>, use: KeyUse): KeyStanding {
  if (row['args_hash'] !== use.argsHash) return { state: 'mismatch' }
  switch (row['state']) {
    case 'in-flight':
      return { state: 'in-flight' }
    case 'done':
      return {
        state: 'replay',
        outcome: typeof row['outcome'] === 'string' ? (JSON.parse(row['outcome']) as Outcome) : undefined,
      }
    default:
      return { state: 'unknown' }
  }
}

/** Secrets in an answer are told once, to whoever caused it, and not kept for a replay. */
function keptText(outcome: Outcome, maxBytes: number): string | null {
  const whole = JSON.stringify(outcome)
  if (Buffer.byteLength(whole) > maxBytes) return null
  return JSON.stringify(hideSecrets(JSON.parse(whole) as Json))
}
