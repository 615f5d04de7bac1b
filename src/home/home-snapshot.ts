/**
 * Home snapshot: the present state of the whole home, read with the families' own tools in the caller's name, with one
 * set of rooms and one set of handles. A family that cannot be read is missing from the snapshot, which says so.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { omitUndefined, type Json, type JsonObject } from '../core/json.ts'
import { collectVoiceDeviceThings } from './voice-device-things.ts'
import { decodeHomeHeating } from './home-heating.ts'
import type { HomeHeating } from './home-heating.ts'
import { collectHomeseerThings } from './homeseer-things.ts'
import { readArrayAt, readJsonValueAt, readObjectsAt, readTextAt } from './json-path.ts'
import { Rooms } from './room.ts'
import type { RoomAliasesByName } from './room.ts'
import type { Thing } from './thing.ts'

export interface HomeSnapshot {
  readonly rooms: Rooms
  readonly things: readonly Thing[]
  readonly heating: HomeHeating | undefined
  /** Families that could not be read, each with the reason. */
  readonly missing: readonly { readonly family: string; readonly reason: string }[]
}

export interface HomeSnapshotSources {
  readonly bus: Pick<CapabilityBus, 'offer' | 'offers'>
  readonly rooms: RoomAliasesByName
  readonly aliases: Readonly<Record<string, readonly string[]>>
}

const PAGE = 500
const MAX_PAGES = 10
const PLANES = ['zones', 'dhw', 'boiler_status', 'system']

export async function readHomeSnapshot(
  { bus, rooms: table, aliases }: HomeSnapshotSources,
  context: HandlerContext,
): Promise<HomeSnapshot> {
  const rooms = new Rooms(table)
  const missing: { family: string; reason: string }[] = []
  const read = async (family: string, tool: string, body: JsonObject): Promise<Json | undefined> => {
    if (bus.offer(tool) === undefined) return undefined
    const outcome = await context.call(tool, body)
    if (outcome.ok) return outcome.value.data
    missing.push({ family, reason: outcome.fault.message })
    return undefined
  }
  const [devices, homeseer, planes] = await Promise.all([
    read('devices', 'devices.list', {}),
    homeseerItems(read),
    read('ebus', 'ebus.v1.semantic.snapshot.get', { planes: PLANES, allow_partial: true, timeout_ms: 5_000 }),
  ])
  // HomeSeer comes first, because people name rooms there. The eBUS family's answer is under `data`, beside its meta.
  const things = collectHomeseerThings(homeseer, rooms)
  const heating = decodeHomeHeating(readJsonValueAt(planes, 'data', 'planes'), rooms)
  const named = [...things, ...collectVoiceDeviceThings(devices, bus.offers(), rooms)].map((thing) => {
    const taught = aliases[thing.handle]
    return taught === undefined ? thing : { ...thing, aliases: taught }
  })
  return { rooms, things: named, heating, missing }
}

type FamilyReader = (family: string, tool: string, body: JsonObject) => Promise<Json | undefined>

async function homeseerItems(read: FamilyReader): Promise<readonly Json[]> {
  const items: Json[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const body = {
      limit: PAGE,
      maxDevices: PAGE * MAX_PAGES,
      includeControls: true,
      ...omitUndefined({ cursor }),
    }
    const answer = await read('homeseer', 'hs4.devices.list', body)
    items.push(...readObjectsAt(answer, 'items'))
    cursor = readTextAt(answer, 'nextCursor')
    if (cursor === undefined || readArrayAt(answer, 'items').length === 0) break
  }
  return items
}
