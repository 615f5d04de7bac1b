/** API context: what all parts of the API share: the caller, the dependencies, and how answers are made. */
import { toCallRecordReferenceJson } from '../bus/call-ticket.ts'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { z } from 'zod'
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { parseStrictJsonText } from '../core/json.ts'
import type { Guard } from '../guard/guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { StatusView } from './api-requests.ts'
import type { EventFeed } from './event-feed.ts'
import type { MeasurementHistory } from './measurement-history.ts'
import type { ApiAuthenticator } from './api-authenticator.ts'
import type { SettingsPageView } from './views.ts'

export interface ApiOptions {
  readonly bus: CapabilityBus
  readonly guard: Guard
  readonly ledger: Ledger
  readonly authenticator: ApiAuthenticator
  readonly feed: EventFeed
  readonly history: MeasurementHistory
  readonly status: () => StatusView
  readonly settings: () => Promise<SettingsPageView>
  /** What the doctor says about each service. */
  readonly examine: () => Promise<readonly DoctorFinding[]>
  /**
   * Profiles by name, each with a function that tells whether it includes a tool. Called each time, because families
   * come and go with their devices.
   */
  readonly profiles: () => ReadonlyMap<string, (offer: Offer) => boolean>
  readonly maxBodyBytes: number
  /** A sentence for a caller that sends too many requests, else `undefined`. */
  readonly tooMany: (caller: string) => string | undefined
  readonly logger: Logger
}

export type HonoApiEnvironment = { Bindings: HttpBindings; Variables: { caller: Caller; session: string | undefined } }
export type HonoApi = Hono<HonoApiEnvironment>

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

export function createApiResponse(result: Result<unknown, Fault>): Response {
  return result.ok ? Response.json(result.value ?? {}) : createFaultResponse(result.fault)
}

export function createFaultResponse({ record, ...fault }: Fault): Response {
  const recorded = record === undefined ? {} : { record: toCallRecordReferenceJson(record) }
  return Response.json(
    { ok: false, error: { code: fault.code ?? fault.kind, ...fault }, ...recorded },
    { status: STATUS[fault.kind] },
  )
}

export function createRefusalResponse(status: number, message: string): Response {
  return Response.json({ ok: false, error: { code: 'refused', message } }, { status })
}

/** The body as its schema describes it; what does not fit is refused with a sentence for each mistake. */
export async function readRequestBodyBySchema<Schema extends z.ZodType>(
  { req }: Context<HonoApiEnvironment>,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await req.text()
  const read = text === '' ? ok({}) : parseStrictJsonText(text)
  if (!read.ok) throw new HTTPException(400, { message: read.fault.message })
  const result = schema.safeParse(read.value)
  if (result.success) return result.data
  const sentences = result.error.issues.map(
    (issue) => `${issue.path.map(String).join('.') || 'body'}: ${issue.message}`,
  )
  throw new HTTPException(400, { message: sentences.join('; ') })
}

export function isAdminCaller(caller: Caller): boolean {
  return caller.kind === 'principal' && caller.role === 'admin'
}

export function parseCountOrDefault(text: string | undefined, fallback: number): number {
  const value = Number(text)
  return text !== undefined && text !== '' && Number.isSafeInteger(value) && value >= 0 ? value : fallback
}
