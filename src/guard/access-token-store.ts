/**
 * Access token store: the principals' credentials, as hashes. A token is shown once, when it is made.
 *
 * The log decides which tokens are valid; the one table here only stores when each was last used.
 */
import type { Caller, CredentialRestrictions } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import { toHex } from '../core/bytes.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { readRowsRoundingUnsafeIntegers } from '../core/sqlite-row-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { explainTokenAdministrationRefusal } from './administration-and-record-rights.ts'
import type { GuardState } from './guard-state.ts'
import { findTokenByName } from './principal-state.ts'
import type { AccessTokenState } from './principal-state.ts'
import {
  hashAccessToken,
  isAccessTokenLive,
  generateAccessTokenText,
  explainAccessTokenRequestFlaw,
} from './access-token.ts'
import type { AccessTokenRequest, AccessTokenRecord } from './access-token.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'

export interface AccessTokenService {
  /** Creates a token, or replaces one. Only an admin may, and never with more rights than the admin's own. */
  readonly create: (
    by: Caller,
    token: AccessTokenRequest,
  ) => Promise<Result<{ readonly token: string; readonly record: AccessTokenRecord }, Fault>>
  readonly revoke: (by: Caller, name: string) => Promise<Result<void, Fault>>
  readonly list: () => readonly AccessTokenRecord[]
  /** Returns the live token with this text, and notes its use. */
  readonly find: (token: string) => AccessTokenRecord | undefined
  /** Called with the name of each token that stops being valid: revoked, replaced, or found expired by `sweep`. */
  readonly onEnd: (listener: (name: string) => void) => () => void
  /** Records and reports the tokens that have expired, each once: one that was seen expired never lives again. */
  readonly sweep: () => Promise<void>
  /** Writes down when tokens were last used, at most once a minute however often it is called. */
  readonly flush: () => Promise<void>
}

const MAX_TOKENS = 1_000
/** No rights at all: an admin must be allowed at least this much in order to handle tokens. */
const NOTHING: CredentialRestrictions = { effects: [], profiles: [], devices: [] }
/** A write per request would wear out the SD card of a small computer. */
const FLUSH_EVERY_MS = 60_000
/** The latest time that a JavaScript date can have (ECMA-262). */
const MAX_TIME_MS = 8.64e15

export function createAccessTokenService(options: {
  readonly database: Database
  readonly state: GuardState
  readonly transact: GuardTransactionRunner
  readonly clock: Clock
  /** Ends approvals, grants and prepared changes that belong to a credential. */
  readonly forgetIn: (transaction: GuardTransaction, principal: string) => void
}): AccessTokenService {
  const { database, state, transact, clock, forgetIn } = options
  /** When tokens were last used, by their hashes. Whether a token is valid does not depend on it. */
  const lastUsed = new Map<string, number>(
    // A time outside of the valid range was written by another program.
    readRowsRoundingUnsafeIntegers(database.sql.prepare('SELECT hash, last_used_at FROM guard_token_use'))
      .map((row): [string, number] => [String(row['hash']), Number(row['last_used_at'])])
      .filter(([, atMs]) => atMs >= 0 && atMs <= MAX_TIME_MS),
  )
  const unsaved = new Set<string>()
  const listeners = new Set<(name: string) => void>()
  let flushedMs = -Infinity

  const shown = ({ hash, ...token }: AccessTokenState): AccessTokenRecord => ({
    ...token,
    lastUsedAtMs: lastUsed.get(hash),
  })
  const unrevoked = (): readonly AccessTokenState[] =>
    [...state.tokens.values()].filter(({ revokedAtMs }) => revokedAtMs === undefined)

  function end(name: string): void {
    for (const listener of listeners) listener(name)
  }

  /** A name may be given to another credential later, which must not inherit what the first was allowed. */
  function retireIn(transaction: GuardTransaction, name: string): boolean {
    const token = findTokenByName(state, name)
    if (token === undefined || token.revokedAtMs !== undefined) return false
    forgetIn(transaction, name)
    transaction.afterwards(() => end(name))
    return true
  }

  function revokeIn(transaction: GuardTransaction, name: string, by: string): boolean {
    if (!retireIn(transaction, name)) return false
    transaction.record({ kind: 'token.revoked', name, by })
    return true
  }

  /** An expired token stays in the list, so that its owner sees why it is refused, until the list is full. */
  function makeRoomIn(transaction: GuardTransaction, author: string): boolean {
    const active = unrevoked()
    if (active.length < MAX_TOKENS) return true
    const [over] = active
      .filter((token) => !isAccessTokenLive(token, transaction.nowMs))
      .toSorted((left, right) => (left.expiresAtMs ?? 0) - (right.expiresAtMs ?? 0))
    return over !== undefined && revokeIn(transaction, over.name, author)
  }

  return {
    create: async (by, request) => {
      const { name, role, restrictions, ttlMs } = request
      const refusal =
        explainTokenAdministrationRefusal(by, restrictions) ?? flawOf(explainAccessTokenRequestFlaw(request))
      if (refusal !== undefined) return fail(refusal)
      const token = generateAccessTokenText()
      const hash = toHex(hashAccessToken(token))
      return transact((transaction): Result<{ token: string; record: AccessTokenRecord }, Fault> => {
        const { nowMs, record } = transaction
        const author = toCallerKey(by)
        const taken = findTokenByName(state, name)
        if (taken !== undefined && isAccessTokenLive(taken, nowMs))
          return fail({ kind: 'conflict', message: `There is a token named ${name}; revoke it first.` })
        if (!makeRoomIn(transaction, author))
          return fail({ kind: 'busy', message: `This node keeps ${MAX_TOKENS} tokens.` })
        // The name of an expired token may be used again.
        retireIn(transaction, name)
        record({
          kind: 'token.created',
          name,
          token_hash: hash,
          role,
          by: author,
          restrictions: restrictions as JsonObject | undefined,
          expires_at: ttlMs === undefined ? undefined : formatIsoTime(nowMs + ttlMs),
        })
        const made = state.tokens.get(hash)
        if (made === undefined) throw new Error('a token was recorded and is not there')
        return ok({ token, record: shown(made) })
      })
    },
    revoke: async (by, name) => {
      const roleFlaw = explainTokenAdministrationRefusal(by, NOTHING)
      if (roleFlaw !== undefined) return fail(roleFlaw)
      return transact((transaction): Result<void, Fault> => {
        const flaw = explainTokenAdministrationRefusal(by, findTokenByName(state, name)?.restrictions)
        if (findTokenByName(state, name) !== undefined && flaw !== undefined) return fail(flaw)
        if (!revokeIn(transaction, name, toCallerKey(by)))
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
      // Looked up by its hash, so that the time it takes reveals nothing about other tokens.
      const known = state.tokens.get(toHex(hashAccessToken(token)))
      if (known === undefined || !isAccessTokenLive(known, clock.now())) return undefined
      lastUsed.set(known.hash, clock.now())
      unsaved.add(known.hash)
      return shown(known)
    },
    onEnd: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    sweep: async () => {
      const justExpired = (nowMs: number): readonly AccessTokenState[] =>
        unrevoked().filter(({ hasExpired, expiresAtMs = Infinity }) => !hasExpired && expiresAtMs <= nowMs)
      if (justExpired(clock.now()).length === 0) return
      await transact(({ nowMs, record, afterwards }) => {
        for (const { name, hash } of justExpired(nowMs)) {
          record({ kind: 'token.expired', name, token_hash: hash })
          afterwards(() => end(name))
        }
      })
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
