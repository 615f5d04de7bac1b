/**
 * Token store: the principals' credentials, as hashes. A token is shown once, when it is made.
 *
 * What the log says of tokens counts; the one table here only remembers when each was last used.
 */
import type { Caller, CredentialRestrictions } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import { toHex } from '../core/bytes.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { refuseTokenAuthority } from './authority.ts'
import type { GuardState } from './guard-state.ts'
import { findTokenNamed } from './principal-state.ts'
import type { TokenState } from './principal-state.ts'
import { hashToken, isLiveToken, mintToken, explainTokenFlaw } from './token.ts'
import type { NewToken, TokenRecord } from './token.ts'
import { formatEntryTime } from '../ledger/state-log.ts'
import type { TransactionRunner, Transaction } from './transaction-store.ts'

export interface AccessTokens {
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
const NOTHING: CredentialRestrictions = { effects: [], profiles: [], devices: [] }
/** A write per request would wear out the card of a small computer. */
const FLUSH_EVERY_MS = 60_000

export function createAccessTokens(options: {
  readonly database: Database
  readonly state: GuardState
  readonly transact: TransactionRunner
  readonly clock: Clock
  /** What else ends with a credential. */
  readonly forgetIn: (transaction: Transaction, principal: string) => void
}): AccessTokens {
  const { database, state, transact, clock, forgetIn } = options
  /** By hash. Says nothing about what a token is good for. */
  const lastUsed = new Map<string, number>(
    database.sql
      .prepare('SELECT hash, last_used_at FROM guard_token_use')
      .all()
      .map((row) => [String(row['hash']), Number(row['last_used_at'])]),
  )
  const unsaved = new Set<string>()
  const listeners = new Set<(name: string) => void>()
  let flushedMs = -Infinity
  let sweptAtMs = clock.now()

  const shown = ({ hash, ...token }: TokenState): TokenRecord => ({ ...token, lastUsedAtMs: lastUsed.get(hash) })
  const unrevoked = (): readonly TokenState[] =>
    [...state.tokens.values()].filter(({ revokedAtMs }) => revokedAtMs === undefined)

  function end(name: string): void {
    for (const listener of listeners) listener(name)
  }

  /** A name may come back with another credential, which must not inherit what the first was allowed. */
  function retireIn(transaction: Transaction, name: string): boolean {
    const token = findTokenNamed(state, name)
    if (token === undefined || token.revokedAtMs !== undefined) return false
    forgetIn(transaction, name)
    transaction.afterwards(() => end(name))
    return true
  }

  function revokeIn(transaction: Transaction, name: string, by: string): boolean {
    if (!retireIn(transaction, name)) return false
    transaction.record({ kind: 'token.revoked', name, by })
    return true
  }

  /** An expired token stays in the list, so that its owner sees why it is refused, until its place is needed. */
  function makeRoomIn(transaction: Transaction, author: string): boolean {
    const kept = unrevoked()
    if (kept.length < MAX_TOKENS) return true
    const [over] = kept
      .filter((token) => !isLiveToken(token, transaction.nowMs))
      .toSorted((left, right) => (left.expiresAtMs ?? 0) - (right.expiresAtMs ?? 0))
    return over !== undefined && revokeIn(transaction, over.name, author)
  }

  return {
    create: async (by, request) => {
      const { name, role, restrictions, ttlMs } = request
      const refusal = refuseTokenAuthority(by, restrictions) ?? flawOf(explainTokenFlaw(request))
      if (refusal !== undefined) return fail(refusal)
      const token = mintToken()
      const hash = toHex(hashToken(token))
      return transact((transaction): Result<{ token: string; record: TokenRecord }, Fault> => {
        const { nowMs, record } = transaction
        const author = callerKey(by)
        const taken = findTokenNamed(state, name)
        if (taken !== undefined && isLiveToken(taken, nowMs))
          return fail({ kind: 'conflict', message: `There is a token named ${name}; revoke it first.` })
        if (!makeRoomIn(transaction, author))
          return fail({ kind: 'busy', message: `This node keeps ${MAX_TOKENS} tokens.` })
        // An expired token gives its name back.
        retireIn(transaction, name)
        record({
          kind: 'token.created',
          name,
          token_hash: hash,
          role,
          by: author,
          restrictions: restrictions as JsonObject | undefined,
          expires_at: ttlMs === undefined ? undefined : formatEntryTime(nowMs + ttlMs),
        })
        const made = state.tokens.get(hash)
        if (made === undefined) throw new Error('a token was recorded and is not there')
        return ok({ token, record: shown(made) })
      })
    },
    revoke: async (by, name) => {
      const roleFlaw = refuseTokenAuthority(by, NOTHING)
      if (roleFlaw !== undefined) return fail(roleFlaw)
      return transact((transaction): Result<void, Fault> => {
        const flaw = refuseTokenAuthority(by, findTokenNamed(state, name)?.restrictions)
        if (findTokenNamed(state, name) !== undefined && flaw !== undefined) return fail(flaw)
        if (!revokeIn(transaction, name, callerKey(by)))
          return fail({ kind: 'not-found', message: `There is no token named ${name}.` })
        return ok(undefined)
      })
    },
    list: () =>
      [...state.tokens.values()]
        .toSorted((left, right) =>
          left.name === right.name ? left.createdAtMs - right.createdAtMs : left.name < right.name ? -1 : 1,
        )
        .map(shown),
    find: (token) => {
      // Looked up by its hash: how long that takes says nothing about any other token.
      const known = state.tokens.get(toHex(hashToken(token)))
      if (known === undefined || !isLiveToken(known, clock.now())) return undefined
      lastUsed.set(known.hash, clock.now())
      unsaved.add(known.hash)
      return shown(known)
    },
    onEnd: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    sweep: () => {
      const nowMs = clock.now()
      for (const { name, expiresAtMs = Infinity } of unrevoked())
        if (expiresAtMs > sweptAtMs && expiresAtMs <= nowMs) end(name)
      sweptAtMs = nowMs
    },
    flush: async () => {
      if (unsaved.size === 0 || clock.monotonic() - flushedMs < FLUSH_EVERY_MS) return
      flushedMs = clock.monotonic()
      const used = [...unsaved]
      unsaved.clear()
      await database.commit((sql) => {
        const put = sql.prepare('INSERT OR REPLACE INTO guard_token_use VALUES (?, ?)')
        for (const hash of used) put.run(hash, lastUsed.get(hash) ?? 0)
      })
    },
  }
}

function flawOf(flaw: string | undefined): Fault | undefined {
  return flaw === undefined ? undefined : { kind: 'invalid-arguments', message: `Not a token: ${flaw}.` }
}
