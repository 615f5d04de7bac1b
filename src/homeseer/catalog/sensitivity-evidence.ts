/**
 * Sensitivity evidence: the signs that a device locks, opens, guards or supplies the house, in words for the owner
 * (`label Unlock`, `name portail`).
 *
 *   type strings and numbers ▸ ControlUse ▸ labels of the buttons ▸ plug-in ▸ name ▸ place ▸ status and picture
 *
 * A door must not open because a word is missing in a table: a device that opens and closes and is not known to be a
 * blind or a valve counts as a door.
 */
import {
  ALARM_ARMING_CONTROL_LABELS,
  OCCUPANCY_MODE_CONTROL_LABELS,
  OPEN_CLOSE_CONTROL_LABELS,
  LOCK_AND_UNLOCK_CONTROL_LABELS,
} from './control-label-tables.ts'
import {
  ALARM_CLOCK_WORDS,
  ALARM_WORDS,
  BARRIER_DEVICE_TYPE_WORDS,
  DOOR_WORDS,
  GARAGE_WORDS,
  GAS_WORDS,
  GATE_WORDS,
  HARMLESS_DEVICE_WORDS,
  HOUSE_MODE_WORDS,
  LOCK_WORDS,
  MAIN_SHUTOFF_WORDS,
  MODE_WORDS,
  RELAY_WORDS,
  SECURITY_PLUGIN_WORDS,
  SECURITY_WORDS,
  SIREN_DEVICE_TYPE_WORDS,
  SIREN_WORDS,
  WATER_AND_POWER_WORDS,
  WINDOW_WORDS,
} from './device-name-tables.ts'
import {
  findWordInTable,
  hasWordInTable,
  listWordsInTable,
  type NameWordSpellings,
} from './device-name-word-matching.ts'
import {
  isLampByNameOrDimmer,
  isBlind,
  isValve,
  isClimate,
  hasZwaveCommandClass,
  type DeviceKindFeatures,
} from './device-kind-features.ts'

/** Device_SubType of a Z-Wave feature is its command class: lock, door lock, its log and its codes. */
const LOCK_CLASSES: ReadonlySet<number> = new Set([0x62, 0x76, 0x4c, 0x63])
const BARRIER_CLASS = 0x66
const SOUND_CLASS = 0x79
/** HS3's number for the security API; HS4's device types for a door and a lock. */
const SECURITY_API = 8
const HS4_DEVICE_API = 512
const HS4_DOOR_TYPE = 1
const HS4_LOCK_TYPE = 4

export function findLockEvidence(signs: DeviceKindFeatures): string | undefined {
  const { record, controls, capabilities, name, type, labels, status, image } = signs
  const { api, type: number } = record.deviceType
  if (hasWordInTable(type, LOCK_WORDS)) return `type ${record.typeString}`
  if (hasZwaveCommandClass(signs, LOCK_CLASSES) || (api === HS4_DEVICE_API && number === HS4_LOCK_TYPE))
    return 'HomeSeer’s type is a lock'
  if (capabilities.includes('lock')) return 'a control that locks'
  const named =
    describeEvidence('label', findWordInTable(labels, LOCK_AND_UNLOCK_CONTROL_LABELS)) ??
    describeEvidence('name', findWordInTable(name, LOCK_WORDS))
  if (named !== undefined || controls.length === 0) return named
  return (
    describeEvidence('status', findWordInTable(status, LOCK_AND_UNLOCK_CONTROL_LABELS)) ??
    describeEvidence(
      'picture',
      findWordInTable(image, LOCK_AND_UNLOCK_CONTROL_LABELS) ?? findWordInTable(image, LOCK_WORDS),
    )
  )
}

export function findDoorEvidence(signs: DeviceKindFeatures): string | undefined {
  const { record, controls, plugIn } = signs
  const { api, type: number } = record.deviceType
  if (controls.length === 0) return undefined
  const type = findWordInTable(signs.type, BARRIER_DEVICE_TYPE_WORDS) ?? findWayInWord(signs.type)
  if (type !== undefined) return `type ${record.typeString}`
  if (hasZwaveCommandClass(signs, new Set([BARRIER_CLASS])) || (api === HS4_DEVICE_API && number === HS4_DOOR_TYPE))
    return 'HomeSeer’s type is a door'
  return (
    describeEvidence('plug-in', findWordInTable(plugIn, SECURITY_PLUGIN_WORDS)) ??
    findDoorNameEvidence(signs) ??
    findDoorPlaceEvidence(signs) ??
    findOpeningEvidence(signs)
  )
}

function findWayInWord(words: NameWordSpellings): string | undefined {
  return (
    findWordInTable(words, GATE_WORDS) ?? findWordInTable(words, DOOR_WORDS) ?? findWordInTable(words, GARAGE_WORDS)
  )
}

