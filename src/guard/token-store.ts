/**
 * Token store: the principals' credentials, as hashes. A token is shown once, when it is made.
 *
 * Read from the table at every request, so that what another process revokes is refused at once.
 *
 * Does I/O.
 */
import type { Caller, Restrictions, Role } from '../bus/call.ts'
import { callerKey } from '../bus/caller-key.ts'
import { hex } from '../core/bytes.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { tokenAuthorityFlaw } from './authority.ts'
import { hashToken, isLive, mintToken, sameHash, tokenFlaw } from './token.ts'
import type { NewToken, TokenRecord } from './token.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface Tokens {
  /** Only an admin makes or revokes tokens, and none that may do more than the admin's own. */
  readonly create: (
    by: Caller,
    token: NewToken,
  ) => Promise<Result<{ readonly token: string; readonly record: TokenRecord }, Fault>>
  readonly revoke: (by: Caller, name: string) => Promise<Result<void, Fault>>
  readonly list: () => readonly TokenRecord[]
  /** The live token with this text, its use noted. */
  readonly find: (token: string) => TokenRecord | undefined
  /** Told the name of each token that stops being good: revoked, replaced, or found expired by `sweep`. */
  readonly onEnd: (listener: (name: string) => void) => () => void
  /** Notices who expired since the last time. */
  readonly sweep: () => void
  /** Writes down when tokens were last used, once a minute however often it is called. */
  readonly flush: () => Promise<void>
}

const MAX_TOKENS = 1_000
/** Narrowed to nothing: what any admin that handles tokens at all may handle. */
const NOTHING: Restrictions = { effects: [], profiles: [], devices: [] }
const MAX_REVOKED_KEPT = 1_000
/** A write per request would wear out the card of a small computer. */
const FLUSH_EVERY_MS = 60_000
const COLUMNS = 'hash, name, role, restrictions, created_at, created_by, expires_at, last_used_at, revoked_at'

