/**
 * eBUS tool context: the buses as tools reach them. Finds the bus a call is about, and the view it asks for.
 *
 * Pure, given its buses.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { FieldFreshness, SemanticPlane } from '../semantic/plane-reader.ts'
import { isReadingStale } from '../semantic/plane-reader.ts'
import type { ReadConsistency } from './arguments.ts'
import type { EbusAnswer } from './ebus-envelope.ts'
import { createEbusNotFoundFault } from './faults.ts'
import type { EbusSnapshots } from './ebus-snapshots.ts'
import type { EbusView } from './ebus-view.ts'
import { createLiveEbusView } from './ebus-view.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

/** The dependencies of every tool of the family. */
export interface EbusToolContext {
  readonly buses: readonly HeatingBusClient[]
  readonly snapshots: EbusSnapshots
  readonly clock: Clock
  readonly version: string
  /** The source of the definitions; `undefined` if the owner has none. */
  readonly definitions: DefinitionLoadState | undefined
}

export interface DefinitionLoadState {
  readonly source: string
  state: 'loading' | 'loaded' | 'failed'
  /** Why there are none. */
  problem: string | undefined
  /** The hash of downloaded files. */
  sha256: string | undefined
}

/** The first configured bus if none is named, because most houses have one. */
export function findHeatingBus({ buses }: EbusToolContext, id: string | undefined): Result<HeatingBusClient, Fault> {
  const bus = id === undefined ? buses[0] : buses.find((each) => each.id === id)
  if (bus !== undefined) return ok(bus)
  return fail(
    createEbusNotFoundFault(`There is no bus ${id ?? ''}; there is ${buses.map((each) => each.id).join(', ')}.`),
  )
}

/** The lock for calls that change something on one bus. The arguments are not validated yet. */
export function resolveBusLockKey({ buses }: EbusToolContext, body: JsonObject): string {
  const id = body['bus']
  return `ebus:${typeof id === 'string' ? id : (buses[0]?.id ?? '')}`
}

/** Computes nothing by itself: a view computes what is requested of it. */
export function createLiveHeatingBusView({ clock, version }: EbusToolContext, heating: HeatingBusClient): EbusView {
  return createLiveEbusView({
    busId: heating.id,
    installation: heating.installation,
    bus: heating.status(),
    info: heating.info(),
    version,
    plan: () => heating.plan(),
    toolReads: heating.toolReads,
    atMs: clock.now(),
    nowMs: clock.monotonic(),
  })
}

export interface EbusViewRequest {
  readonly consistency?: ReadConsistency
  readonly bus?: string
}

/** The view that a call requests, and what the answer's meta says about it. */
export interface ResolvedEbusView {
  readonly view: EbusView
  readonly answer: (data: Json, beside?: JsonObject) => EbusAnswer
}

/** Another caller's snapshot, or one of another bus, is answered like one that does not exist. */
export function resolveEbusView(
  context: EbusToolContext,
  request: EbusViewRequest,
  call: Call,
): Result<ResolvedEbusView, Fault> {
  const heating = findHeatingBus(context, request.bus)
  if (!heating.ok) return heating
  // The bus is checked even if a snapshot decides, because a misspelt name is a mistake in any case.
  if (request.consistency?.mode !== 'SNAPSHOT') {
    const view = createLiveHeatingBusView(context, heating.value)
    return ok({ view, answer: answerer(context, view, { mode: 'LIVE' }) })
  }
  const id = request.consistency.snapshot_id ?? ''
  const snapshot = context.snapshots.find(id, toCallerKey(call.caller), context.clock.now())
  if (snapshot === undefined || (request.bus !== undefined && snapshot.view.busId !== request.bus))
    return fail({ kind: 'not-found', code: 'NOT_FOUND', message: `There is no snapshot ${id}, or it has expired.` })
  const { view } = snapshot
  return ok({ view, answer: answerer(context, view, { mode: 'SNAPSHOT', snapshot_id: id }) })
}

/** The handler of a tool that shows one part of a view. */
export function createViewHandler<Request extends EbusViewRequest>(
  context: EbusToolContext,
  show: (view: EbusView, request: Request) => Json,
): (request: Request, call: Call) => Promise<Outcome> {
  return async (request, call) => {
    const looked = resolveEbusView(context, request, call)
    return looked.ok ? ok({ data: looked.value.answer(show(looked.value.view, request)) }) : looked
  }
}

