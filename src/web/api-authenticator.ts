/**
 * API authenticator: which caller a request of the API belongs to, and how a browser becomes one.
 *
 *   cookie or key shown ─▶ both good, and sent by our own page ─▶ the person who signed in
 *                        └▶ anything else ─▶ refused; the caller does not count as a program without a credential
 *   neither             ─▶ as `authenticate` says: a token, or a program on this machine
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../bus/call.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Authenticator } from '../guard/authenticator.ts'
import type { ConsoleSessionCredentials, ConsolePrincipal, ConsoleSessions } from './console-sessions.ts'

const CONSOLE_SESSION_KEY_HEADER = 'x-hearthbus-key'
/** Sent by a page that polls without a person's action. */
const QUIET_HEADER = 'x-hearthbus-quiet'

export interface AuthenticatedApiCaller {
  readonly caller: Caller
  /** `undefined` for callers that did not sign in at the console. */
  readonly session: string | undefined
}

export interface ApiAuthenticationRefusal {
  readonly status: 401 | 403
  readonly message: string
}

export interface ApiAuthenticator {
  readonly authenticate: (
    headers: IncomingHttpHeaders,
    remoteAddress: string | undefined,
  ) => Result<AuthenticatedApiCaller, ApiAuthenticationRefusal>
  /** Returns the caller without counting the request as activity. */
  readonly isStillKnown: (headers: IncomingHttpHeaders, remoteAddress: string | undefined) => boolean
  /** The principal of this token, as long as the token is valid. */
  readonly holder: (token: string) => ConsolePrincipal | undefined
  readonly sessions: ConsoleSessions
  readonly cookieName: string
  /** The console's URL, for links. */
  readonly url: () => string
}

export interface ApiAuthenticatorOptions {
  readonly sessions: ConsoleSessions
  readonly authenticateToken: Authenticator
  /** Distinguishes the cookies of several nodes on one machine, because cookies are not bound to a port. */
  readonly nodeId: string
  readonly url: () => string
}

export function createApiAuthenticator({
  sessions,
  authenticateToken,
  nodeId,
  url,
}: ApiAuthenticatorOptions): ApiAuthenticator {
  const cookieName = `hearthbus-${nodeId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-12)}`

  function authenticate(
    headers: IncomingHttpHeaders,
    remoteAddress: string | undefined,
    quietly?: 'quietly',
  ): Result<AuthenticatedApiCaller, ApiAuthenticationRefusal> {
    const halves = halvesOf(headers, cookieName)
    if (headers.authorization !== undefined || (halves.cookie === undefined && halves.key === undefined)) {
      const known = authenticateToken(headers, remoteAddress)
      return known.ok ? ok({ caller: known.value, session: undefined }) : known
    }
    // The page states in a header that a request is a poll; a false statement only signs its own user out sooner.
    const found = sessions.find(halves, quietly ?? (headers[QUIET_HEADER] === undefined ? undefined : 'quietly'))
    if (found === undefined) return fail({ status: 401, message: 'You are not, or no longer, signed in.' })
    if (!isSameOriginRequest(headers))
      return fail({ status: 403, message: 'Only the console’s own page may use its session.' })
    return ok({ caller: found.principal, session: found.id })
  }

  return {
    sessions,
    cookieName,
    url,
    authenticate: (headers, remoteAddress) => authenticate(headers, remoteAddress),
    isStillKnown: (headers, remoteAddress) => authenticate(headers, remoteAddress, 'quietly').ok,
    holder: (token) => {
      const known = authenticateToken({ authorization: `Bearer ${token}` }, undefined)
      return known.ok && known.value.kind === 'principal' ? known.value : undefined
    },
  }
}

/** The owner may allow other origins; none of them may act for a person who signed in here. */
export function isSameOriginRequest(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin, host } = headers
  return origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
}

/** Whether a browser sends this because of another site's page. Programs do not send the header. */
export function isCrossSiteRequest(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

export function formatSetCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/api; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`
}

function halvesOf(headers: IncomingHttpHeaders, cookieName: string): ConsoleSessionCredentials {
  const key = headers[CONSOLE_SESSION_KEY_HEADER]
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const cookie = pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1)
  return { cookie, key: typeof key === 'string' ? key : undefined }
}
