/**
 * Sessions API: signing in and out at the console, and who is signed in.
 *
 * Signing in, signing out and being signed out are entries in the ledger, so that it is known later who could have
 * approved something.
 */
import type { Caller } from '../bus/call.ts'
import { explainAdministrationRefusal, explainConsoleLinkRefusal } from '../guard/administration-and-record-rights.ts'
import { signInLinkCreationSchema, signInRequestSchema } from './api-requests.ts'
import { readRequestBodyBySchema, createRefusalResponse } from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'
import type { NewConsoleSession } from './console-sessions.ts'
import { isSameOriginRequest, formatSetCookie } from './api-authenticator.ts'
import type { SignInLinkView, CurrentUserView, SignInResultView } from './views.ts'

/** Adds the routes that need no credential, because a client uses them to obtain one. */
export function addSignInRoutes(api: HonoApi, { authenticator, ledger, tooMany }: ApiOptions): void {
  const { sessions, cookieName } = authenticator
  api.post('/session', async (context) => {
    const { headers } = context.env.incoming
    if (!isSameOriginRequest(headers)) return createRefusalResponse(403, 'Sign in at the console’s own page.')
    const { code, token } = await readRequestBodyBySchema(context, signInRequestSchema)
    const browser = headers['user-agent'] ?? 'unknown'
    let session: NewConsoleSession | undefined
    if (code !== undefined) session = sessions.redeem(code, browser)
    else if (token !== undefined) {
      const principal = authenticator.holder(token)
      // Each failed sign-in leaves an entry in the ledger, so their rate is limited.
      const flood = principal === undefined ? undefined : tooMany(principal.id)
      if (flood !== undefined) return createRefusalResponse(429, flood)
      if (principal !== undefined) session = sessions.open(principal, browser, () => authenticator.holder(token))
    }
    if (session === undefined)
      return createRefusalResponse(
        403,
        code === undefined
          ? 'This token is not valid here, or no longer.'
          : 'This link was used already, or is too old. `hearthbus console` prints a new one.',
      )
    const { id: principal, role } = session.principal
    await ledger.append({ kind: 'console.signed-in', session: session.id, principal, role })
    const view: SignInResultView = {
      signedIn: true,
      principal,
      role,
      session: session.id,
      key: session.key,
      expiresAtMs: session.expiresAtMs,
    }
    const seconds = Math.floor((session.expiresAtMs - Date.now()) / 1_000)
    context.header('set-cookie', formatSetCookie(cookieName, session.cookie, seconds))
    context.header('cache-control', 'no-store')
    return context.json(view)
  })
}

export function addConsoleSessionRoutes(api: HonoApi, { authenticator, ledger }: ApiOptions): void {
  const { sessions, cookieName } = authenticator
  api.get('/session', (context) => {
    const { caller, session } = context.var
    if (caller.kind !== 'principal') return createRefusalResponse(403, 'Only a signed-in principal has sessions.')
    const view: CurrentUserView = {
      signedIn: session !== undefined,
      principal: caller.id,
      role: caller.role,
      ...(session === undefined ? {} : { session }),
    }
    return context.json(view)
  })
  api.delete('/session', async (context) => {
    const { session } = context.var
    if (session !== undefined && sessions.end(session)) await ledger.append({ kind: 'console.signed-out', session })
    context.header('set-cookie', formatSetCookie(cookieName, '', 0))
    return context.json({})
  })
  api.get('/sessions', (context) =>
    context.json(sessions.list().filter(({ principal }) => mayHandle(context.var.caller, principal))),
  )
  api.delete('/sessions/:id', async (context) => {
    const id = context.req.param('id')
    const { caller } = context.var
    const known = sessions.list().find((session) => session.id === id)
    if (known === undefined || !mayHandle(caller, known.principal))
      return createRefusalResponse(404, 'There is no such session.')
    sessions.end(id)
    await ledger.append({ kind: 'console.ended', session: id, by: caller.id })
    return context.json({})
  })
  api.post('/console/link', async (context) => {
    const { caller } = context.var
    const flaw = explainConsoleLinkRefusal(caller)
    if (flaw !== undefined) return createRefusalResponse(403, `Only an admin may let others in. ${flaw.message}`)
    const { role } = await readRequestBodyBySchema(context, signInLinkCreationSchema)
    const { code, expiresAtMs } = sessions.issueCode(role)
    await ledger.append({ kind: 'console.link', role, by: caller.id })
    // The code comes after the #, so that it is in no request line, no log and no Referer.
    const view: SignInLinkView = { url: `${authenticator.url()}/#/sign-in/${code}`, role, expiresAtMs }
    return context.json(view)
  })
}

/** Whether a caller may end a session: its own always, and everybody's as an unrestricted admin. */
function mayHandle(caller: Caller, principal: string): boolean {
  return explainAdministrationRefusal(caller) === undefined || (caller.kind === 'principal' && caller.id === principal)
}
