/**
 * Device status tool: the state of devices, from the mirror or, for data that the mirror lacks, from HomeSeer.
 *
 * Reads through the link.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import {
  filterExposedDevices,
  buildHomeseerDeviceCatalog,
  type HomeseerDeviceCatalog,
} from '../catalog/device-catalog-and-event-consequences.ts'
import { createStatusRequest } from '../wire/json-requests.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import {
  maxItemsArgument,
  includeRawArgument,
  deviceItemListSchema,
  nameFilterArgument,
  refsArgument,
} from './device-arguments.ts'
import { resolveDeviceLimit, matchesDeviceFilter } from './device-filter.ts'
import {
  toDeviceView,
  readHomeseerDeviceCatalog,
  readCatalogWithFreshDevices,
  createDeviceViewWithLastCommand,
} from './catalog-reader.ts'
import { toHomeseerAnswerOrFault, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { createHomeseerReadFault } from './faults.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

/** The names are HomeSeer's own request parameters, which the contract passes through. */
interface StatusInput {
  readonly refs?: readonly number[]
  readonly location1?: string
  readonly location2?: string
  readonly compress: boolean
  readonly everything?: boolean
  readonly voiceonly: boolean
  readonly excludeevents: boolean
  readonly includeRaw: boolean
  readonly maxDevices?: number
  readonly fresh: boolean
}

export function createDeviceStatusTool(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.devices.status.get',
    title: 'Get status',
    description:
      'The state of devices. Answers from what is pushed and read anyway, which is seconds old at most; `fresh` asks HomeSeer now.',
    input: createTolerantInputSchema({
      refs: refsArgument.exactOptional(),
      location1: nameFilterArgument,
      location2: nameFilterArgument,
      compress: z.boolean().default(true),
      everything: z.boolean().exactOptional().describe('With control pairs.'),
      voiceonly: z.boolean().default(false),
      excludeevents: z.boolean().default(true),
      includeRaw: includeRawArgument,
      maxDevices: maxItemsArgument,
      fresh: z.boolean().default(false),
    }),
    output: z.looseObject({
      request: z.looseObject({}),
      totalDevices: z.int(),
      returnedDevices: z.int(),
      truncated: z.boolean(),
      maxDevices: z.int(),
      missing: z.array(z.int()).exactOptional().describe('Refs that no device has.'),
      snapshot: z.looseObject({ devices: deviceItemListSchema }),
    }),
  }).handledBy(async (input) => toHomeseerAnswerOrFault(await readDeviceStatusData(homeseer, input)))
}

/** Also used by the status resources. */
export async function readDeviceStatusData(
  homeseer: HomeseerToolContext,
  input: StatusInput,
): Promise<Result<Json, Fault>> {
  const everything = input.everything ?? homeseer.config.statusIncludeEverything
  const maxDevices = resolveDeviceLimit(homeseer, input.maxDevices)
  // The mirror has the plain fields only; all others are requested from HomeSeer.
  const direct = everything || input.includeRaw || input.voiceonly || !input.compress || !input.excludeevents
  const found = direct ? await requestStatus(homeseer, { ...input, everything }) : await knownStatus(homeseer, input)
  if (!found.ok) return found
  const { devices, ...head } = found.value
  const shown = devices.slice(0, maxDevices)
  const { maxDevices: _, ...request } = input
  return ok({
    request: { ...request, refs: input.refs === undefined ? null : [...input.refs], everything },
    totalDevices: devices.length,
    returnedDevices: shown.length,
    truncated: shown.length < devices.length,
    maxDevices,
    ...(input.refs === undefined ? {} : { missing: await missingRefs(homeseer, input, devices) }),
    // name, version and tempFormatF are the head of HomeSeer's own answer.
    snapshot: { ...head, devices: shown },
  })
}

/** Refs of devices that do not exist; one that only a filter excludes is not among them. */
async function missingRefs(
  { catalog }: HomeseerToolContext,
  { refs: requested = [], location1 = '', location2 = '', voiceonly }: StatusInput,
  found: readonly JsonObject[],
): Promise<readonly number[]> {
  const shown = new Set(found.map(({ ref }) => ref))
  const absent = [...new Set(requested)].filter((ref) => !shown.has(ref))
  if (location1 === '' && location2 === '' && !voiceonly) return absent
  const known = await catalog.devices()
  return absent.filter((ref) => !(known.ok && known.value.byRef.has(ref)))
}

interface Snapshot {
  readonly name: string | null
  readonly version: string | null
  readonly tempFormatF: boolean | null
  readonly devices: readonly JsonObject[]
}

async function knownStatus(homeseer: HomeseerToolContext, input: StatusInput): Promise<Result<Snapshot, Fault>> {
  const { refs: requested } = input
  const deviceCatalog =
    requested === undefined
      ? await readHomeseerDeviceCatalog(homeseer, input.fresh)
      : await readCatalogWithFreshDevices(homeseer, requested, input.fresh)
  if (!deviceCatalog.ok) return deviceCatalog
  const chosen = chosenDevices(deviceCatalog.value, input)
  const devices = chosen.map((device) =>
    createDeviceViewWithLastCommand(homeseer, device, { includeControls: false, includeRaw: false }),
  )
  // The head of HomeSeer's last answer; empty if it was not asked yet.
  const { name = null, version = null, fahrenheit = null } = homeseer.link.mirror.head ?? {}
  return ok({ name, version, tempFormatF: fahrenheit, devices })
}

/** Requests the status from HomeSeer, with HomeSeer's own fields and filters. */
async function requestStatus(
  homeseer: HomeseerToolContext,
  input: StatusInput & { readonly everything: boolean },
): Promise<Result<Snapshot, Fault>> {
  const { refs: requested, location1, location2, compress, everything, voiceonly: voiceOnly } = input
  const reply = await homeseer.link.json.call(
    createStatusRequest({
      refs: requested,
      location1,
      location2,
      compress,
      everything,
      voiceOnly,
      excludeEvents: input.excludeevents,
    }),
  )
  if (!reply.ok) return fail(createHomeseerReadFault(reply.fault, 'reading the status'))
  const { name, version, fahrenheit, devices: records } = reply.value
  const nowMs = homeseer.clock.monotonic()
  const known = await homeseer.catalog.devices()
  const withControls = known.ok ? known.value.devices.filter(({ controlsKnown }) => controlsKnown) : []
  const pairs = new Map(withControls.map((device) => [device.ref, device.controls]))
  // `everything` makes HomeSeer ignore the places, so they are applied here.
  const chosen = chosenDevices(
    filterExposedDevices(buildHomeseerDeviceCatalog(records, pairs), homeseer.exposes),
    input,
  )
  const devices = chosen.map((device) => {
    const { record } = device
    const { value, status: text, lastChangeMs } = record
    const live = { value, status: text, lastChangeMs, source: 'read' as const, observedMs: nowMs }
    return toDeviceView(
      device,
      { record, live, ageMs: 0 },
      { includeControls: everything, includeRaw: input.includeRaw },
    )
  })
  return ok({ name, version, tempFormatF: fahrenheit, devices })
}

function chosenDevices(deviceCatalog: HomeseerDeviceCatalog, input: StatusInput): readonly HomeseerDevice[] {
  const { refs: requested, location1 = '', location2 = '' } = input
  const devices =
    requested === undefined
      ? deviceCatalog.devices
      : [...new Set(requested)].map((ref) => deviceCatalog.byRef.get(ref)).filter((device) => device !== undefined)
  return devices.filter((device) => matchesDeviceFilter(device, { location1, location2 }))
}
