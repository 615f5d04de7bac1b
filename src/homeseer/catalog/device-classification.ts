/**
 * Classify: what kind of thing a device is, and why changing it may need a person's consent, from everything that
 * HomeSeer says about it. Each reason bears its evidence, so that the owner can see what a guess rests on.
 *
 *   type strings and numbers ▸ ControlUse ▸ labels of the buttons ▸ plug-in ▸ name ▸ place
 *
 * A door must not open because a table was too narrow: what opens and closes and is not known to be a blind or a valve
 * counts as a door. The owner's word replaces all of it.
 */
import type { HOMESEER_DEVICE_KINDS } from '../../config/homeseer.ts'
import type { ControlPair } from '../wire/device.ts'
import { CONTROL_TYPE_CODES } from '../wire/control-use.ts'
import { DEVICE_MISC_FLAGS, type HomeseerDeviceRecord } from '../wire/device.ts'
import type { DeviceCapability } from './device-capabilities.ts'
import {
  hasWordInTable,
  findWordInTable,
  splitDeviceNameWords,
  type PlainAndAccentedWords,
} from './device-name-words.ts'
import {
  ALARM_WORDS,
  ALARM_ARMING_CONTROL_LABELS,
  BARRIER_DEVICE_TYPE_WORDS,
  BLIND_WORDS,
  DOOR_WORDS,
  FAN_WORDS,
  GARAGE_WORDS,
  GATE_WORDS,
  HARMLESS_DEVICE_WORDS,
  HEATER_WORDS,
  HOUSE_MODE_WORDS,
  LIGHT_WORDS,
  LOCK_WORDS,
  LOCK_DEVICE_TYPE_WORDS,
  MAIN_SUPPLY_WORDS,
  OCCUPANCY_MODE_CONTROL_LABELS,
  MODE_WORDS,
  OPEN_CLOSE_CONTROL_LABELS,
  OUTLET_WORDS,
  RELAY_WORDS,
  SECURITY_WORDS,
  SECURITY_PLUGIN_WORDS,
  SIREN_WORDS,
  SIREN_DEVICE_TYPE_WORDS,
  ON_OFF_CONTROL_LABELS,
  UNLOCK_CONTROL_LABELS,
  VALVE_WORDS,
  WINDOW_WORDS,
} from './device-word-tables.ts'

export type DeviceKind = (typeof HOMESEER_DEVICE_KINDS)[number]

export type SensitivityReason =
  | 'lock'
  | 'door-or-gate'
  | 'alarm'
  | 'house-mode'
  | 'main-valve'
  | 'voice-confirm'
  | 'runs-script'
  /** It may be any of these: HomeSeer has not said yet what it can be told. */
  | 'controls-unknown'
  | 'relative'

export interface DeviceClass {
  readonly kind: DeviceKind
  readonly reasons: readonly SensitivityReason[]
  /** What it rests on, for people: `label Unlock`, `name portail`. */
  readonly evidence: readonly string[]
}

/** Kinds of which the owner's word alone makes a device sensitive. */
const BY_KIND: Partial<Record<DeviceKind, SensitivityReason>> = {
  lock: 'lock',
  door: 'door-or-gate',
  alarm: 'alarm',
  house_mode: 'house-mode',
  main_valve: 'main-valve',
}

export interface DeviceClassEvidence {
  readonly record: HomeseerDeviceRecord
  /** `undefined` where HomeSeer could not be asked. */
  readonly controls: readonly ControlPair[] | undefined
  readonly capabilities: readonly DeviceCapability[]
  /** What the owner says it is. */
  readonly owner?: DeviceKind | undefined
}

interface Signs {
  readonly record: HomeseerDeviceRecord
  readonly controls: readonly ControlPair[]
  readonly capabilities: readonly DeviceCapability[]
  readonly name: PlainAndAccentedWords
  readonly place: PlainAndAccentedWords
  readonly type: PlainAndAccentedWords
  readonly plugIn: PlainAndAccentedWords
  readonly labels: PlainAndAccentedWords
  readonly status: PlainAndAccentedWords
}

/** The device's own class; what it shares with its relatives is added by the house, which knows them. */
export function classifyDevice({ record, controls, capabilities, owner }: DeviceClassEvidence): DeviceClass {
  if (owner !== undefined) {
    const reason = BY_KIND[owner]
    return { kind: owner, reasons: reason === undefined ? [] : [reason], evidence: ['the owner says so'] }
  }
  const flags = flagReasons(record, controls)
  const signs = signsOf(record, controls ?? [], capabilities)
  const found = SENSITIVE.flatMap(({ reason, kind, sign }) => {
    const evidence = sign(signs)
    return evidence === undefined ? [] : [{ reason, kind, evidence }]
  })
  const [first] = found
  return {
    kind: first?.kind ?? ordinaryKind(signs),
    reasons: [...found.map(({ reason }) => reason), ...flags.map(({ reason }) => reason)],
    evidence: [...found, ...flags].map(({ evidence }) => evidence),
  }
}

