/**
 * Device view: a device as the tools show it: what it is, from the catalog, and what it shows, from the mirror, with
 * its age and where it was learned.
 *
 * Pure.
 */
import type { JsonObject } from '../../core/json.ts'
import { isoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { Device } from '../catalog/device.ts'
import type { ControlPair } from '../wire/control-pair.ts'
import type { MirrorEntry } from '../wire/mirror.ts'

export interface ViewOptions {
  readonly includeControls: boolean
  readonly includeRaw: boolean
}

/** A device as it was seen last; the record that the catalog was made from may be from long before. */
export interface Seen extends MirrorEntry {
  readonly ageMs: number
}

/** `seen` is `undefined` for a device that the mirror has lost since the catalog was made. */
export function deviceView(
  device: Device,
  seen: Seen | undefined,
  { includeControls, includeRaw }: ViewOptions,
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
export function deviceLabel({ name, location, location2 }: Device): string {
  const place = [location, location2].filter((part) => part !== '').join(', ')
  return place === '' ? name : `${name} (${place})`
}
