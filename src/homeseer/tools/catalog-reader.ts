/**
 * Catalog reader: gives tools the catalog's devices, as fresh as the caller requires.
 *
 * While changes are pushed, the mirror is as new as a request would be; without push it is refreshed when it is older
 * than the owner allows.
 *
 * Does I/O (through the link).
 */
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import {
  filterExposedDevices,
  listRefsSharingPhysicalDevice,
  type HomeseerDeviceCatalog,
} from '../catalog/device-catalog-and-event-consequences.ts'
import type { DeviceMirrorEntry } from '../wire/device-mirror.ts'
import { type HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHs4Fault, createHomeseerReadFault } from './faults.ts'
import type { ControlPair } from '../wire/device.ts'

const READING = 'reading the devices'

/** All devices, no older than the owner allows; `fresh` asks HomeSeer in any case. */
export async function readHomeseerDeviceCatalog(
  homeseer: HomeseerToolContext,
  fresh = false,
): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const { link } = homeseer
  if (fresh || isStale(homeseer, link.mirror.entries.values())) {
    const refreshed = await link.mirror.refresh()
    if (!refreshed.ok) return fail(createHomeseerReadFault(refreshed.fault, READING))
  }
  return readKnownCatalog(homeseer)
}

async function readKnownCatalog({
  catalog,
  exposes,
}: HomeseerToolContext): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const deviceCatalog = await catalog.devices()
  return deviceCatalog.ok
    ? ok(filterExposedDevices(deviceCatalog.value, exposes))
    : fail(createHomeseerReadFault(deviceCatalog.fault, READING))
}

/**
 * The house in which some devices, with all that belongs to them, are no older than the owner allows, or fresh. Only
 * these are requested: one of two thousand devices must not cost a request for all. A device may be newer than the last
 * list of all of them, or may have gone. Refs that HomeSeer does not know are not a fault here.
 */
export async function readCatalogWithFreshDevices(
  homeseer: HomeseerToolContext,
  refs: readonly number[],
  fresh = false,
): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const before = await readKnownCatalog(homeseer)
  if (!before.ok) return before
  const refreshed = await ensureFreshHomeseerDevices(
    homeseer,
    [...new Set([...refs, ...listRefsSharingPhysicalDevice(before.value, refs)])],
    fresh,
  )
  const deviceCatalog = refreshed.ok ? await readKnownCatalog(homeseer) : refreshed
  if (!deviceCatalog.ok) return deviceCatalog
  // A root may have new features by now.
  const features = refs.flatMap((ref) => deviceCatalog.value.byRef.get(ref)?.associatedRefs ?? [])
  const missing = features.filter((ref) => !deviceCatalog.value.byRef.has(ref))
  if (missing.length === 0) return deviceCatalog
  const read = await ensureFreshHomeseerDevices(homeseer, missing)
  return read.ok ? readKnownCatalog(homeseer) : read
}

/** The house, with known controls for some devices. */
export async function readCatalogWithControlsOfDevices(
  { catalog, exposes }: HomeseerToolContext,
  refs: readonly number[],
): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const deviceCatalog = await catalog.devicesFor(refs)
  return deviceCatalog.ok
    ? ok(filterExposedDevices(deviceCatalog.value, exposes))
    : fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the controls'))
}

/** Lists by what devices can do lack those of which nobody knows it; so they say how many these are. */
export function toUnknownControlsCountJson({ devices }: HomeseerDeviceCatalog): {
  readonly controlsUnknown?: number
} {
  const unknown = devices.filter(({ controlsKnown }) => !controlsKnown).length
  return unknown === 0 ? {} : { controlsUnknown: unknown }
}

/** Makes the state of some devices as fresh as required; devices that are not known at all are requested. */
export async function ensureFreshHomeseerDevices(
  homeseer: HomeseerToolContext,
  refs: readonly number[],
  fresh = false,
): Promise<Result<void, Fault>> {
  const { mirror } = homeseer.link
  const entries = refs.map((ref) => mirror.entries.get(ref)).filter((entry) => entry !== undefined)
  const wanted = fresh || isStale(homeseer, entries) ? refs : refs.filter((ref) => !mirror.entries.has(ref))
  const read = await mirror.read(wanted)
  return read.ok ? ok(undefined) : fail(createHomeseerReadFault(read.fault, READING))
}

function isStale({ link: { mirror }, config }: HomeseerToolContext, entries: Iterable<DeviceMirrorEntry>): boolean {
  if (mirror.pushUp) return false
  for (const entry of entries) if (mirror.ageMs(entry) > config.statusCacheMs) return true
  return false
}

/** From the mirror, without a request; `undefined` for a device that it does not have. */
export function readMirroredDevice({ link: { mirror } }: HomeseerToolContext, ref: number): MirroredDevice | undefined {
  const entry = mirror.entries.get(ref)
  return entry === undefined ? undefined : { ...entry, ageMs: mirror.ageMs(entry) }
}