function signsOf(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[],
  capabilities: readonly DeviceCapability[],
): Signs {
  return {
    record,
    controls,
    capabilities,
    name: splitDeviceNameWords(record.name, record.voiceCommand),
    place: splitDeviceNameWords(record.location, record.location2),
    type: splitDeviceNameWords(record.typeString),
    // Also unsplit: `MyQ` is one word.
    plugIn: splitDeviceNameWords(record.interfaceName, record.interfaceName.toLowerCase()),
    labels: splitDeviceNameWords(...controls.map(({ label }) => label)),
    status: splitDeviceNameWords(record.status),
  }
}

function flagReasons(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[] | undefined,
): readonly { readonly reason: SensitivityReason; readonly evidence: string }[] {
  return [
    ...((record.misc & DEVICE_MISC_FLAGS.voiceConfirm) === 0
      ? []
      : [{ reason: 'voice-confirm' as const, evidence: 'HomeSeer asks back when it is told by voice' }]),
    ...(controls?.some((pair) => pair.type === CONTROL_TYPE_CODES.scriptButton) === true
      ? [{ reason: 'runs-script' as const, evidence: 'a button runs a script' }]
      : []),
    ...(controls === undefined
      ? [{ reason: 'controls-unknown' as const, evidence: 'HomeSeer has not said what it can be told' }]
      : []),
  ]
}

type Sign = (signs: Signs) => string | undefined

const SENSITIVE: readonly { readonly reason: SensitivityReason; readonly kind: DeviceKind; readonly sign: Sign }[] = [
  { reason: 'lock', kind: 'lock', sign: lockSign },
  { reason: 'door-or-gate', kind: 'door', sign: doorSign },
  { reason: 'alarm', kind: 'alarm', sign: alarmSign },
  { reason: 'house-mode', kind: 'house_mode', sign: modeSign },
  { reason: 'main-valve', kind: 'main_valve', sign: mainValveSign },
]

/** Device_SubType of a Z-Wave feature is its command class: lock, door lock, its log and its codes. */
const LOCK_CLASSES: ReadonlySet<number> = new Set([0x62, 0x76, 0x4c, 0x63])
const BARRIER_CLASS = 0x66
const SOUND_CLASS = 0x79
/** HS3's number for the security API; HS4's device types for a door and a lock. */
const SECURITY_API = 8
const HS4_DEVICE_API = 512
const HS4_DOOR_TYPE = 1
const HS4_LOCK_TYPE = 4

function lockSign(signs: Signs): string | undefined {
  const { record, controls, capabilities, name, type, labels, status } = signs
  const { api, type: number } = record.deviceType
  if (hasWordInTable(type, LOCK_DEVICE_TYPE_WORDS)) return `type ${record.typeString}`
  if (isCommandClass(signs, LOCK_CLASSES) || (api === HS4_DEVICE_API && number === HS4_LOCK_TYPE))
    return 'HomeSeer’s type is a lock'
  if (capabilities.includes('lock')) return 'a control that locks'
  return (
    said('label', findWordInTable(labels, UNLOCK_CONTROL_LABELS)) ??
    said('name', findWordInTable(name, LOCK_WORDS)) ??
    (controls.length > 0 ? said('status', findWordInTable(status, UNLOCK_CONTROL_LABELS)) : undefined)
  )
}

function doorSign(signs: Signs): string | undefined {
  const { record, controls, name, place, type, plugIn, labels } = signs
  const { api, type: number } = record.deviceType
  if (controls.length === 0) return undefined
  if (hasWordInTable(type, BARRIER_DEVICE_TYPE_WORDS)) return `type ${record.typeString}`
  if (isCommandClass(signs, new Set([BARRIER_CLASS])) || (api === HS4_DEVICE_API && number === HS4_DOOR_TYPE))
    return 'HomeSeer’s type is a door'
  const plug = findWordInTable(plugIn, SECURITY_PLUGIN_WORDS)
  if (plug !== undefined) return `plug-in ${plug}`
  const gate = findWordInTable(name, GATE_WORDS)
  if (gate !== undefined && !isLight(signs)) return `name ${gate}`
  const opens = findWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS)
  const atGarage = findWordInTable(name, GARAGE_WORDS) ?? findWordInTable(place, GARAGE_WORDS)
  if (opens !== undefined && atGarage !== undefined) return `label ${opens}, ${atGarage}`
  const isKnownOtherwise = hasWordInTable(name, HARMLESS_DEVICE_WORDS) || isLight(signs)
  const door = findWordInTable(name, DOOR_WORDS)
  if (door !== undefined && !isKnownOtherwise) return `name ${door}`
  const garage = findWordInTable(name, GARAGE_WORDS)
  if (garage !== undefined && !isKnownOtherwise && !isClimate(signs)) return `name ${garage}`
  if (hasWordInTable(place, GARAGE_WORDS) && hasWordInTable(name, RELAY_WORDS)) return 'a relay in the garage'
  // Nothing says what it is that opens: it may be the way in.
  if (opens !== undefined && !isBlind(signs) && !isValve(signs)) return `label ${opens}`
  return undefined
}

