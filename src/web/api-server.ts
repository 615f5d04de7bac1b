/**
 * API server: the HTTP API for people's programs. The CLI uses it, and so does the console.
 *
 *   /api/status · tools · call · traces · calls · topology · history · approvals · grants · tokens · ledger · stop
 *   /api/session · sessions · console/link · settings          /api/events is a server of its own
 *   /api itself lists them all
 *
 * A tool called from here takes the same five stages as a model's call. Deciding and administering require a role.
 */
import { getRequestListener } from '@hono/node-server'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { mayViewStatus } from '../guard/administration-and-record-rights.ts'
import { addAdministrationRoutes } from './administration-api.ts'
import { createRefusalResponse } from './api-context.ts'
import type { HonoApi, ApiOptions, HonoApiEnvironment } from './api-context.ts'
import { addApprovalRoutes } from './approvals-api.ts'
import { addCallRoutes } from './calls-api.ts'
import { addLedgerRoutes } from './ledger-api.ts'
import { recordRefusedAdministration } from './refused-administration-log.ts'
import { addConsoleSessionRoutes, addSignInRoutes } from './sessions-api.ts'
import { isCrossSiteRequest } from './api-authenticator.ts'
import { addStatusAndToolRoutes } from './status-and-tool-api.ts'

/** The caller's own identity, own calls, and approvals that it may decide about: each of these checks access itself. */
const UNNARROWED = /^\/api\/(?:session|calls\/[^/]+|approvals(?:\/[^/]+)?|tokens)$/

export function createApiHandler(
  options: ApiOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener(apiApp(options).fetch, { overrideGlobalObjects: false })
}

function apiApp(options: ApiOptions): HonoApi {
  const api = new Hono<HonoApiEnvironment>().basePath('/api')
  api.onError((error, { env: { incoming } }) => {
    if (error instanceof HTTPException) return createRefusalResponse(error.status, error.message)
    // An incomplete request is not an error of ours, and an unauthenticated client must not be able to fill the log
    // with such errors.
    if (incoming.destroyed && !incoming.complete)
      return createRefusalResponse(400, 'The request did not arrive completely.')
    options.logger.error({ err: error }, 'an API request ended with an internal error')
    return createRefusalResponse(500, 'An internal error occurred. The log of the gateway has the details.')
  })
  api.notFound(() => createRefusalResponse(404, 'There is no such thing under /api.'))
  api.use(async (context, next) => tooMuch(context.env.incoming.headers, options.maxBodyBytes) ?? next())
  // A page on another site can make a browser send a request without an Origin, as an image or a link does (CSRF).
  api.use(async (context, next) =>
    isCrossSiteRequest(context.env.incoming.headers)
      ? createRefusalResponse(403, 'Pages of other sites may not read this.')
      : next(),
  )
  addSignInRoutes(api, options)
  api.use(async (context, next) => {
    const { headers, socket } = context.env.incoming
    const { method, path } = context.req
    const known = options.authenticator.authenticate(headers, socket.remoteAddress)
    if (!known.ok) {
      await recordRefusedAdministration(options, { method, path, caller: undefined }, known.fault.status)
      return createRefusalResponse(known.fault.status, known.fault.message)
    }
    const flood = options.tooMany(known.value.caller.id)
    if (flood !== undefined) return createRefusalResponse(429, flood)
    context.set('caller', known.value.caller)
    context.set('session', known.value.session)
    context.header('cache-control', 'no-store')
    context.header('x-content-type-options', 'nosniff')
    await next()
    await recordRefusedAdministration(options, { method, path, caller: known.value.caller }, context.res.status)
    return undefined
  })
  // A credential whose restrictions forbid reading gets nothing but the answers to its own calls.
  api.use(async (context, next) =>
    context.req.method !== 'GET' || mayViewStatus(context.var.caller) || UNNARROWED.test(context.req.path)
      ? next()
      : createRefusalResponse(403, 'This credential is narrowed and does not cover reading.'),
  )
  addStatusAndToolRoutes(api, options)
  addCallRoutes(api, options)
  addApprovalRoutes(api, options)
  addLedgerRoutes(api, options)
  addAdministrationRoutes(api, options)
  addConsoleSessionRoutes(api, options)
  // Generated from the routes, so that none is forgotten.
  api.get('/', (context) => {
    const { node, version } = options.status()
    const routes = api.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`)
    return context.json({ node, version, routes: [...new Set([...routes, 'GET /api/events'])].toSorted() })
  })
  return api
}

/** A body whose announced length is too large is refused before it is read. */
function tooMuch(headers: IncomingHttpHeaders, maxBytes: number): Response | undefined {
  if (headers['transfer-encoding'] !== undefined)
    return createRefusalResponse(411, 'Send the body with a Content-Length.')
  return Number(headers['content-length'] ?? 0) > maxBytes
    ? createRefusalResponse(413, `A body may have ${maxBytes} bytes.`)
    : undefined
}
