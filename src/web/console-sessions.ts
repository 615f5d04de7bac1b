/**
 * Console sessions: who is signed in at the console, and the one-time codes for signing in.
 *
 *   code (15 min, one use) ─┐
 *   a token of the store ───┴▶ session = cookie half + key half ──idle, old, signed out, revoked──▶ gone
 *
 * A session has two secrets and requires both. The cookie is HttpOnly, so no script can read it; but cookies are not
 * bound to a port, so another server on this machine receives it as well. The key is kept by the page, under its own
 * origin, port included; no other page can send it, which is the defence against forged requests as well.
 *
 * Kept in memory: what is nowhere on the disk cannot be read there, and a restart signs everybody out.
 *
 * Draws from the system's source of chance; otherwise pure.
 */
import { randomBytes } from 'node:crypto'
import type { Caller, PrincipalRole } from '../bus/call.ts'
import { toBase64url } from '../core/bytes.ts'
import type { Clock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import { hashAccessToken, isSameHash } from '../guard/access-token.ts'
import { formatConsoleRolePrincipal } from '../guard/principal-state.ts'
import type { ConsoleSessionView } from './views.ts'

export type ConsolePrincipal = Caller & { readonly kind: 'principal' }

/** What a browser sends with every request. */
export interface ConsoleSessionCredentials {
  readonly cookie: string | undefined
  readonly key: string | undefined
}

export interface NewConsoleSession {
  readonly id: string
  readonly cookie: string
  readonly key: string
  readonly principal: ConsolePrincipal
  readonly expiresAtMs: number
}

export interface ConsoleSessions {
  /** Creates a code that signs in once, as a principal of this role. */
  readonly issueCode: (role: PrincipalRole) => { readonly code: string; readonly expiresAtMs: number }
  /** `undefined` for an unknown, used or expired code, without saying which. */
  readonly redeem: (code: string, browser: string) => NewConsoleSession | undefined
  /** Opens a session for a principal whose credential was checked; `alive` is called again at every request. */
  readonly open: (
    principal: ConsolePrincipal,
    browser: string,
    alive: () => ConsolePrincipal | undefined,
  ) => NewConsoleSession
  /** Counts as activity, unless `quietly`: a page that is merely open does not keep its session alive. */
  readonly find: (
    halves: ConsoleSessionCredentials,
    quietly?: 'quietly',
  ) => { readonly id: string; readonly principal: ConsolePrincipal } | undefined
  readonly list: () => readonly ConsoleSessionView[]
  readonly end: (id: string) => boolean
}

interface Session {
  readonly id: string
  readonly owner: string
  readonly cookieHash: Uint8Array
  readonly keyHash: Uint8Array
  readonly alive: () => ConsolePrincipal | undefined
  readonly browser: string
  readonly createdAtMs: number
  seenAtMs: number
}

export const SIGN_IN_CODE_LIFETIME_MS = 15 * 60_000
const MAX_SESSIONS = 64
const MAX_CODES = 16
const SECRET_BYTES = 32
const MAX_BROWSER = 160

export interface ConsoleSessionLimits {
  /** How long a session lasts without activity. */
  readonly idleMs: number
  /** How long a session lasts at most. */
  readonly lifeMs: number
}

export function createConsoleSessions(
  clock: Pick<Clock, 'now'>,
  { idleMs, lifeMs }: ConsoleSessionLimits,
): ConsoleSessions {
  const codes = new Map<string, { readonly role: PrincipalRole; readonly expiresAtMs: number }>()
  const sessions = new Map<string, Session>()

  const isOver = ({ seenAtMs, createdAtMs }: Session): boolean =>
    clock.now() >= seenAtMs + idleMs || clock.now() >= createdAtMs + lifeMs
  const sweep = (): void => {
    for (const [id, session] of sessions) if (isOver(session) || session.alive() === undefined) sessions.delete(id)
    for (const [hash, { expiresAtMs }] of codes) if (clock.now() >= expiresAtMs) codes.delete(hash)
  }
  const open: ConsoleSessions['open'] = (principal, browser, alive) => {
    sweep()
    makeRoom(sessions)
    const [cookie, key, id] = [secret(), secret(), newUlid(clock.now())]
    const nowMs = clock.now()
    sessions.set(id, {
      id,
      owner: principal.id,
      cookieHash: hashAccessToken(cookie),
      keyHash: hashAccessToken(key),
      alive,
      browser: browser.slice(0, MAX_BROWSER),
      createdAtMs: nowMs,
      seenAtMs: nowMs,
    })
    // The id finds the session; the cookie and the key prove that the browser owns it.
    return { id, cookie: `${id}.${cookie}`, key, principal, expiresAtMs: nowMs + lifeMs }
  }

  return {
    issueCode: (role) => {
      sweep()
      const oldest = codes.keys().next()
      if (codes.size >= MAX_CODES && oldest.done !== true) codes.delete(oldest.value)
      const code = secret()
      const expiresAtMs = clock.now() + SIGN_IN_CODE_LIFETIME_MS
      codes.set(codeHash(code), { role, expiresAtMs })
      return { code, expiresAtMs }
    },
    redeem: (code, browser) => {
      sweep()
      const known = codes.get(codeHash(code))
      if (known === undefined) return undefined
      codes.delete(codeHash(code))
      const principal = createConsolePrincipal(known.role)
      return open(principal, browser, () => principal)
    },
    open,
    find: ({ cookie, key }, quietly) => {
      const [id = '', half = ''] = (cookie ?? '').split('.', 2)
      const session = sessions.get(id)
      if (session === undefined || key === undefined) return undefined
      const good =
        isSameHash(hashAccessToken(half), session.cookieHash) && isSameHash(hashAccessToken(key), session.keyHash)
      if (!good) return undefined
      const principal = session.alive()
      if (isOver(session) || principal === undefined) {
        sessions.delete(id)
        return undefined
      }
      if (quietly === undefined) session.seenAtMs = clock.now()
      return { id, principal }
    },
    list: () => {
      sweep()
      return [...sessions.values()].flatMap((session) => {
        const { seenAtMs, createdAtMs } = session
        return viewOf(session, Math.min(seenAtMs + idleMs, createdAtMs + lifeMs))
      })
    },
    end: (id) => sessions.delete(id),
  }
}

/**
 * The console is a principal of its own, so that a call requested at the console is approved by another credential, and
 * the reverse.
 */
export function createConsolePrincipal(role: PrincipalRole): ConsolePrincipal {
  return { kind: 'principal', id: formatConsoleRolePrincipal(role), role }
}

/**
 * The principal with the most sessions loses its least active one, so that nobody can sign others out by signing in.
 */
function makeRoom(sessions: Map<string, Session>): void {
  if (sessions.size < MAX_SESSIONS) return
  const shares = [...Map.groupBy(sessions.values(), ({ owner }) => owner).values()]
  const [largest = []] = shares.toSorted((left, right) => right.length - left.length)
  const [quietest] = largest.toSorted((left, right) => left.seenAtMs - right.seenAtMs)
  if (quietest !== undefined) sessions.delete(quietest.id)
}

function viewOf(
  { id, alive, browser, createdAtMs, seenAtMs }: Session,
  expiresAtMs: number,
): readonly ConsoleSessionView[] {
  const principal = alive()
  if (principal === undefined) return []
  return [{ id, principal: principal.id, role: principal.role, browser, createdAtMs, seenAtMs, expiresAtMs }]
}

function secret(): string {
  return toBase64url(randomBytes(SECRET_BYTES))
}

function codeHash(code: string): string {
  return toBase64url(hashAccessToken(code))
}