function alarmSign(signs: Signs): string | undefined {
  const { record, controls, name, type, labels, status } = signs
  if (
    controls.length > 0 &&
    (hasWordInTable(type, SIREN_DEVICE_TYPE_WORDS) || isCommandClass(signs, new Set([SOUND_CLASS])))
  )
    return `type ${record.typeString}`
  if (record.deviceType.api === SECURITY_API) return 'HomeSeer’s type is a security device'
  const named = findWordInTable(name, ALARM_WORDS) ?? findWordInTable(name, SIREN_WORDS)
  const guards = hasWordInTable(name, HARMLESS_DEVICE_WORDS) ? undefined : findWordInTable(name, SECURITY_WORDS)
  return (
    said('label', findWordInTable(labels, ALARM_ARMING_CONTROL_LABELS)) ??
    said('name', named ?? guards) ??
    (controls.length > 0 ? said('type', findWordInTable(type, ALARM_WORDS)) : undefined) ??
    (controls.length > 0 ? said('status', findWordInTable(status, ALARM_ARMING_CONTROL_LABELS)) : undefined)
  )
}

/** Virtual devices that alarms follow. */
function modeSign(signs: Signs): string | undefined {
  const { controls, name, labels } = signs
  if (controls.length === 0 || isClimate(signs)) return undefined
  const modes = [...labels.plain].filter((word) => OCCUPANCY_MODE_CONTROL_LABELS.exact.has(word))
  if (modes.length >= 2) return `labels ${modes.slice(0, 3).join(', ')}`
  const mode = findWordInTable(name, MODE_WORDS)
  return mode !== undefined && hasWordInTable(name, HOUSE_MODE_WORDS) ? `name ${mode}` : undefined
}

function mainValveSign(signs: Signs): string | undefined {
  const { controls, name, type } = signs
  if (controls.length === 0) return undefined
  const supplies = findWordInTable(name, MAIN_SUPPLY_WORDS) ?? findWordInTable(type, MAIN_SUPPLY_WORDS)
  const shuts = isValve(signs) || hasWordInTable(name, SUPPLIES) || hasWordInTable(type, SUPPLIES)
  return supplies !== undefined && shuts ? said('name', supplies) : undefined
}

const SUPPLIES = { ...VALVE_WORDS, exact: new Set([...VALVE_WORDS.exact, 'water', 'gas', 'wasser', 'eau', 'agua']) }

function isLight({ record, capabilities, name }: Signs): boolean {
  return (
    (record.misc & DEVICE_MISC_FLAGS.isLight) !== 0 ||
    capabilities.includes('color') ||
    hasWordInTable(name, LIGHT_WORDS)
  )
}

function isBlind({ name, type }: Signs): boolean {
  return hasWordInTable(name, BLIND_WORDS) || hasWordInTable(type, BLIND_WORDS)
}

function isValve({ name, type }: Signs): boolean {
  return hasWordInTable(name, VALVE_WORDS) || hasWordInTable(type, VALVE_WORDS)
}

function isClimate({ capabilities, name }: Signs): boolean {
  return (
    capabilities.some((one) => one === 'setpoint' || one === 'thermostat_mode' || one === 'fan') ||
    name.plain.has('thermostat') ||
    hasWordInTable(name, HEATER_WORDS)
  )
}

function isCommandClass({ record, plugIn, type }: Signs, classes: ReadonlySet<number>): boolean {
  const isZWave = plugIn.plain.has('wave') || plugIn.plain.has('zwave') || type.plain.has('wave')
  return isZWave && record.deviceType.type === 0 && classes.has(record.deviceType.subType)
}

function said(where: string, word: string | undefined): string | undefined {
  return word === undefined ? undefined : `${where} ${word}`
}

/** What nobody has to be asked about, from the most to the least telling sign. */
function ordinaryKind(signs: Signs): DeviceKind {
  const { controls, capabilities, name, type, labels, record } = signs
  const can = (...wanted: readonly DeviceCapability[]) => wanted.some((one) => capabilities.includes(one))
  if (controls.length === 0) return record.relationship === 2 ? 'group' : 'sensor'
  if (isBlind(signs)) return 'blind'
  if (isValve(signs)) return 'valve'
  if (can('setpoint', 'thermostat_mode')) return 'thermostat'
  if (can('fan') || hasWordInTable(name, FAN_WORDS)) return 'fan'
  if (can('media', 'volume')) return 'media'
  if (isLight(signs)) return 'light'
  if (hasWordInTable(name, HEATER_WORDS)) return 'heater'
  if (hasWordInTable(name, OUTLET_WORDS)) return 'outlet'
  if (hasWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS) || hasWordInTable(name, WINDOW_WORDS)) return 'blind'
  if (can('dimmer') || hasWordInTable(type, LIGHT_WORDS)) return 'light'
  if (can('text')) return 'text'
  return can('on_off') || hasWordInTable(labels, ON_OFF_CONTROL_LABELS) ? 'switch' : 'other'
}
