/**
 * Alias: a text for a device, an event or a camera, and its origin.
 *
 *   configuration  from the owner's file
 *   confirmed      a caller confirmed it; valid for that caller only, unless the owner of the house did
 *   name           derived from the thing's name in HomeSeer
 */
import type { HomeseerDevice } from '../catalog/device.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'

export type AliasTargetKind = 'device' | 'event' | 'camera'
export type AliasOrigin = 'configuration' | 'confirmed' | 'name'

export interface Alias {
  readonly kind: AliasTargetKind
  readonly id: number
  readonly text: string
  readonly origin: AliasOrigin
  /** The caller for whom it is valid; absent: all callers. */
  readonly owner?: string
}

/** The contract has two provenances; a name that a person confirmed counts as learned. */
export function toAliasProvenance(origin: AliasOrigin): 'config' | 'learned' {
  return origin === 'configuration' ? 'config' : 'learned'
}

export function deriveDeviceAliases(device: HomeseerDevice): readonly Alias[] {
  const { ref, name, location, location2, voiceCommand } = device
  const places = [[], [location], [location2], [location, location2]]
  const called = places.filter((place) => place.every((part) => part !== '')).map((place) => [...place, name].join(' '))
  return named('device', ref, [...called, voiceCommand, `device ${ref}`])
}

/** The group alone is not an alias: it would match every event in it. */
export function deriveEventAliases(event: ReceivedEventRecord): readonly Alias[] {
  if (event.id === undefined) return []
  return named('event', event.id, [event.name, `${event.group} ${event.name}`, event.voiceCommand, `event ${event.id}`])
}

export function deriveCameraAliases(camera: ReceivedCamera): readonly Alias[] {
  return named('camera', camera.camId, [camera.name, `camera ${camera.camId}`])
}

export interface AliasFileFault {
  readonly kind: 'bad-alias-key' | 'bad-alias-list'
  readonly key: string
}

const KEY = /^(device|event|camera)\s*[:/#|]\s*(\d{1,15})$/i

/**
 * Parses the owner's file: `{"device:412": ["reading lamp"], "event/31": […]}`. Entries that cannot be read are
 * reported, not dropped.
 */
export function parseConfiguredAliases(file: Readonly<Record<string, unknown>>): {
  readonly aliases: readonly Alias[]
  readonly faults: readonly AliasFileFault[]
} {
  const aliases: Alias[] = []
  const faults: AliasFileFault[] = []
  for (const [key, texts] of Object.entries(file)) {
    const [, kind, id] = KEY.exec(key.trim()) ?? []
    if (kind === undefined || id === undefined) faults.push({ kind: 'bad-alias-key', key })
    else if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
      faults.push({ kind: 'bad-alias-list', key })
    else
      for (const text of texts as readonly string[])
        aliases.push({ kind: kind.toLowerCase() as AliasTargetKind, id: Number(id), text, origin: 'configuration' })
  }
  return { aliases, faults }
}

function named(kind: AliasTargetKind, id: number, texts: readonly string[]): readonly Alias[] {
  const distinct = new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))
  return [...distinct].map((text) => ({ kind, id, text, origin: 'name' }))
}
