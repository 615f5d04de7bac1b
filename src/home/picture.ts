/**
 * Picture: the whole home as it is now, gathered from the families' own tools in the caller's name, with one set of
 * rooms and one set of handles.
 *
 * Each family may be away by itself: then the picture is without it, and says so.
 *
 * Reads through the bus.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { thingsFromDevices } from './device-things.ts'
import { readHeating } from './heating.ts'
import type { HomeHeating } from './heating.ts'
import { thingsFromHomeseer } from './homeseer-things.ts'
import { arrayAt, valueAt, objectsAt, textAt } from './json-path.ts'
import { Rooms } from './room.ts'
import type { RoomTable } from './room.ts'
import type { Thing } from './thing.ts'

export interface HomePicture {
  readonly rooms: Rooms
  readonly things: readonly Thing[]
  readonly heating: HomeHeating | undefined
  /** Families that could not be asked, each with the reason. */
  readonly missing: readonly { readonly family: string; readonly reason: string }[]
}

export interface PictureParts {
  readonly bus: Pick<CapabilityBus, 'offer' | 'offers'>
  readonly rooms: RoomTable
}

const PAGE = 500
const MAX_PAGES = 10
const PLANES = ['zones', 'dhw', 'boiler_status', 'system']

export async function readHomePicture(
  { bus, rooms: table }: PictureParts,
  context: HandlerContext,
): Promise<HomePicture> {
  const rooms = new Rooms(table)
  const missing: { family: string; reason: string }[] = []
  const ask = async (family: string, tool: string, body: JsonObject): Promise<Json | undefined> => {
    if (bus.offer(tool) === undefined) return undefined
    const outcome = await context.call(tool, body)
    if (outcome.ok) return outcome.value.data
    missing.push({ family, reason: outcome.fault.message })
    return undefined
  }
  const [devices, homeseer, planes] = await Promise.all([
    ask('devices', 'devices.list', {}),
    homeseerItems(ask),
    ask('ebus', 'ebus.v1.semantic.snapshot.get', { planes: PLANES, allow_partial: true, timeout_ms: 5_000 }),
  ])
  // HomeSeer first: people name rooms there. What the eBUS family answers stands under `data`, beside its meta.
  const things = thingsFromHomeseer(homeseer, rooms)
  const heating = readHeating(valueAt(planes, 'data', 'planes'), rooms)
  return { rooms, things: [...things, ...thingsFromDevices(devices, bus.offers(), rooms)], heating, missing }
}

type Ask = (family: string, tool: string, body: JsonObject) => Promise<Json | undefined>

async function homeseerItems(ask: Ask): Promise<readonly Json[]> {
  const items: Json[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const body = {
      limit: PAGE,
      maxDevices: PAGE * MAX_PAGES,
      includeControls: true,
      ...(cursor === undefined ? {} : { cursor }),
    }
    const answer = await ask('homeseer', 'hs4.devices.list', body)
    items.push(...objectsAt(answer, 'items'))
    cursor = textAt(answer, 'nextCursor')
    if (cursor === undefined || arrayAt(answer, 'items').length === 0) break
  }
  return items
}
