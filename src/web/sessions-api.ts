/**
 * Sessions of the API: signing in and out at the console, and who is signed in.
 *
 * Signing in, out and being thrown out are entries in the ledger: afterwards it can be told who could have said yes.
 *
 * Pure: sessions and ledger do the work.
 */
import type { Caller } from '../bus/call.ts'
import { refuseAdministration, refuseConsoleLink } from '../guard/authority.ts'
import { linkRequestSchema, signInRequestSchema } from './api.ts'
import { readRequestBody, parseRequest, apiRefusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'
import type { NewSession } from './sessions.ts'
import { isSameOriginRequest, formatSetCookie } from './sign-in.ts'
import type { LinkView, MeView, SignedInView } from './views.ts'

/** What needs no credential yet, because it is how one gets one. */
export function addSignInRoutes(api: Api, { signIn, ledger, tooMany }: ApiOptions): void {
  const { sessions, cookieName } = signIn
  api.post('/session', async (context) => {
    const { headers } = context.env.incoming
    if (!isSameOriginRequest(headers)) return apiRefusal(403, 'One signs in at the console’s own page.')
    const { code, token } = parseRequest(signInRequestSchema, await readRequestBody(context.req.raw))
    const browser = headers['user-agent'] ?? 'unknown'
    let session: NewSession | undefined
    if (code !== undefined) session = sessions.redeem(code, browser)
    else if (token !== undefined) {
      const principal = signIn.holder(token)
      // Each leaves an entry in the ledger.
      const flood = principal === undefined ? undefined : tooMany(principal.id)
      if (flood !== undefined) return apiRefusal(429, flood)
      if (principal !== undefined) session = sessions.open(principal, browser, () => signIn.holder(token))
    }
    if (session === undefined)
      return apiRefusal(
        403,
        code === undefined
          ? 'This token is not, or no longer, good here.'
          : 'This link was used already, or is too old. `hearthbus console` prints a new one.',
      )
    const { id: principal, role } = session.principal
    await ledger.append({ kind: 'console.signed-in', session: session.id, principal, role })
    const view: SignedInView = {
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

export function addSessionRoutes(api: Api, { signIn, ledger }: ApiOptions): void {
  const { sessions, cookieName } = signIn
  api.get('/session', (context) => {
    const { caller, session } = context.var
    if (caller.kind !== 'principal') return apiRefusal(403, 'Only principals have sessions.')
    const view: MeView = {
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
    if (known === undefined || !mayHandle(caller, known.principal)) return apiRefusal(404, 'There is no such session.')
    sessions.end(id)
    await ledger.append({ kind: 'console.ended', session: id, by: caller.id })
    return context.json({})
  })
  api.post('/console/link', async (context) => {
    const { caller } = context.var
    const flaw = refuseConsoleLink(caller)
    if (flaw !== undefined) return apiRefusal(403, `Only an admin lets others in. ${flaw.message}`)
    const { role } = parseRequest(linkRequestSchema, await readRequestBody(context.req.raw))
    const { code, expiresAtMs } = sessions.issueCode(role)
    await ledger.append({ kind: 'console.link', role, by: caller.id })
    // Behind the #, so that it is in no request line, no log and no Referer.
    const view: LinkView = { url: `${signIn.url()}/#/sign-in/${code}`, role, expiresAtMs }
    return context.json(view)
  })
}

/** One's own, and for an admin of the whole house everybody's. */
function mayHandle(caller: Caller, principal: string): boolean {
  return refuseAdministration(caller) === undefined || (caller.kind === 'principal' && caller.id === principal)
}