export function createTokens(options: {
  readonly database: Database
  readonly transact: Transact
  readonly clock: Clock
  /** What else ends with a credential. */
  readonly forgetIn: (transaction: Transaction, principal: string) => void
}): Tokens {
  const { database, transact, clock, forgetIn } = options
  const byHash = database.sql.prepare(`SELECT ${COLUMNS} FROM guard_token WHERE hash = ?`)
  const usedAt = new Map<string, { readonly hash: Uint8Array; readonly atMs: number }>()
  const expired = database.sql.prepare(
    'SELECT name FROM guard_token WHERE revoked_at IS NULL AND expires_at > ? AND expires_at <= ?',
  )
  const listeners = new Set<(name: string) => void>()
  let flushedMs = -Infinity
  let sweptAtMs = clock.now()

  function end(name: string): void {
    for (const listener of listeners) listener(name)
  }

  /** A name may come back with another credential, which must not inherit what the first was allowed. */
  function retireIn(transaction: Transaction, name: string): boolean {
    const { sql, nowMs } = transaction
    const retired = sql
      .prepare('UPDATE guard_token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL')
      .run(nowMs, name)
    sql
      .prepare(
        `DELETE FROM guard_token WHERE revoked_at IS NOT NULL AND hash NOT IN
         (SELECT hash FROM guard_token WHERE revoked_at IS NOT NULL ORDER BY revoked_at DESC LIMIT ${MAX_REVOKED_KEPT})`,
      )
      .run()
    if (Number(retired.changes) === 0) return false
    forgetIn(transaction, name)
    transaction.afterwards(() => end(name))
    return true
  }

  /** An expired token stays in the list, so that its owner sees why it is refused, until its place is needed. */
  function makeRoomIn(transaction: Transaction, author: string): boolean {
    const { sql, nowMs, record } = transaction
    const kept = sql.prepare('SELECT COUNT(*) AS n FROM guard_token WHERE revoked_at IS NULL').get()?.['n']
    if (Number(kept) < MAX_TOKENS) return true
    const over = sql
      .prepare('SELECT name FROM guard_token WHERE revoked_at IS NULL AND expires_at <= ? ORDER BY expires_at LIMIT 1')
      .get(nowMs)
    if (over === undefined) return false
    const name = String(over['name'])
    retireIn(transaction, name)
    record({ kind: 'token.revoked', name, by: author })
    return true
  }

  return {
    create: async (by, request) => {
      const { name, role, restrictions, ttlMs } = request
      const refusal = tokenAuthorityFlaw(by, restrictions) ?? flawOf(tokenFlaw(request))
      if (refusal !== undefined) return fail(refusal)
      const token = mintToken()
      const hash = hashToken(token)
      return transact((transaction): Result<{ token: string; record: TokenRecord }, Fault> => {
        const { sql, nowMs, record } = transaction
        const author = callerKey(by)
        const taken = sql.prepare(`SELECT ${COLUMNS} FROM guard_token WHERE name = ? AND revoked_at IS NULL`).get(name)
        if (taken !== undefined && isLive(toRecord(taken), nowMs))
          return fail({ kind: 'conflict', message: `There is a token named ${name}; revoke it first.` })
        if (!makeRoomIn(transaction, author))
          return fail({ kind: 'busy', message: `This node keeps ${MAX_TOKENS} tokens.` })
        // An expired token gives its name back.
        retireIn(transaction, name)
        const expiresAtMs = ttlMs === undefined ? undefined : nowMs + ttlMs
        sql
          .prepare(
            'INSERT INTO guard_token (hash, name, role, restrictions, created_at, created_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
          )
          .run(
            hash,
            name,
            role,
            restrictions === undefined ? null : JSON.stringify(restrictions),
            nowMs,
            author,
            expiresAtMs ?? null,
          )
        record({
          kind: 'token.created',
          name,
          token_hash: hex(hash),
          role,
          by: author,
          restrictions: restrictions as JsonObject | undefined,
          expires_at: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
        })
        return ok({
          token,
          record: {
            name,
            role,
            restrictions,
            createdAtMs: nowMs,
            createdBy: author,
            expiresAtMs,
            lastUsedAtMs: undefined,
            revokedAtMs: undefined,
          },
        })
      })
    },
    revoke: async (by, name) => {
      const roleFlaw = tokenAuthorityFlaw(by, NOTHING)
      if (roleFlaw !== undefined) return fail(roleFlaw)
      return transact((transaction): Result<void, Fault> => {
        const live = transaction.sql
          .prepare(`SELECT ${COLUMNS} FROM guard_token WHERE name = ? AND revoked_at IS NULL`)
          .get(name)
        if (live === undefined) return fail({ kind: 'not-found', message: `There is no token named ${name}.` })
        const flaw = tokenAuthorityFlaw(by, toRecord(live).restrictions)
        if (flaw !== undefined) return fail(flaw)
        retireIn(transaction, name)
        transaction.record({ kind: 'token.revoked', name, by: callerKey(by) })
        return ok(undefined)
      })
    },
    list: () =>
      database.sql.prepare(`SELECT ${COLUMNS} FROM guard_token ORDER BY name, created_at`).all().map(toRecord),
    find: (token) => {
      const hash = hashToken(token)
      const row = byHash.get(hash)
      if (row === undefined || !sameHash(row['hash'] as Uint8Array, hash)) return undefined
      const record = toRecord(row)
      if (!isLive(record, clock.now())) return undefined
      usedAt.set(record.name, { hash, atMs: clock.now() })
      return record
    },
    onEnd: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    sweep: () => {
      const nowMs = clock.now()
      for (const row of expired.all(sweptAtMs, nowMs)) end(String(row['name']))
      sweptAtMs = nowMs
    },
    flush: async () => {
      if (usedAt.size === 0 || clock.monotonic() - flushedMs < FLUSH_EVERY_MS) return
      flushedMs = clock.monotonic()
      const used = [...usedAt.values()]
      usedAt.clear()
      await transact(({ sql }) => {
        const update = sql.prepare('UPDATE guard_token SET last_used_at = ? WHERE hash = ?')
        for (const { hash, atMs } of used) update.run(atMs, hash)
      })
    },
  }
}

/** Whether any was ever made, in a database that nobody brought up to date. */
export function hasTokens({ sql }: Pick<Database, 'sql'>): boolean {
  const table = sql.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'guard_token'").get()
  return table !== undefined && sql.prepare('SELECT 1 FROM guard_token LIMIT 1').get() !== undefined
}

function flawOf(flaw: string | undefined): Fault | undefined {
  return flaw === undefined ? undefined : { kind: 'invalid-arguments', message: `Not a token: ${flaw}.` }
}

function toRecord(row: Record<string, unknown>): TokenRecord {
  return {
    name: String(row['name']),
    role: row['role'] as Role,
    restrictions:
      typeof row['restrictions'] === 'string' ? (JSON.parse(row['restrictions']) as Restrictions) : undefined,
    createdAtMs: Number(row['created_at']),
    createdBy: String(row['created_by']),
    expiresAtMs: optionalNumber(row['expires_at']),
    lastUsedAtMs: optionalNumber(row['last_used_at']),
    revokedAtMs: optionalNumber(row['revoked_at']),
  }
}

function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
