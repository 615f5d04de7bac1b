/**
 * API server: what people's programs ask the gateway over HTTP. The CLI uses it, and so does the console.
 *
 *   /api/status · tools · call · traces · topology · approvals · grants · tokens · ledger · stop
 *
 * A tool called from here takes the same five stages as a model's call. What decides and administers demands a role.
 *
 * Does I/O.
 */
import { getRequestListener } from '@hono/node-server'
import type { HttpBindings } from '@hono/node-server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { z } from 'zod'
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import { ulid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { Authenticate } from '../guard/authenticate.ts'
import type { Guard } from '../guard/guard.ts'
import { checkpointText } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatVerifierKey } from '../ledger/note-key.ts'
import { approveRequest, callRequest, denyRequest, exportRequest, stopRequest, tokenRequest } from './api.ts'
import type { CallView, StatusView, ToolView } from './api.ts'

export interface ApiOptions {
  readonly bus: CapabilityBus
  readonly guard: Guard
  readonly ledger: Ledger
  readonly authenticate: Authenticate
  readonly status: () => StatusView
  /** Whether a profile holds a tool; `undefined`: there is no such profile. */
  readonly profileHolds: (profile: string, offer: Offer) => boolean | undefined
  readonly maxBodyBytes: number
}

type Env = { Bindings: HttpBindings; Variables: { caller: Caller } }

const STATUS: Readonly<Record<FaultKind, ContentfulStatusCode>> = {
  'invalid-arguments': 400,
  'not-found': 404,
  'not-permitted': 403,
  'approval-required': 403,
  conflict: 409,
  busy: 429,
  offline: 503,
  'timed-out': 504,
  cancelled: 499 as ContentfulStatusCode,
  failed: 502,
  'unknown-outcome': 502,
  unsupported: 501,
  internal: 500,
}

export function apiHandler(options: ApiOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener(apiApp(options).fetch, { overrideGlobalObjects: false })
}

function apiApp(options: ApiOptions): Hono<Env> {
  const app = new Hono<Env>().basePath('/api')
  app.onError((error) => {
    if (error instanceof HTTPException) return refusal(error.status, error.message)
    throw error
  })
  app.notFound(() => refusal(404, 'There is no such thing under /api.'))
  app.use(
    bodyLimit({
      maxSize: options.maxBodyBytes,
      onError: () => refusal(413, `A body may have ${options.maxBodyBytes} bytes.`),
    }),
  )
  app.use(async (context, next) => {
    const known = options.authenticate(context.env.incoming.headers, context.env.incoming.socket.remoteAddress)
    if (!known.ok) return refusal(known.fault.status, known.fault.message)
    context.set('caller', known.value)
    context.header('cache-control', 'no-store')
    return next()
  })
  addViews(app, options)
  addCall(app, options)
  addApprovals(app, options)
  addAdministration(app, options)
  return app
}

function addViews(app: Hono<Env>, { bus, guard, ledger, status, profileHolds }: ApiOptions): void {
  app.get('/status', (context) => context.json(status()))
  app.get('/topology', (context) => context.json(bus.topologySnapshot()))
  app.get('/stats', (context) => context.json(bus.stats()))
  app.get('/traces', (context) => context.json(bus.recentTraces(positive(context.req.query('limit'), 50))))
  app.get('/tools', (context) => {
    const profile = context.req.query('profile') ?? 'all'
    const shown = bus
      .offers()
      .filter(
        (offer) =>
          offer.face.kind === 'tool' && guard.visible(context.var.caller, offer) && profileHolds(profile, offer),
      )
    return context.json(shown.map(toolView))
  })
  app.get('/ledger', (context) => {
    const latest = ledger.latestCheckpoint()
    return context.json({
      size: ledger.size(),
      state: ledger.state(),
      checkpoint: latest === undefined ? null : checkpointText(latest),
    })
  })
  app.get('/ledger/proof/:seq', async (context) => {
    const proof = await ledger.proofText(positive(context.req.param('seq'), -1))
    return proof.ok ? context.text(proof.value) : refusal(404, `No proof: ${proof.fault.kind}.`)
  })
  app.post('/ledger/export', async (context) => {
    if (!isAdmin(context.var.caller)) return refusal(403, 'Only an admin has files written.')
    const { folder } = parsed(exportRequest, await bodyOf(context.req.raw))
    const exported = await ledger.exportTo(folder)
    if (!exported.ok) return refusal(409, `Not exported: ${exported.fault.kind}.`)
    return context.json({ ...exported.value, vkey: formatVerifierKey(ledger.verifierKey) })
  })
  app.post('/ledger/checkpoint', async (context) => {
    const signed = await ledger.checkpoint()
    return signed.ok ? context.text(checkpointText(signed.value)) : refusal(409, `Not signed: ${signed.fault.kind}.`)
  })
}

