/**
 * Device read tools: list, get, controls and status. They change nothing and run no code on HomeSeer.
 *
 * Reads through the link.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import { listDevicesAndTheirChildren } from '../catalog/device-catalog-and-event-consequences.ts'
import { createGenericHomeseerRequest } from '../wire/http-exchange.ts'
import { isWorthSmallerRequest, type HomeseerLinkFault } from '../wire/link-fault.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createDeviceStatusTool } from './device-status-tool.ts'
import { resolveDeviceLimit, matchesDeviceFilter } from './device-filter.ts'
import {
  maxItemsArgument,
  includeControlsArgument,
  includeRawArgument,
  deviceItemListSchema,
  nameFilterArgument,
  refsArgument,
} from './device-arguments.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { createHomeseerReadFault, extendHs4Fault } from './faults.ts'
import {
  toUnknownControlsCountJson,
  ensureFreshHomeseerDevices,
  readCatalogWithControlsOfDevices,
  readHomeseerDeviceCatalog,
  readCatalogWithFreshDevices,
  createDeviceViewWithLastCommand,
} from './catalog-reader.ts'
import { pageCursorArgument, cutPageByItemNumber } from './paging.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

export function createDeviceReadTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [list(homeseer), get(homeseer), controls(homeseer), createDeviceStatusTool(homeseer)]
}

function list(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.devices.list',
    title: 'List devices',
    description:
      'Lists devices with their present state, by ref. Filters: parts of the room, floor or interface name, and a capability. Pages over all of them: hand `nextCursor` back as `cursor`.',
    input: createTolerantInputSchema({
      location1: nameFilterArgument.describe('Part of the room’s name.'),
      location2: nameFilterArgument.describe('Part of the floor’s or area’s name.'),
      interfaceName: nameFilterArgument.describe('Part of the interface’s name.'),
      capability: z
        .string()
        .max(100)
        .exactOptional()
        .describe('Something that it can (on_off, dimmer, lock, contact …) or is (light, blind, door, valve …).'),
      includeControls: includeControlsArgument,
      includeRaw: includeRawArgument,
      maxDevices: maxItemsArgument,
      limit: z.int().min(1).max(1_000).default(70),
      offset: z.int().min(0).default(0),
      cursor: pageCursorArgument,
    }),
    output: z.looseObject({
      total: z.int(),
      returned: z.int(),
      maxDevices: z.int(),
      truncated: z.boolean(),
      nextCursor: z.string().nullable(),
      controlsUnknown: z.int().exactOptional().describe('Devices of which it is not known yet what they can do.'),
      items: deviceItemListSchema,
    }),
  }).handledBy(async (input) => {
    const catalog = await readHomeseerDeviceCatalog(homeseer)
    if (!catalog.ok) return catalog
    const { limit, offset, cursor, maxDevices: wanted, includeControls: pairs, includeRaw: raw, ...filters } = input
    const maxDevices = resolveDeviceLimit(homeseer, wanted)
    // The cap applies to a page, not to the list: devices beyond it can be reached by paging.
    const found = catalog.value.devices.filter((device) => matchesDeviceFilter(device, filters))
    const page = cutPageByItemNumber(found, (device) => device.ref, {
      list: 'devices',
      filters,
      limit: Math.min(limit, maxDevices),
      offset,
      cursor,
    })
    if (!page.ok) return page
    // Pushes contain only numbers, so HomeSeer's own fields have to be requested.
    const fresh = raw ? await ensureFreshHomeseerDevices(homeseer, refsOf(page.value.items), true) : ok(undefined)
    if (!fresh.ok) return fresh
    const shown = pairs ? await withControls(homeseer, page.value.items) : ok(page.value.items)
    if (!shown.ok) return shown
    return createHomeseerOutcome({
      total: found.length,
      returned: page.value.items.length,
      maxDevices,
      truncated: page.value.nextCursor !== null,
      offset: page.value.offset,
      limit,
      includeRaw: raw,
      nextCursor: page.value.nextCursor,
      ...toUnknownControlsCountJson(catalog.value),
      items: shown.value.map((device) =>
        createDeviceViewWithLastCommand(homeseer, device, { includeControls: pairs, includeRaw: raw }),
      ),
    })
  })
}

function get(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.devices.get',
    title: 'Get devices',
    description:
      'Shows devices by ref with their present state and, unless told otherwise, the features that belong to them.',
    input: createTolerantInputSchema({
      refs: refsArgument,
      includeControls: includeControlsArgument,
      includeRaw: includeRawArgument,
      resolveChildren: z.boolean().default(true).describe('With the features of each device.'),
      maxDevices: maxItemsArgument,
    }),
    output: z.looseObject({
      requestedRefs: z.array(z.int()),
      found: z.array(z.int()),
      missing: z.array(z.int()),
      resolvedRefs: z.array(z.int()),
      totalResolvedDevices: z.int(),
      returnedDevices: z.int(),
      truncated: z.boolean(),
      items: deviceItemListSchema,
    }),
  }).handledBy(
    async ({ refs: requested, resolveChildren, includeControls: pairs, includeRaw: raw, maxDevices: wanted }) => {
      const requestedRefs = [...new Set(requested)]
      const catalog = await readCatalogWithFreshDevices(homeseer, requestedRefs)
      if (!catalog.ok) return catalog
      const own = requestedRefs.map((ref) => catalog.value.byRef.get(ref)).filter((device) => device !== undefined)
      const resolved = resolveChildren ? listDevicesAndTheirChildren(catalog.value, requestedRefs) : own
      const shown = resolved.slice(0, resolveDeviceLimit(homeseer, wanted))
      // Only the shown devices are read again: a root with a hundred features need not cost a hundred reads.
      const fresh = await ensureFreshHomeseerDevices(homeseer, refsOf(shown), raw)
      if (!fresh.ok) return fresh
      const described = pairs ? await withControls(homeseer, shown) : ok(shown)
      if (!described.ok) return described
      const isFound = (ref: number): boolean => catalog.value.byRef.has(ref)
      return createHomeseerOutcome({
        requestedRefs,
        found: requestedRefs.filter(isFound),
        missing: requestedRefs.filter((ref) => !isFound(ref)),
        includeRaw: raw,
        resolveChildren,
        maxDevices: resolveDeviceLimit(homeseer, wanted),
        totalResolvedDevices: resolved.length,
        returnedDevices: shown.length,
        truncated: shown.length < resolved.length,
        resolvedRefs: resolved.map(({ ref }) => ref),
        items: described.value.map((device) =>
          createDeviceViewWithLastCommand(homeseer, device, { includeControls: pairs, includeRaw: raw }),
        ),
      })
    },
  )
}

function refsOf(devices: readonly HomeseerDevice[]): readonly number[] {
  return devices.map(({ ref }) => ref)
}

/** The same devices with known controls. */
async function withControls(
  homeseer: HomeseerToolContext,
  devices: readonly HomeseerDevice[],
): Promise<Result<readonly HomeseerDevice[], Fault>> {
  const catalog = await readCatalogWithControlsOfDevices(homeseer, refsOf(devices))
  return catalog.ok ? ok(devices.map((device) => catalog.value.byRef.get(device.ref) ?? device)) : catalog
}

