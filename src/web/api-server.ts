/**
 * API server: what people's programs ask the gateway over HTTP. The CLI uses it, and so does the console.
 *
 *   /api/status · tools · call · traces · calls · topology · history · approvals · grants · tokens · ledger · stop
 *   /api/session · sessions · console/link · settings          /api/events is a server of its own
 *
 * A tool called from here takes the same five stages as a model's call. What decides and administers demands a role.
 *
 * Does I/O.
 */
import { getRequestListener } from '@hono/node-server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { HTTPException } from 'hono/http-exception'
import { addAdministration } from './administration-api.ts'
import { refusal } from './api-context.ts'
import type { Api, ApiOptions, Env } from './api-context.ts'
import { addApprovals } from './approvals-api.ts'
import { addCalls } from './calls-api.ts'
import { addLedger } from './ledger-api.ts'
import { addSessions, addSignIn } from './sessions-api.ts'
import { isFromElsewhere } from './sign-in.ts'
import { addViews } from './views-api.ts'

export function apiHandler(options: ApiOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener(apiApp(options).fetch, { overrideGlobalObjects: false })
}

function apiApp(options: ApiOptions): Api {
  const api = new Hono<Env>().basePath('/api')
  api.onError((error) => {
    if (error instanceof HTTPException) return refusal(error.status, error.message)
    throw error
  })
  api.notFound(() => refusal(404, 'There is no such thing under /api.'))
  const limited = bodyLimit({
    maxSize: options.maxBodyBytes,
    onError: () => refusal(413, `A body may have ${options.maxBodyBytes} bytes.`),
  })
  // Hono's limit fails on a request that has no body at all, as a DELETE may (RFC 9112 § 6.3: neither header, no body).
  api.use((context, next) => {
    const { headers } = context.env.incoming
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    return hasBody ? limited(context, next) : next()
  })
  // A page elsewhere can make a browser ask without an Origin, as an image or a link does.
  api.use(async (context, next) =>
    isFromElsewhere(context.env.incoming.headers) ? refusal(403, 'Other sites’ pages are told nothing.') : next(),
  )
  addSignIn(api, options)
  api.use(async (context, next) => {
    const { headers, socket } = context.env.incoming
    const known = options.signIn.know(headers, socket.remoteAddress)
    if (!known.ok) return refusal(known.fault.status, known.fault.message)
    context.set('caller', known.value.caller)
    context.set('session', known.value.session)
    context.header('cache-control', 'no-store')
    context.header('x-content-type-options', 'nosniff')
    return next()
  })
  addViews(api, options)
  addCalls(api, options)
  addApprovals(api, options)
  addLedger(api, options)
  addAdministration(api, options)
  addSessions(api, options)
  return api
}
