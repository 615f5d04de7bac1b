/**
 * Principal state: who was authenticated, and with which role. Tokens, the console's sessions, and the names that a
 * node gives itself.
 *
 *   token.created ─▶ token.revoked, token.expired      console.link ─▶ console.signed-in      agent.key
 */
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import type { PrincipalRole } from '../bus/call.ts'
import { isJsonObject } from '../core/json.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { isAccessTokenLive } from './access-token.ts'
import type { AccessTokenRecord } from './access-token.ts'

/** By name; one token per name is valid at a time. */
export interface AccessTokenState extends Omit<AccessTokenRecord, 'lastUsedAtMs'> {
  /** The SHA-256 of the token, in hex. */
  readonly hash: string
}

/** How many invalid tokens stay readable. */
const MAX_STORED_TOKENS = 2_000
/** A call that was accepted a moment before its credential ended is recorded a moment after. */
const CALL_SLACK_MS = 60_000
/**
 * Callers that are authenticated by other means: our own services, nodes by their signatures, and voice backends that the
 * owner's configuration names. No token's name has a colon in it.
 */
const OTHER_CALLERS = /^(?:service|peer|access-point|voice-backend):/

export const principalEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'token.created': (state, entry) => {
    const [name, hash, role] = [
      readEntryTextField(entry, 'name'),
      readEntryTextField(entry, 'token_hash'),
      roleField(entry),
    ]
    if (name === undefined || hash === undefined || role === undefined)
      return 'a field that such an entry needs is missing or wrong'
    const unlawful = explainEntryNotByAdmin(state, entry)
    if (unlawful !== undefined) return unlawful
    const atMs = readEntryTime(entry)
    if (state.tokens.has(hash)) return 'there was this token before'
    const before = findTokenByName(state, name)
    if (before !== undefined && isAccessTokenLive(before, atMs)) return `there was a token named ${name}`
    // The name of an expired token may be used again.
    if (before !== undefined) state.tokens.set(before.hash, { ...before, revokedAtMs: atMs })
    state.tokens.dropOldest(MAX_STORED_TOKENS, ({ revokedAtMs }) => revokedAtMs !== undefined)
    const { restrictions } = entry
    state.tokens.set(hash, {
      hash,
      name,
      role,
      restrictions: isJsonObject(restrictions) ? restrictions : undefined,
      createdAtMs: atMs,
      createdBy: readEntryTextField(entry, 'by') ?? '',
      expiresAtMs: readEntryTimeField(entry, 'expires_at'),
      revokedAtMs: undefined,
      hasExpired: false,
    })
    state.tokenNames.set(name, hash)
    return undefined
  },

  'token.expired': (state, entry) => {
    const token = findTokenByName(state, readEntryTextField(entry, 'name') ?? '')
    if (token === undefined || token.hash !== entry['token_hash']) return 'there is no such token'
    state.tokens.set(token.hash, { ...token, hasExpired: true })
    return readEntryTime(entry) < (token.expiresAtMs ?? Infinity) ? 'its time was not over' : undefined
  },

  'token.revoked': (state, entry) => {
    const name = readEntryTextField(entry, 'name')
    const token = name === undefined ? undefined : findTokenByName(state, name)
    if (token === undefined) return 'there is no such token'
    // A revocation holds, whichever principal made it.
    state.tokens.set(token.hash, { ...token, revokedAtMs: readEntryTime(entry) })
    return explainEntryNotByAdmin(state, entry)
  },

  // The runtime stores an agent's key; only an admin may set it, whichever module writes the entry.
  'agent.key': explainEntryNotByAdmin,

  'console.link': (state, entry) => {
    const role = roleField(entry)
    if (role === undefined) return 'a field that such an entry needs is missing or wrong'
    const unlawful = explainEntryNotByAdmin(state, entry)
    if (unlawful !== undefined) return unlawful
    state.consoleRoles.set(role, true)
    return undefined
  },

  'console.signed-in': (state, entry) => {
    const [principal, role] = [readEntryTextField(entry, 'principal'), roleField(entry)]
    if (principal === undefined || role === undefined) return 'a field that such an entry needs is missing or wrong'
    const isByLink = principal === formatConsoleRolePrincipal(role)
    if (isByLink && !state.consoleRoles.has(role)) return `nobody made a link for the role ${role}`
    if (!isByLink && findRoleOfPrincipalAt(state, principal, readEntryTime(entry)) !== role)
      return `${principal} was no ${role}`
    return undefined
  },
}

export const entryPrincipalChecks: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'call.enter': (state, entry) => {
    const principal = readEntryTextField(entry, 'principal')
    if (principal === undefined) return 'it does not say who called'
    const atMs = readEntryTime(entry)
    if (
      principal === 'local' ||
      OTHER_CALLERS.test(principal) ||
      findRoleOfPrincipalAt(state, principal, atMs) !== undefined
    )
      return undefined
    const token = findTokenByName(state, principal)
    const endedMs = Math.min(token?.revokedAtMs ?? Infinity, token?.expiresAtMs ?? Infinity)
    return token !== undefined && atMs - endedMs < CALL_SLACK_MS ? undefined : `nobody let ${principal} in`
  },
}

/** The role of a principal at a time; `undefined` when the name was not valid then. */
export function findRoleOfPrincipalAt(state: GuardState, name: string, atMs: number): PrincipalRole | undefined {
  if (name === 'owner') return 'admin'
  const console = findConsoleRole(name)
  if (console !== undefined) return state.consoleRoles.has(console) ? console : undefined
  const token = findTokenByName(state, name)
  return token !== undefined && isAccessTokenLive(token, atMs) ? token.role : undefined
}

export function findTokenByName({ tokenNames, tokens }: GuardState, name: string): AccessTokenState | undefined {
  const hash = tokenNames.get(name)
  return hash === undefined ? undefined : tokens.get(hash)
}

export function explainEntryNotByAdmin(state: GuardState, entry: LedgerEntry): string | undefined {
  const by = readEntryTextField(entry, 'by')
  if (by === undefined) return 'it does not say who did it'
  return findRoleOfPrincipalAt(state, by, readEntryTime(entry)) === 'admin'
    ? undefined
    : `${by} was not an admin at that time`
}

/**
 * The principal name of a person who signed in at the console with a link, by the role that the link was created for.
 */
export function formatConsoleRolePrincipal(role: PrincipalRole): string {
  return role === 'admin' ? 'console' : `console-${role}`
}

export function findConsoleRole(principalId: string): PrincipalRole | undefined {
  return PRINCIPAL_ROLES.find((role) => principalId === formatConsoleRolePrincipal(role))
}

function roleField(entry: LedgerEntry): PrincipalRole | undefined {
  const role = readEntryTextField(entry, 'role')
  return PRINCIPAL_ROLES.find((known) => known === role)
}
