/**
 * HomeSeer things: the devices of HomeSeer as things of the home, from the answer of `hs4.devices.list`.
 */
import { omitUndefined, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { findThingCommand } from './home-words.ts'
import { normaliseText } from './normalised-text.ts'
import { isCanonicalRoomName } from './room-words.ts'
import type { ThingKind, ThingCommand } from './home-words.ts'
import { readArrayAt, readNumberAt, readObjectsAt, readTextAt, readTextsAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

/** Kinds for which "is on" makes no sense. */
const NEVER_ON: ReadonlySet<ThingKind> = new Set(['sensor', 'lock', 'thermostat'])

/** HomeSeer's device kinds that have another name here. */
const KINDS: Readonly<Record<string, ThingKind>> = {
  light: 'light',
  outlet: 'switch',
  switch: 'switch',
  blind: 'blind',
  door: 'door',
  lock: 'lock',
  valve: 'valve',
  main_valve: 'valve',
  heater: 'heater',
  thermostat: 'thermostat',
  fan: 'fan',
  alarm: 'alarm',
  house_mode: 'alarm',
  media: 'speaker',
  sensor: 'sensor',
}

const OFF_WORDS = new Set(['off', 'aus', 'inactive', 'stopped'])
const OPEN_WORDS = new Set(['open', 'opened', 'offen', 'auf', 'ajar', 'opening'])
const CLOSED_WORDS = new Set(['closed', 'close', 'zu', 'geschlossen', 'shut'])
const LOCKED_WORDS = new Set(['locked', 'lock', 'secured', 'verriegelt', 'abgeschlossen'])
const UNLOCKED_WORDS = new Set(['unlocked', 'unlock', 'unsecured', 'entriegelt', 'offen'])
/** Root devices with parts, whose own state is meaningless. */
const GROUP = 'group'

export function collectHomeseerThings(items: readonly Json[], rooms: Rooms): readonly Thing[] {
  const devices = items.filter(isJsonObject)
  const parents = new Map(devices.map((device) => [readNumberAt(device, 'ref'), device]))
  // The main words for rooms are joined first: a room with a similar name is then another room, whatever the order of
  // the devices.
  const places = [...new Set(devices.map((device) => readTextAt(device, 'location') ?? ''))]
  for (const place of places.toSorted(
    (left, right) => Number(isCanonicalRoomName(right)) - Number(isCanonicalRoomName(left)),
  ))
    rooms.join(place, 'homeseer')
  return devices.filter(isShown).map((device) => thingOf(device, parents, rooms))
}

function isShown(device: JsonObject): boolean {
  const isRoot = readArrayAt(device, 'associatedRefs').length > 0 && readArrayAt(device, 'controlPairs').length === 0
  const hasParts = isRoot && (device['parentRef'] ?? null) === null
  return device['hidden'] !== true && readTextAt(device, 'kind') !== GROUP && !hasParts
}

function thingOf(device: JsonObject, all: ReadonlyMap<number | undefined, JsonObject>, rooms: Rooms): Thing {
  const ref = readNumberAt(device, 'ref') ?? 0
  const status = readTextAt(device, 'status')
  const words = status === undefined ? '' : normaliseText(status)
  const kind = kindOf(device)
  const ageMs = readNumberAt(device, 'ageMs')
  const floor = readTextAt(device, 'location2')
  const pairs = readObjectsAt(device, 'controlPairs')
  const opens = kind === 'blind' || kind === 'door' || kind === 'window'
  return {
    handle: `hs:${ref}`,
    name: nameOf(device, all),
    room: rooms.join(readTextAt(device, 'location') ?? '', 'homeseer'),
    floor: floor === '' ? undefined : floor,
    kind,
    state: status,
    level: readNumberAt(device, 'value'),
    isOn: opens || NEVER_ON.has(kind) ? undefined : isOnBy(words, device),
    isOpen: opens ? (OPEN_WORDS.has(words) ? true : CLOSED_WORDS.has(words) ? false : undefined) : undefined,
    isLocked:
      kind === 'lock' ? (LOCKED_WORDS.has(words) ? true : UNLOCKED_WORDS.has(words) ? false : undefined) : undefined,
    ageSeconds: ageMs === undefined ? undefined : ageMs / 1_000,
    isSensitive: readArrayAt(device, 'sensitive').length > 0,
    controls: pairs.flatMap((pair) => controlOf(ref, pair, { opens, isText: isTextDevice(device) })),
  }
}

/** A part with a common name (`Battery`) is distinguished by the device that it belongs to. */
function nameOf(device: JsonObject, all: ReadonlyMap<number | undefined, JsonObject>): string {
  const name = readTextAt(device, 'name') ?? ''
  const parent = readTextAt(all.get(readNumberAt(device, 'parentRef')) ?? {}, 'name')
  if (parent === undefined || normaliseText(name).includes(normaliseText(parent)) || normaliseText(parent) === '')
    return name
  return normaliseText(parent).includes(normaliseText(name)) ? parent : `${parent} ${name}`
}

function kindOf(device: JsonObject): ThingKind {
  const listed = KINDS[readTextAt(device, 'kind') ?? '']
  const can = new Set(readTextsAt(device, 'capabilities'))
  if (listed === 'sensor' && can.has('contact')) return contactKind(readTextAt(device, 'name') ?? '')
  if (listed !== undefined) return listed
  if (can.has('lock')) return 'lock'
  if (can.has('cover')) return 'blind'
  if (can.has('dimmer') || can.has('color')) return 'light'
  if (can.has('setpoint') || can.has('thermostat_mode')) return 'thermostat'
  if (can.has('contact')) return contactKind(readTextAt(device, 'name') ?? '')
  if (can.has('on_off')) return 'switch'
  return can.has('sensor') || can.has('temperature') || can.has('battery') ? 'sensor' : 'other'
}

function contactKind(name: string): ThingKind {
  return /door|tuer|gate/.test(normaliseText(name)) ? 'door' : 'window'
}

function isOnBy(words: string, device: JsonObject): boolean | undefined {
  if (words === '' || words === 'no status') return undefined
  if (OFF_WORDS.has(words) || words === '0') return false
  if (words === 'on' || words === 'an' || /^(?:dim )?\d+/.test(words)) return true
  return readTextsAt(device, 'capabilities').includes('on_off') ? true : undefined
}

const BY_USE: Readonly<Record<string, ThingCommand | 'level' | 'temperature' | 'colour'>> = {
  ColorControl: 'colour',
  On: 'on',
  Off: 'off',
  OnAlternate: 'on',
  Dim: 'level',
  DimFan: 'level',
  Volume: 'level',
  HeatSetPoint: 'temperature',
  CoolSetPoint: 'temperature',
  DoorLock: 'lock',
  DoorUnLock: 'unlock',
}

/** Its one control is a box for text. */
function isTextDevice(device: JsonObject): boolean {
  return readTextsAt(device, 'capabilities').join(' ') === 'text'
}

function controlOf(
  ref: number,
  pair: JsonObject,
  { opens, isText }: { readonly opens: boolean; readonly isText: boolean },
): readonly ThingControl[] {
  const label = readTextAt(pair, 'label') ?? ''
  const value = readNumberAt(pair, 'value')
  const range = isJsonObject(pair['range']) ? pair['range'] : undefined
  const [byUse, byLabel] = [BY_USE[readTextAt(pair, 'controlUse') ?? ''], findThingCommand(label)]
  // A garage door's controls are On and Off, and its states Open and Closed.
  const wish = (opens ? (byLabel ?? byUse) : (byUse ?? byLabel)) ?? (range === undefined ? 'label' : 'level')
  const [minimum, maximum] = [readNumberAt(range ?? {}, 'from'), readNumberAt(range ?? {}, 'to')]
  if (range !== undefined && (wish === 'level' || wish === 'temperature'))
    return [
      {
        wish,
        ...omitUndefined({ minimum, maximum }),
        callFor: (wanted) => setCall(ref, { value: wanted ?? maximum ?? 0 }),
      },
    ]
  if (wish === 'colour')
    return [{ wish, callFor: (colour) => setCall(ref, { text: (colour ?? 0).toString(16).padStart(6, '0') }) }]
  // A text box takes free text from a person; it is not offered here.
  if (value === undefined || (wish === 'label' && isText)) return []
  return [
    {
      wish: wish === 'level' || wish === 'temperature' ? 'label' : wish,
      label,
      callFor: () => setCall(ref, { value }),
    },
  ]
}

function setCall(ref: number, value: JsonObject): ThingCall {
  return { tool: 'hs4.devices.set', arguments: { ref, ...value } }
}
