/**
 * Authenticator: finds the principal of a request from its credential.
 *
 *   bearer token ─▶ a token of the store, the configured one, or the owner's ─▶ that principal;  neither ─▶ refused, wherever it came from
 *   session      ─▶ the person who signed in at the console
 *   nothing      ─▶ from this very machine: `local`, unless switched off;   from elsewhere ─▶ refused
 */
import type { Caller } from '../bus/call.ts'
import { isLoopback } from '../core/loopback.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isAccessToken } from './access-token.ts'
import type { AccessTokenRecord } from './access-token.ts'

/** A request's headers: Node's object, or anything with a `get` such as `Headers`. */
type RequestHeaders =
  | { readonly get: (name: string) => string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

interface AuthFault {
  /** 401: a credential is required. 403: the one given is not valid for this. */
  readonly status: 401 | 403
  readonly message: string
}

interface AuthenticateOptions {
  /** The requested profile, as in `/mcp/<profile>`. */
  readonly profile?: string
  /** The name that the client gives itself. */
  readonly client?: string
}

export interface CredentialSources {
  /** The live token with this text. */
  readonly findToken: (token: string) => AccessTokenRecord | undefined
  /** Whether this is the text of the owner's credential file. */
  readonly isOwner: (token: string) => boolean
  /** Whether this is the text of the token that the configuration names by its hash. */
  readonly isConfigured?: (token: string) => boolean
  /** The person who signed in at the console, from the request's headers. */
  readonly findSession?: (headers: RequestHeaders) => Caller | undefined
  /** The role of a program on this machine that shows no credential. */
  readonly anonymous: 'agent' | 'observer' | 'off'
}

export type Authenticator = (
  headers: RequestHeaders,
  remoteAddress: string | undefined,
  options?: AuthenticateOptions,
) => Result<Caller, AuthFault>

type Principal = Caller & { readonly kind: 'principal' }

export const OWNER_PRINCIPAL: Principal = { kind: 'principal', id: 'owner', role: 'admin' }

/** The principal of the configured token. Tokens that are created here have no colon in their names. */
const CONFIGURED: Principal = { kind: 'principal', id: 'configured:token', role: 'agent' }

/** Headers with which a proxy says that it forwards a request. */
const FORWARDED: readonly string[] = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

export function createAuthenticator(sources: CredentialSources): Authenticator {
  return (headers, remoteAddress, options = {}) => {
    const authorization = headerOf(headers, 'authorization')
    if (authorization !== undefined) return fromToken(authorization, sources, options)
    const session = sources.findSession?.(headers)
    if (session !== undefined) return ok(session)
    if (!isLocalRequest(headers, remoteAddress))
      return fail({ status: 401, message: 'Send a token: Authorization: Bearer hb_… (hearthbus token create).' })
    const local = resolveLocalPrincipal(sources.anonymous)
    if (local === undefined)
      return fail({ status: 401, message: 'This node asks everybody for a token: Authorization: Bearer hb_….' })
    return ok(withClient(local, options))
  }
}

/** The principal of a program on this machine without a credential; `undefined` when it must show one. */
export function resolveLocalPrincipal(anonymous: CredentialSources['anonymous']): Principal | undefined {
  return anonymous === 'agent' || anonymous === 'observer'
    ? { kind: 'principal', id: 'local', role: anonymous }
    : undefined
}

function fromToken(
  authorization: string,
  sources: CredentialSources,
  options: AuthenticateOptions,
): Result<Caller, AuthFault> {
  const token = /^bearer +([^\s,]+)$/i.exec(authorization.trim())?.[1]
  if (token !== undefined && sources.isConfigured?.(token) === true) return ok(withClient(CONFIGURED, options))
  if (token === undefined || !isAccessToken(token))
    return fail({ status: 403, message: 'The Authorization header holds no token of this node.' })
  if (sources.isOwner(token)) return ok(withClient(OWNER_PRINCIPAL, options))
  const record = sources.findToken(token)
  // Unknown, revoked and expired tokens get the same answer, so that it reveals nothing.
  if (record === undefined) return fail({ status: 403, message: 'This token is not valid here, or no longer.' })
  const { name, role, restrictions } = record
  const { profile } = options
  if (profile !== undefined && restrictions?.profiles !== undefined && !restrictions.profiles.includes(profile))
    return fail({ status: 403, message: `This token is narrowed to the profiles ${restrictions.profiles.join(', ')}.` })
  const caller: Principal = { kind: 'principal', id: name, role }
  return ok(withClient(restrictions === undefined ? caller : { ...caller, restrictions }, options))
}

/** A proxy on this machine connects from loopback as well; the requests that it forwards do not come from here. */
export function isLocalRequest(headers: RequestHeaders, remoteAddress: string | undefined): boolean {
  return isLoopback(remoteAddress ?? '') && FORWARDED.every((name) => headerOf(headers, name) === undefined)
}

function withClient(caller: Principal, { client }: AuthenticateOptions): Principal {
  return client === undefined ? caller : { ...caller, client }
}

function headerOf(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name]
  return typeof value === 'object' ? value.join(', ') : value
}
