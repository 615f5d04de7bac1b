/**
 * Area: all devices of one kind in a room, on a floor or in the house.
 */
import { isSameHomeseerName } from '../catalog/event-search.ts'
import { omitUndefined } from '../../core/json.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { HomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import { findConceptsInText, DEVICE_KINDS_BY_CONCEPT } from '../resolve/name-concepts.ts'

export interface AreaQuery {
  readonly kind: string
  readonly location1?: string | undefined
  readonly location2?: string | undefined
}

/** Features with controls; roots and masters only stand for these. */
export function listDevicesInArea(
  { devices }: HomeseerDeviceCatalog,
  { kind, location1, location2 }: AreaQuery,
): readonly HomeseerDevice[] {
  const same = (place: string, wanted: string | undefined) => wanted === undefined || isSameHomeseerName(place, wanted)
  return devices.filter(
    (device) =>
      device.kind === kind &&
      device.controls.length > 0 &&
      !device.wrapper &&
      same(device.location, location1) &&
      same(device.location2, location2),
  )
}

export function explainEmptyArea({ kind, location1, location2 }: AreaQuery): string {
  const where = [location1, location2].filter((place) => place !== undefined).join(', ')
  return `There is no ${kind} ${where === '' ? 'in this house' : `in ${where}`}.`
}

/** Words that are part of place names but name no place by themselves. */
const PLACE_WORDS = new Set(['floor', 'room', 'house', 'home', 'haus'])

/**
 * The kind and the place that words name. `unclear` are the other words, which may change the meaning in a way that is
 * not understood.
 */
export function findAreaInText(
  catalog: HomeseerDeviceCatalog,
  goal: string,
): { readonly area: AreaQuery | undefined; readonly unclear: readonly string[] } {
  const concepts = findConceptsInText(goal).filter((concept) => !PLACE_WORDS.has(concept) && !/^\d+$/.test(concept))
  const kinds = concepts.filter((concept) => Object.hasOwn(DEVICE_KINDS_BY_CONCEPT, concept))
  const kind = DEVICE_KINDS_BY_CONCEPT[kinds[0] ?? '']?.[0]
  const placeOf = (concept: string, placeName: (device: HomeseerDevice) => string) =>
    catalog.devices.map(placeName).find((place) => place !== '' && findConceptsInText(place).includes(concept))
  const rest = concepts.filter((concept) => !kinds.includes(concept))
  const rooms = rest.map((concept) => placeOf(concept, ({ location }) => location))
  const floors = rest.map((concept) => placeOf(concept, ({ location2 }) => location2))
  const unclear = rest.filter((_, index) => rooms[index] === undefined && floors[index] === undefined)
  if (kind === undefined) return { area: undefined, unclear }
  const room = rooms.find((place) => place !== undefined)
  const floor = floors.find((place) => place !== undefined)
  return {
    area: {
      kind,
      ...omitUndefined({ location1: room, location2: floor }),
    },
    unclear,
  }
}