/** The bus is only named if there are several. */
export function createBusIdAnswerField(
  { buses }: Pick<EbusToolContext, 'buses'>,
  { id }: Pick<HeatingBusClient, 'id'>,
): JsonObject {
  return buses.length > 1 ? { bus: id } : {}
}

/** The meta of every answer: the time of its data, and the bus. */
function createAnswerMeta(
  context: EbusToolContext,
  { id, atMs, consistency }: { readonly id: string; readonly atMs: number; readonly consistency: JsonObject },
): Pick<EbusAnswer, 'consistency' | 'data_timestamp'> {
  return { consistency, data_timestamp: formatIsoTime(atMs), ...createBusIdAnswerField(context, { id }) }
}

/** Of an answer that was made now. */
export function createLiveAnswerFields(
  context: EbusToolContext,
  { id }: Pick<HeatingBusClient, 'id'>,
  atMs: number,
): Pick<EbusAnswer, 'consistency' | 'data_timestamp'> {
  return createAnswerMeta(context, { id, atMs, consistency: { mode: 'LIVE' } })
}

/** The outcome of a call, with the meta beside its data. */
export function createLiveOutcome(
  context: EbusToolContext,
  heating: HeatingBusClient,
  data: Json,
  { atMs = context.clock.now(), ...beside }: { readonly atMs?: number; readonly [field: string]: Json } = {},
): Outcome {
  return ok({ data: { ...createLiveAnswerFields(context, heating, atMs), ...beside, data } })
}

/** The age of an answer, and whether it was read from the device for this call. */
export function createAnswerAgeJson(context: EbusToolContext, fromCache: boolean, atMs: number): JsonObject {
  return {
    from_cache: fromCache,
    age_seconds: toAgeSeconds(atMs, context.clock.now()),
    observed_at: formatIsoTime(atMs),
  }
}

function toAgeSeconds(atMs: number, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - atMs) / 1_000))
}

function answerer(
  context: EbusToolContext,
  { atMs, busId: id }: EbusView,
  consistency: JsonObject,
): ResolvedEbusView['answer'] {
  return (data, beside = {}) => ({ data, ...createAnswerMeta(context, { id, atMs, consistency }), ...beside })
}

/** The age of a plane, as a whole and field by field; absent for an empty plane. */
export function toPlaneFreshnessJson(
  { fields }: SemanticPlane,
  nowMs: number,
  { eachField, messageName }: { readonly eachField: boolean; readonly messageName?: EbusView['messageName'] },
): JsonObject {
  const all = [...fields]
  const [first, ...rest] = all.map(([, field]) => field)
  if (first === undefined) return {}
  const oldest = rest.reduce((left, right) => (right.atMs < left.atMs ? right : left), first)
  const sources = new Set(all.map(([, { source }]) => source))
  const stale = all.filter(([, field]) => isReadingStale(field, nowMs))
  // An answer with many planes lists only the old fields.
  const shown = eachField ? all : stale
  return {
    freshness: {
      ...fieldJson(oldest, nowMs),
      source: sources.size === 1 ? oldest.source : 'mixed',
      stale: stale.length > 0,
      ...(shown.length === 0
        ? {}
        : {
            fields: Object.fromEntries(shown.map(([path, field]) => [path, namedFieldJson(field, nowMs, messageName)])),
          }),
    },
  }
}

/** With the message of each value, if details were requested. */
function namedFieldJson(
  field: FieldFreshness,
  nowMs: number,
  messageName: EbusView['messageName'] | undefined,
): JsonObject {
  const message = field.message ?? (field.key === undefined ? undefined : messageName?.(field.key))
  return { ...fieldJson(field, nowMs), ...(message === undefined ? {} : { message }) }
}

function fieldJson(field: FieldFreshness, nowMs: number): JsonObject {
  return {
    source: field.source,
    observed_at: formatIsoTime(field.atMs),
    age_seconds: toAgeSeconds(field.atMs, nowMs),
    stale: isReadingStale(field, nowMs),
  }
}
