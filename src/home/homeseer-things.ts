/**
 * HomeSeer things: the devices of HomeSeer as things of the home, from what `hs4.devices.list` says of them.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { foldText, readWishWord } from './home-words.ts'
import type { ThingKind, WishWord } from './home-words.ts'
import { arrayAt, numberAt, objectsAt, textAt, textsAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

/** Kinds of which nobody says that they are on. */
const NEVER_ON: ReadonlySet<ThingKind> = new Set(['sensor', 'lock', 'thermostat'])

/** HomeSeer's classes that have another name here. */
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
/** Roots of a device with parts, whose own state says nothing. */
const GROUP = 'group'

export function thingsFromHomeseer(items: readonly Json[], rooms: Rooms): readonly Thing[] {
  const devices = items.filter(isJsonObject)
  const parents = new Map(devices.map((device) => [numberAt(device, 'ref'), device]))
  return devices.filter(isShown).map((device) => thingOf(device, parents, rooms))
}

function isShown(device: JsonObject): boolean {
  const isRoot = arrayAt(device, 'associatedRefs').length > 0 && arrayAt(device, 'controlPairs').length === 0
  const hasParts = isRoot && (device['parentRef'] ?? null) === null
  return device['hidden'] !== true && textAt(device, 'kind') !== GROUP && !hasParts
}

function thingOf(device: JsonObject, all: ReadonlyMap<number | undefined, JsonObject>, rooms: Rooms): Thing {
  const ref = numberAt(device, 'ref') ?? 0
  const status = textAt(device, 'status')
  const words = status === undefined ? '' : foldText(status)
  const kind = kindOf(device)
  const ageMs = numberAt(device, 'ageMs')
  const floor = textAt(device, 'location2')
  const pairs = objectsAt(device, 'controlPairs')
  const opens = kind === 'blind' || kind === 'door' || kind === 'window'
  return {
    handle: `hs:${ref}`,
    name: nameOf(device, all),
    room: rooms.join(textAt(device, 'location') ?? ''),
    floor: floor === '' ? undefined : floor,
    kind,
    state: status,
    level: numberAt(device, 'value'),
    isOn: opens || NEVER_ON.has(kind) ? undefined : isOnBy(words, device),
    isOpen: opens ? (OPEN_WORDS.has(words) ? true : CLOSED_WORDS.has(words) ? false : undefined) : undefined,
    isLocked:
      kind === 'lock' ? (LOCKED_WORDS.has(words) ? true : UNLOCKED_WORDS.has(words) ? false : undefined) : undefined,
    ageSeconds: ageMs === undefined ? undefined : ageMs / 1_000,
    isSensitive: arrayAt(device, 'sensitive').length > 0,
    controls: pairs.flatMap((pair) => controlOf(ref, pair, opens)),
  }
}

/** A part that is called like any other (`Battery`) is told apart by what it belongs to. */
function nameOf(device: JsonObject, all: ReadonlyMap<number | undefined, JsonObject>): string {
  const name = textAt(device, 'name') ?? ''
  const parent = textAt(all.get(numberAt(device, 'parentRef')) ?? {}, 'name')
  if (parent === undefined || foldText(name).includes(foldText(parent)) || foldText(parent) === '') return name
  return foldText(parent).includes(foldText(name)) ? parent : `${parent} ${name}`
}

function kindOf(device: JsonObject): ThingKind {
  const told = KINDS[textAt(device, 'kind') ?? '']
  const can = new Set(textsAt(device, 'capabilities'))
  if (told === 'sensor' && can.has('contact')) return contactKind(textAt(device, 'name') ?? '')
  if (told !== undefined) return told
  if (can.has('lock')) return 'lock'
  if (can.has('cover')) return 'blind'
  if (can.has('dimmer') || can.has('color')) return 'light'
  if (can.has('setpoint') || can.has('thermostat_mode')) return 'thermostat'
  if (can.has('contact')) return contactKind(textAt(device, 'name') ?? '')
  if (can.has('on_off')) return 'switch'
  return can.has('sensor') || can.has('temperature') || can.has('battery') ? 'sensor' : 'other'
}

function contactKind(name: string): ThingKind {
  return /door|tuer|gate/.test(foldText(name)) ? 'door' : 'window'
}

function isOnBy(words: string, device: JsonObject): boolean | undefined {
  if (words === '' || words === 'no status') return undefined
  if (OFF_WORDS.has(words) || words === '0') return false
  if (words === 'on' || words === 'an' || /^(?:dim )?\d+/.test(words)) return true
  return textsAt(device, 'capabilities').includes('on_off') ? true : undefined
}

const BY_USE: Readonly<Record<string, WishWord | 'level' | 'temperature' | 'colour'>> = {
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

function controlOf(ref: number, pair: JsonObject, opens: boolean): readonly ThingControl[] {
  const label = textAt(pair, 'label') ?? ''
  const value = numberAt(pair, 'value')
  const range = isJsonObject(pair['range']) ? pair['range'] : undefined
  const [byUse, byLabel] = [BY_USE[textAt(pair, 'controlUse') ?? ''], readWishWord(label)]
  // A garage door says On and Off of itself, and shows Open and Closed.
  const wish = (opens ? (byLabel ?? byUse) : (byUse ?? byLabel)) ?? (range === undefined ? 'label' : 'level')
  const [minimum, maximum] = [numberAt(range ?? {}, 'from'), numberAt(range ?? {}, 'to')]
  if (range !== undefined && (wish === 'level' || wish === 'temperature'))
    return [
      {
        wish,
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
        callFor: (wanted) => setCall(ref, { value: wanted ?? maximum ?? 0 }),
      },
    ]
  if (wish === 'colour')
    return [{ wish, callFor: (colour) => setCall(ref, { text: (colour ?? 0).toString(16).padStart(6, '0') }) }]
  // A text box takes what only a person can say; it is not offered here.
  if (value === undefined) return []
  return [
    {
      wish: wish === 'level' || wish === 'temperature' ? 'label' : wish,
      label,
      callFor: () => setCall(ref, { value }),
    },
  ]
}

function setCall(ref: number, told: JsonObject): ThingCall {
  return { tool: 'hs4.devices.set', arguments: { ref, ...told } }
}