function addCall(app: Hono<Env>, { bus }: ApiOptions): void {
  app.post('/call', async (context) => {
    const { tool, arguments: body, session, node, timeoutMs } = parsed(callRequest, await bodyOf(context.req.raw))
    const traceId = ulid()
    const outcome = await bus.call(tool, undefined, body, {
      caller: context.var.caller,
      channel: 'api',
      traceId,
      signal: context.req.raw.signal,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(node === undefined ? {} : { node }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    const offer = bus.offer(tool)
    if (offer === undefined) return outcome.ok ? Response.json(outcome.value.data) : faultAnswer(outcome.fault)
    if (outcome.ok) {
      const view: CallView = {
        outcome: 'ok',
        traceId,
        structured: offer.family.success(outcome.value.data, offer),
        ...(outcome.value.content === undefined ? {} : { content: outcome.value.content }),
      }
      return Response.json(view)
    }
    const { structured } = offer.family.failure(outcome.fault, offer)
    const denied = outcome.fault.kind === 'not-permitted' || outcome.fault.kind === 'approval-required'
    const view: CallView = { outcome: denied ? 'denied' : 'error', traceId, structured }
    return Response.json(view)
  })
}

function addApprovals(app: Hono<Env>, { guard }: ApiOptions): void {
  app.get('/approvals', (context) => {
    const state = context.req.query('state')
    const all = guard.approvals.list({ limit: positive(context.req.query('limit'), 50) })
    return context.json(state === undefined ? all : all.filter((approval) => approval.state === state))
  })
  app.get('/approvals/:id', (context) => {
    const approval = guard.approvals.get(context.req.param('id'))
    return approval === undefined ? refusal(404, 'There is no such request for approval.') : context.json(approval)
  })
  app.post('/approvals/:id/approve', async (context) => {
    const { grant } = parsed(approveRequest, await bodyOf(context.req.raw))
    return answer(
      await guard.approvals.approve(context.req.param('id'), context.var.caller, grant === undefined ? {} : { grant }),
    )
  })
  app.post('/approvals/:id/deny', async (context) => {
    const { reason } = parsed(denyRequest, await bodyOf(context.req.raw))
    return answer(await guard.approvals.deny(context.req.param('id'), context.var.caller, reason))
  })
}

function addAdministration(app: Hono<Env>, { guard }: ApiOptions): void {
  app.get('/tokens', (context) =>
    isAdmin(context.var.caller) ? context.json(guard.tokens.list()) : refusal(403, 'Only an admin sees the tokens.'),
  )
  app.post('/tokens', async (context) => {
    const { name, role, expiresInDays, effects, profiles, devices } = parsed(
      tokenRequest,
      await bodyOf(context.req.raw),
    )
    const narrowed = effects !== undefined || profiles !== undefined || devices !== undefined
    const restrictions = { ...(effects && { effects }), ...(profiles && { profiles }), ...(devices && { devices }) }
    return answer(
      await guard.tokens.create(context.var.caller, {
        name,
        role,
        ...(narrowed ? { restrictions } : {}),
        ...(expiresInDays === undefined ? {} : { ttlMs: expiresInDays * 86_400_000 }),
      }),
    )
  })
  app.delete('/tokens/:name', async (context) =>
    answer(await guard.tokens.revoke(context.var.caller, context.req.param('name'))),
  )
  app.post('/stop', async (context) =>
    answer(await guard.stop.engage(context.var.caller, parsed(stopRequest, await bodyOf(context.req.raw)).reason)),
  )
  app.delete('/stop', async (context) => answer(await guard.stop.release(context.var.caller)))
}

function toolView(offer: Offer): ToolView {
  return {
    name: offer.name,
    title: offer.title,
    description: offer.description,
    effect: offer.effect,
    family: offer.family.name,
    inputSchema: offer.requestSchema as JsonObject,
  }
}

function answer(result: Result<unknown, Fault>): Response {
  return result.ok ? Response.json(result.value ?? {}) : faultAnswer(result.fault)
}

function faultAnswer(fault: Fault): Response {
  return Response.json(
    { ok: false, error: { code: fault.code ?? fault.kind, ...fault } },
    { status: STATUS[fault.kind] },
  )
}

function refusal(status: number, message: string): Response {
  return Response.json({ ok: false, error: { code: 'refused', message } }, { status })
}

async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text()
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    throw new HTTPException(400, { message: 'The body is not JSON.' })
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const sentences = result.error.issues.map(
    (issue) => `${issue.path.map(String).join('.') || 'body'}: ${issue.message}`,
  )
  throw new HTTPException(400, { message: sentences.join('; ') })
}

function isAdmin(caller: Caller): boolean {
  return caller.kind === 'principal' && caller.role === 'admin'
}

function positive(text: string | undefined, fallback: number): number {
  const value = Number(text)
  return text !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : fallback
}
