/**
 * Catalog reader: the devices as they are now, for tools: what the catalog knows, as fresh as the caller wants it.
 *
 * While changes are pushed, the mirror is as new as a question would be; without push it is asked again when it is
 * older than the owner allows.
 *
 * Does I/O (through the link).
 */
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { isoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import {
  filterExposedDevices,
  listRefsSharingPhysicalDevice,
  type HomeseerDeviceCatalog,
} from '../catalog/homeseer-catalog.ts'
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
  return knownHouse(homeseer)
}

async function knownHouse({ catalog, exposes }: HomeseerToolContext): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const house = await catalog.house()
  return house.ok ? ok(filterExposedDevices(house.value, exposes)) : fail(createHomeseerReadFault(house.fault, READING))
}

/**
 * The house with some devices no older than the owner allows, or fresh, and with all that belongs to them. Only these
 * are asked about: one of two thousand must not cost a question about all. One may be newer than the last look at all
 * of them, or gone since. Refs that HomeSeer does not know are no fault here.
 */
export async function readCatalogWithFreshDevices(
  homeseer: HomeseerToolContext,
  refs: readonly number[],
  fresh = false,
): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const before = await knownHouse(homeseer)
  if (!before.ok) return before
  const asked = await refreshHomeseerDevices(
    homeseer,
    [...new Set([...refs, ...listRefsSharingPhysicalDevice(before.value, refs)])],
    fresh,
  )
  const house = asked.ok ? await knownHouse(homeseer) : asked
  if (!house.ok) return house
  // A root may have got features since.
  const features = refs.flatMap((ref) => house.value.byRef.get(ref)?.associatedRefs ?? [])
  const unheard = features.filter((ref) => !house.value.byRef.has(ref))
  if (unheard.length === 0) return house
  const heard = await refreshHomeseerDevices(homeseer, unheard)
  return heard.ok ? knownHouse(homeseer) : heard
}

/** The house, in which it is known what some devices can be told. */
export async function readCatalogWithControls(
  { catalog, exposes }: HomeseerToolContext,
  refs: readonly number[],
): Promise<Result<HomeseerDeviceCatalog, Fault>> {
  const house = await catalog.houseFor(refs)
  return house.ok
    ? ok(filterExposedDevices(house.value, exposes))
    : fail(createHomeseerReadFault(house.fault, 'reading the controls'))
}

/** Lists by what devices can do lack those of which nobody knows it; so they say how many these are. */
export function toUnknownControlsCountJson({ devices }: HomeseerDeviceCatalog): { readonly controlsUnknown?: number } {
  const unknown = devices.filter(({ controlsKnown }) => !controlsKnown).length
  return unknown === 0 ? {} : { controlsUnknown: unknown }
}

/** Makes what is known of some devices as fresh as wanted; those that are not known at all are asked about. */
export async function refreshHomeseerDevices(
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

/** From the mirror, without asking; `undefined` for a device that it does not hold. */
export function readMirroredDevice({ link: { mirror } }: HomeseerToolContext, ref: number): MirroredDevice | undefined {
  const entry = mirror.entries.get(ref)
  return entry === undefined ? undefined : { ...entry, ageMs: mirror.ageMs(entry) }
}

export function createDeviceView(
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
    lastCommand: { wanted, at: isoTimeOrNull(atMs), outcome, ...omitUndefined({ afterMs }) },
  }
}

/** The device as it must be known to weigh a change of it, or a sentence with a way to find the right one. */
export async function findHomeseerDevice(
  homeseer: HomeseerToolContext,
  ref: number,
): Promise<Result<HomeseerDevice, Fault>> {
  const house = await knownHouse(homeseer)
  if (!house.ok) return house
  // Worth one question before saying no: it may be newer than our last look at all of them.
  const asked = house.value.byRef.has(ref) ? ok(undefined) : await refreshHomeseerDevices(homeseer, [ref])
  const weighed = asked.ok ? await readCatalogWithControls(homeseer, [ref]) : asked
  if (!weighed.ok) return weighed
  const device = weighed.value.byRef.get(ref)
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

/** A device as it was seen last; the record that the catalog was made from may be from long before. */
export interface MirroredDevice extends DeviceMirrorEntry {
  readonly ageMs: number
}

/** `seen` is `undefined` for a device that the mirror has lost since the catalog was made. */
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
    // A pushed number comes without its text, which is then unknown until it has been read.
    status: seen?.live.status ?? null,
    value: seen?.live.value ?? null,
    lastChange: isoTimeOrNull(seen?.live.lastChangeMs ?? record.lastChangeMs),
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
    // No list rather than an empty one: that it has none is a fact, too.
    ...(includeControls && device.controlsKnown ? { controlPairs: device.controls.map(pairView) } : {}),
    ...(includeRaw ? { statusImage: record.statusImage, raw: record.raw } : {}),
  }
}

/** `None` is HomeSeer's word for a control without a purpose: not worth saying. */
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

/** `Hall Lamp (Hall, Ground)`: what a person would call it. */
export function formatDeviceLabel({ name, location, location2 }: HomeseerDevice): string {
  const place = [location, location2].filter((part) => part !== '').join(', ')
  return place === '' ? name : `${name} (${place})`
}
