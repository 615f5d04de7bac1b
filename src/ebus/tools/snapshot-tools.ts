/**
 * Snapshot tools: capture everything at one moment, read it later, drop it; and many planes in one answer.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Call } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { CONTRACT_PLANE_NAMES, HEATING_PLANE_NAMES, SEMANTIC_PLANE_NAMES } from '../semantic/planes.ts'
import { busArgument, viewArguments } from './arguments.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createBusUnreachableFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import {
  findHeatingBus,
  toPlaneFreshnessJson,
  resolveEbusView,
  createLiveHeatingBusView,
  createLiveOutcome,
} from './ebus-tool-context.ts'
import { PLANE_SCHEMAS } from './plane-schemas.ts'
import type { EbusView } from './ebus-view.ts'
import { captureEbusView } from './ebus-view.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

/** `records`: it changes nothing in the house, but it takes memory that is counted for its caller. */
const captureTool = defineTool({
  name: 'ebus.v1.snapshot.capture',
  title: 'Capture everything as it is now',
  description:
    'Keeps planes, devices and traffic of one moment under an id. Pass it as consistency {mode: SNAPSHOT, snapshot_id} to read parts that belong together. It is yours alone and expires by itself.',
  input: z.strictObject({ bus: busArgument }),
  output: createEbusOutputSchema(z.object({ created_at: z.string(), snapshot_id: z.string(), expires_at: z.string() })),
  effect: 'records',
  family: ebusFamilyEnvelope,
})

const dropTool = defineTool({
  name: 'ebus.v1.snapshot.drop',
  title: 'Let a snapshot go',
  description: 'Forgets a snapshot of yours before it expires.',
  input: z.strictObject({ snapshot_id: z.string().trim().min(1).max(64) }),
  output: createEbusOutputSchema(z.object({ dropped: z.literal(true) })),
  effect: 'records',
  family: ebusFamilyEnvelope,
})

/** A caller with less time than the first reading takes sets `allow_partial`. */
const DEFAULT_TIMEOUT_MS = 10_000
/** The interval of checks for new values: short compared with a telegram, long compared with the check. */
const WAKE_MS = 50
/** An absent adapter is not waited for as long. */
const CONNECT_PATIENCE_MS = 2_000

/** ` Zones ` is understood, too. */
const planeName = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.enum(SEMANTIC_PLANE_NAMES))
  .meta({ enum: [...SEMANTIC_PLANE_NAMES] })

const getTool = defineTool({
  name: 'ebus.v1.semantic.snapshot.get',
  title: 'Read several planes at once',
  description:
    'All semantic planes, or those named, in one answer that belongs together. Waits for planes that are still being read for the first time; with allow_partial it delivers the others and says which are missing.',
  input: z.strictObject({
    planes: z.array(planeName).max(64).exactOptional().describe('Which; all of them if left out or empty.'),
    timeout_ms: z
      .int()
      .min(1)
      .max(25_000)
      .default(DEFAULT_TIMEOUT_MS)
      .describe('How long to wait for the first reading.'),
    allow_partial: z.boolean().default(false),
    field_ages: z
      .boolean()
      .default(false)
      .describe('True: how old every single field is (meta.freshness.fields); otherwise only those that are stale.'),
    ...viewArguments,
  }),
  output: createEbusOutputSchema(
    z.object({
      completed_planes: z.array(z.enum(SEMANTIC_PLANE_NAMES)),
      planes: z.object(
        Object.fromEntries(SEMANTIC_PLANE_NAMES.map((name) => [name, PLANE_SCHEMAS[name].exactOptional()])),
      ),
      error_planes: z
        .array(
          z.object({
            plane: z.enum(SEMANTIC_PLANE_NAMES),
            code: z.string(),
            message: z.string(),
            retriable: z.boolean(),
            source_layer: z.string(),
          }),
        )
        .exactOptional(),
    }),
  ),
  effect: 'reads',
  family: ebusFamilyEnvelope,
})