function findDoorNameEvidence(signs: DeviceKindFeatures): string | undefined {
  const { name, image } = signs
  // HomeSeer marks any switch as a light; at a door, only a name or a dimmer proves that it is one.
  const isLamp = isLampByNameOrDimmer(signs)
  const gate = isLamp ? undefined : findWordInTable(name, GATE_WORDS)
  if (gate !== undefined) return `name ${gate}`
  if (isLamp || hasWordInTable(name, HARMLESS_DEVICE_WORDS)) return undefined
  const window = isBlind(signs) ? undefined : findWordInTable(name, WINDOW_WORDS)
  const garage = isClimate(signs) ? undefined : findWordInTable(name, GARAGE_WORDS)
  return (
    describeEvidence('name', findWordInTable(name, DOOR_WORDS) ?? window ?? garage) ??
    describeEvidence('picture', findWayInWord(image))
  )
}

/** A device in a garage or at a door that could move a door. */
function findDoorPlaceEvidence(signs: DeviceKindFeatures): string | undefined {
  const { name, place, labels } = signs
  const garage = findWordInTable(name, GARAGE_WORDS) ?? findWordInTable(place, GARAGE_WORDS)
  const opens = findWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS)
  if (garage !== undefined && opens !== undefined) return `label ${opens}, ${garage}`
  if (garage !== undefined && isBlind(signs)) return `a shutter, ${garage}`
  const wayIn = findWayInWord(place)
  return wayIn !== undefined && hasWordInTable(name, RELAY_WORDS) ? `a relay, ${wayIn}` : undefined
}

/** The device opens something unknown, which may be an entrance. */
function findOpeningEvidence(signs: DeviceKindFeatures): string | undefined {
  const { capabilities, labels, status } = signs
  if (isBlind(signs) || isValve(signs)) return undefined
  const opens = describeEvidence('label', findWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS))
  if (opens !== undefined || capabilities.includes('text') || isLampByNameOrDimmer(signs)) return opens
  return describeEvidence('status', findWordInTable(status, OPEN_CLOSE_CONTROL_LABELS))
}

export function findAlarmEvidence(signs: DeviceKindFeatures): string | undefined {
  const { record, controls, name, type, labels, status } = signs
  if (
    controls.length > 0 &&
    (hasWordInTable(type, SIREN_DEVICE_TYPE_WORDS) || hasZwaveCommandClass(signs, new Set([SOUND_CLASS])))
  )
    return `type ${record.typeString}`
  if (record.deviceType.api === SECURITY_API) return 'HomeSeer’s type is a security device'
  const isHarmless = hasWordInTable(name, HARMLESS_DEVICE_WORDS)
  const named = hasWordInTable(name, ALARM_CLOCK_WORDS) ? undefined : findAlarmWord(name)
  const guards = isHarmless ? undefined : findWordInTable(name, SECURITY_WORDS)
  const found =
    describeEvidence('label', findWordInTable(labels, ALARM_ARMING_CONTROL_LABELS) ?? findAlarmWord(labels)) ??
    describeEvidence('name', named ?? guards)
  if (found !== undefined || controls.length === 0) return found
  return (
    describeEvidence('type', findAlarmWord(type) ?? findWordInTable(type, SECURITY_WORDS)) ??
    describeEvidence('status', findWordInTable(status, ALARM_ARMING_CONTROL_LABELS))
  )
}

function findAlarmWord(words: NameWordSpellings): string | undefined {
  return findWordInTable(words, ALARM_WORDS) ?? findWordInTable(words, SIREN_WORDS)
}

/** Virtual devices that alarm systems follow. */
export function findHouseModeEvidence(signs: DeviceKindFeatures): string | undefined {
  const { controls, name, labels } = signs
  if (controls.length === 0 || isClimate(signs)) return undefined
  const modes = listWordsInTable(labels, OCCUPANCY_MODE_CONTROL_LABELS)
  if (modes.length >= 2) return `labels ${modes.slice(0, 3).join(', ')}`
  const mode = findWordInTable(name, MODE_WORDS)
  return mode !== undefined && hasWordInTable(name, HOUSE_MODE_WORDS) ? `name ${mode}` : undefined
}

export function findMainValveEvidence(signs: DeviceKindFeatures): string | undefined {
  const { controls, name, type } = signs
  if (controls.length === 0) return undefined
  const gas = findWordInTable(name, GAS_WORDS) ?? findWordInTable(type, GAS_WORDS)
  if (gas !== undefined) return describeEvidence('name', gas)
  const main = findWordInTable(name, MAIN_SHUTOFF_WORDS) ?? findWordInTable(type, MAIN_SHUTOFF_WORDS)
  const shuts =
    isValve(signs) || hasWordInTable(name, WATER_AND_POWER_WORDS) || hasWordInTable(type, WATER_AND_POWER_WORDS)
  return shuts ? describeEvidence('name', main) : undefined
}

function describeEvidence(where: string, word: string | undefined): string | undefined {
  return word === undefined ? undefined : `${where} ${word}`
}