export function createDeviceViewWithLastCommand(
  homeseer: HomeseerToolContext,
  device: HomeseerDevice,
  options: DeviceViewOptions,
): JsonObject {
  const last = homeseer.arrivals.last(device.ref)
  const view = toDeviceView(device, readMirroredDevice(homeseer, device.ref), options)
  if (last === undefined) return view
  const { wanted, atMs, outcome, afterMs } = last
  return {
    ...view,
    lastCommand: { wanted, at: formatIsoTimeOrNull(atMs), outcome, ...omitUndefined({ afterMs }) },
  }
}

/** The device with everything that the assessment of a change needs, or a fault that says how to find the right one. */
export async function findHomeseerDevice(
  homeseer: HomeseerToolContext,
  ref: number,
): Promise<Result<HomeseerDevice, Fault>> {
  const deviceCatalog = await readKnownCatalog(homeseer)
  if (!deviceCatalog.ok) return deviceCatalog
  // One request before reporting that it does not exist, because it may be newer than the last list.
  const refreshed = deviceCatalog.value.byRef.has(ref)
    ? ok(undefined)
    : await ensureFreshHomeseerDevices(homeseer, [ref])
  const withControls = refreshed.ok ? await readCatalogWithControlsOfDevices(homeseer, [ref]) : refreshed
  if (!withControls.ok) return withControls
  const device = withControls.value.byRef.get(ref)
  return device === undefined ? fail(createNoDeviceFault(ref)) : ok(device)
}

export function createNoDeviceFault(ref: number): Fault {
  return createHs4Fault('NOT_FOUND', `HomeSeer has no device ${ref}.`, {
    details: { ref },
    next: [
      { name: 'hs4.devices.list', args: { limit: 50 } },
      { name: 'hs4.resolve.devices', args: { query: `device ${ref}` } },
    ],
  })
}

// Device view: a device as the tools show it: what it is, from the catalog, and what it shows, from the mirror, with
// its age and where it was learned.

export interface DeviceViewOptions {
  readonly includeControls: boolean
  readonly includeRaw: boolean
}

/** A device as it was last seen; the record in the catalog may be much older. */
export interface MirroredDevice extends DeviceMirrorEntry {
  readonly ageMs: number
}

/** `seen` is `undefined` for a device that the mirror has lost since the catalog was built. */
export function toDeviceView(
  device: HomeseerDevice,
  seen: MirroredDevice | undefined,
  { includeControls, includeRaw }: DeviceViewOptions,
): JsonObject {
  const { record } = seen ?? device
  return {
    ref: device.ref,
    name: device.name,
    location: device.location,
    location2: device.location2,
    // A pushed number comes without its text, which is unknown until it is read.
    status: seen?.live.status ?? null,
    value: seen?.live.value ?? null,
    lastChange: formatIsoTimeOrNull(seen?.live.lastChangeMs ?? record.lastChangeMs),
    ageMs: seen === undefined ? null : Math.round(seen.ageMs),
    interfaceName: device.interfaceName,
    kind: device.kind,
    capabilities: [...device.capabilities],
    parentRef: device.parentRef ?? null,
    // HomeSeer's number as text, as in the contract: 0 none, 2 root, 3 standalone, 4 child.
    relationship: String(device.relationship),
    ...(device.associatedRefs.length === 0 ? {} : { associatedRefs: [...device.associatedRefs] }),
    ...(device.sensitivity.length === 0 ? {} : { sensitive: [...device.sensitivity] }),
    ...(device.hidden ? { hidden: true } : {}),
    ...(device.controlsKnown ? {} : { controlsKnown: false }),
    // The list is absent, not empty, if the controls are unknown: an empty list means that there are none.
    ...(includeControls && device.controlsKnown ? { controlPairs: device.controls.map(pairView) } : {}),
    ...(includeRaw ? { statusImage: record.statusImage, raw: record.raw } : {}),
  }
}

/** `None` is HomeSeer's word for a control without a purpose, so it is left out. */
function pairView(pair: ControlPair): JsonObject {
  return {
    label: pair.label,
    value: pair.value ?? null,
    ...(pair.use === 'None' ? {} : { controlUse: pair.use }),
    ...(pair.range === undefined
      ? {}
      : { range: { from: pair.range.start, to: pair.range.end, decimals: pair.range.decimals } }),
  }
}

/** The name that a person would use: `Hall Lamp (Hall, Ground)`. */
export function formatDeviceLabel({ name, location, location2 }: HomeseerDevice): string {
  const place = [location, location2].filter((part) => part !== '').join(', ')
  return place === '' ? name : `${name} (${place})`
}