/** `pause` waits for the first reading without keeping the process busy. */
export function createSnapshotTools(
  context: EbusToolContext,
  pause: (ms: number) => Promise<void>,
): readonly Capability[] {
  return [
    captureTool.handledBy(async ({ bus }, call) => {
      const heating = findHeatingBus(context, bus)
      if (!heating.ok) return heating
      const view = captureEbusView(createLiveHeatingBusView(context, heating.value))
      const taken = context.snapshots.take(view, toCallerKey(call.caller), view.atMs)
      if (!taken.ok) return taken
      const { id, expiresAtMs } = taken.value
      const data = { created_at: formatIsoTime(view.atMs), snapshot_id: id, expires_at: formatIsoTime(expiresAtMs) }
      return createLiveOutcome(context, heating.value, data, { atMs: view.atMs })
    }),

    dropTool.handledBy(async ({ snapshot_id: id }, call) => {
      const nowMs = context.clock.now()
      if (!context.snapshots.drop(id, toCallerKey(call.caller), nowMs))
        return fail({ kind: 'not-found', code: 'NOT_FOUND', message: `There is no snapshot ${id}, or it has expired.` })
      const answer = { data: { dropped: true }, consistency: { mode: 'LIVE' }, data_timestamp: formatIsoTime(nowMs) }
      return ok({ data: answer })
    }),

    getTool.handledBy(async ({ planes = [], timeout_ms: timeoutMs, field_ages: eachField, ...rest }, call) => {
      const { allow_partial: allowPartial, ...request } = rest
      const heating = findHeatingBus(context, request.bus)
      if (!heating.ok) return heating
      const wanted = planes.length === 0 ? CONTRACT_PLANE_NAMES : [...new Set(planes)]
      if (request.consistency?.mode !== 'SNAPSHOT')
        await firstReading(context, heating.value, { wanted, timeoutMs, call, pause })
      const looked = resolveEbusView(context, request, call)
      if (!looked.ok) return looked
      const { view, answer } = looked.value
      const live = request.consistency?.mode !== 'SNAPSHOT'
      const away = createBusUnreachableFault(view.reach)
      // Once everything was read, a null plane means that the house has no such thing.
      const open = away !== undefined || (live && !heating.value.isThrough())
      const missing = open ? wanted.filter((name) => isMissing(view, name)) : []
      const fault = away ?? notReadYet(missing)
      if (missing.length > 0 && !allowPartial) return fail(fault)
      return ok({
        data: answer(together(view, wanted, { missing, fault }), besides(context, view, { wanted, eachField })),
      })
    }),
  ]
}

/** Waits until every requested plane has a value, or waiting is useless. */
async function firstReading(
  context: EbusToolContext,
  heating: HeatingBusClient,
  wait: {
    readonly wanted: readonly SemanticPlaneName[]
    readonly timeoutMs: number
    readonly call: Call
    readonly pause: (ms: number) => Promise<void>
  },
): Promise<void> {
  const { wanted, timeoutMs, call, pause } = wait
  const startMs = context.clock.monotonic()
  // Requested planes are read first; the loop below decides how long to wait.
  const over = new AbortController()
  void heating.makeReady(
    HEATING_PLANE_NAMES.filter((plane) => wanted.includes(plane)),
    over.signal,
  )
  // Ends with the wait, the caller, the first reading, or when no requested plane is missing.
  for (;;) {
    const waitedMs = context.clock.monotonic() - startMs
    const patienceMs = heating.status().connected ? timeoutMs : Math.min(timeoutMs, CONNECT_PATIENCE_MS)
    if (waitedMs >= patienceMs || call.signal.aborted || heating.isThrough()) break
    const view = createLiveHeatingBusView(context, heating)
    if (!wanted.some((name) => isMissing(view, name))) break
    await pause(WAKE_MS)
  }
  over.abort()
}

function isMissing(view: EbusView, name: SemanticPlaneName): boolean {
  return view.plane(name).data === null
}

/** A missing plane is absent in `planes`, because null means that the house has no such thing. */
function together(
  view: EbusView,
  wanted: readonly SemanticPlaneName[],
  { missing, fault }: { readonly missing: readonly SemanticPlaneName[]; readonly fault: Fault },
): JsonObject {
  const complete = wanted.filter((name) => !missing.includes(name))
  const planes: Record<string, Json> = Object.fromEntries(complete.map((name) => [name, view.plane(name).data]))
  return {
    completed_planes: complete,
    planes,
    ...(missing.length === 0 ? {} : { error_planes: missing.map((plane) => errorPlane(plane, fault)) }),
  }
}

function notReadYet(planes: readonly SemanticPlaneName[]): Fault {
  const message = `Not read yet: ${planes.join(', ')}. Ask again, or with allow_partial.`
  return { kind: 'timed-out', code: 'TIMEOUT', message }
}

function errorPlane(plane: SemanticPlaneName, fault: Fault): JsonObject {
  const { code = 'TIMEOUT', details } = fault
  const message = code === 'TIMEOUT' ? 'Not read yet.' : fault.message
  return { plane, code, message, retriable: true, source_layer: details?.['source_layer'] ?? 'gateway' }
}

/** The answer is as old as its oldest field. The fields are listed only on request, because there are hundreds. */
function besides(
  context: EbusToolContext,
  view: EbusView,
  { wanted, eachField }: { readonly wanted: readonly SemanticPlaneName[]; readonly eachField: boolean },
): JsonObject {
  const fields = new Map(
    wanted.flatMap((name) => [...view.plane(name).fields].map(([path, field]) => [`${name}.${path}`, field] as const)),
  )
  return toPlaneFreshnessJson({ data: null, fields }, context.clock.now(), { eachField })
}