function controls(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.devices.controls.get',
    title: 'Get control pairs',
    description:
      'What devices can be told, as HomeSeer itself describes it (raw control pairs); all devices without refs.',
    input: createTolerantInputSchema({ refs: refsArgument.exactOptional() }),
    output: z.looseObject({ refs: z.array(z.int()).nullable(), raw: z.unknown() }),
  }).handledBy(async ({ refs: wanted }) => {
    const visible = await exposedRefs(homeseer, wanted)
    if (!visible.ok) return visible
    const requested = visible.value
    // HomeSeer would take an empty list of refs for all devices, so none is requested.
    if (requested?.length === 0) return createHomeseerOutcome({ refs: wanted ?? null, raw: { Devices: [] } })
    // `getcontrol2` also has what a control is for (ControlUse).
    const raw = await homeseer.link.json.call(createGenericHomeseerRequest('getcontrol2', { ref: requested }, 'reads'))
    if (raw.ok) return createHomeseerOutcome({ refs: requested ?? null, raw: raw.value })
    if (isWorthSmallerRequest(raw.fault)) return fail(tooMuchAtOnce(raw.fault))
    // Older HomeSeers know only the first of the two.
    const older = await homeseer.link.json.call(createGenericHomeseerRequest('getcontrol', { ref: requested }, 'reads'))
    return older.ok
      ? createHomeseerOutcome({ refs: requested ?? null, raw: older.value })
      : fail(createHomeseerReadFault(older.fault, 'reading control pairs'))
  })
}

/** The requested refs that exist for the caller; no refs means all of them. */
async function exposedRefs(
  homeseer: HomeseerToolContext,
  requested: readonly number[] | undefined,
): Promise<Result<readonly number[] | undefined, Fault>> {
  if (homeseer.exposes === undefined) return ok(requested)
  const catalog = await readHomeseerDeviceCatalog(homeseer)
  if (!catalog.ok) return catalog
  const { byRef } = catalog.value
  return ok(requested === undefined ? [...byRef.keys()] : requested.filter((ref) => byRef.has(ref)))
}

/** The other request would take as long, and exceed the caller's time. */
function tooMuchAtOnce(fault: HomeseerLinkFault): Fault {
  return extendHs4Fault(createHomeseerReadFault(fault, 'reading control pairs'), {
    fixHint: 'Name the devices (`refs`), a few at a time: this HomeSeer takes too long to tell them all.',
  })
}
