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
import { CONTROL_TYPE } from '../wire/control-use.ts'
import { MISC_FLAGS, type HomeseerDeviceRecord } from '../wire/device.ts'
import type { DeviceCapability } from './capability.ts'
import { hasWord, findWordIn, readWordSet, type WordSet } from './word.ts'
import {
  ALARM_NAMES,
  ARM_LABELS,
  BARRIER_TYPES,
  BLIND_NAMES,
  DOOR_NAMES,
  FAN_NAMES,
  GARAGE_NAMES,
  GATE_NAMES,
  HARMLESS_NAMES,
  HEATER_NAMES,
  HOUSE_NAMES,
  LIGHT_NAMES,
  LOCK_NAMES,
  LOCK_TYPES,
  MAIN_SUPPLY_NAMES,
  MODE_LABELS,
  MODE_NAMES,
  OPEN_LABELS,
  OUTLET_NAMES,
  RELAY_NAMES,
  SECURITY_NAMES,
  SECURITY_PLUG_INS,
  SIREN_NAMES,
  SOUND_TYPES,
  SWITCH_LABELS,
  UNLOCK_LABELS,
  VALVE_NAMES,
  WINDOW_NAMES,
} from './word-table.ts'

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

export interface ClassEvidence {
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
  readonly name: WordSet
  readonly place: WordSet
  readonly type: WordSet
  readonly plugIn: WordSet
  readonly labels: WordSet
  readonly status: WordSet
}

/** The device's own class; what it shares with its relatives is added by the house, which knows them. */
export function classifyDevice({ record, controls, capabilities, owner }: ClassEvidence): DeviceClass {
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
    name: readWordSet(record.name, record.voiceCommand),
    place: readWordSet(record.location, record.location2),
    type: readWordSet(record.typeString),
    // Also unsplit: `MyQ` is one word.
    plugIn: readWordSet(record.interfaceName, record.interfaceName.toLowerCase()),
    labels: readWordSet(...controls.map(({ label }) => label)),
    status: readWordSet(record.status),
  }
}

function flagReasons(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[] | undefined,
): readonly { readonly reason: SensitivityReason; readonly evidence: string }[] {
  return [
    ...((record.misc & MISC_FLAGS.voiceConfirm) === 0
      ? []
      : [{ reason: 'voice-confirm' as const, evidence: 'HomeSeer asks back when it is told by voice' }]),
    ...(controls?.some((pair) => pair.type === CONTROL_TYPE.scriptButton) === true
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
  if (hasWord(type, LOCK_TYPES)) return `type ${record.typeString}`
  if (isCommandClass(signs, LOCK_CLASSES) || (api === HS4_DEVICE_API && number === HS4_LOCK_TYPE))
    return 'HomeSeer’s type is a lock'
  if (capabilities.includes('lock')) return 'a control that locks'
  return (
    said('label', findWordIn(labels, UNLOCK_LABELS)) ??
    said('name', findWordIn(name, LOCK_NAMES)) ??
    (controls.length > 0 ? said('status', findWordIn(status, UNLOCK_LABELS)) : undefined)
  )
}

function doorSign(signs: Signs): string | undefined {
  const { record, controls, name, place, type, plugIn, labels } = signs
  const { api, type: number } = record.deviceType
  if (controls.length === 0) return undefined
  if (hasWord(type, BARRIER_TYPES)) return `type ${record.typeString}`
  if (isCommandClass(signs, new Set([BARRIER_CLASS])) || (api === HS4_DEVICE_API && number === HS4_DOOR_TYPE))
    return 'HomeSeer’s type is a door'
  const plug = findWordIn(plugIn, SECURITY_PLUG_INS)
  if (plug !== undefined) return `plug-in ${plug}`
  const gate = findWordIn(name, GATE_NAMES)
  if (gate !== undefined && !isLight(signs)) return `name ${gate}`
  const opens = findWordIn(labels, OPEN_LABELS)
  const atGarage = findWordIn(name, GARAGE_NAMES) ?? findWordIn(place, GARAGE_NAMES)
  if (opens !== undefined && atGarage !== undefined) return `label ${opens}, ${atGarage}`
  const isKnownOtherwise = hasWord(name, HARMLESS_NAMES) || isLight(signs)
  const door = findWordIn(name, DOOR_NAMES)
  if (door !== undefined && !isKnownOtherwise) return `name ${door}`
  const garage = findWordIn(name, GARAGE_NAMES)
  if (garage !== undefined && !isKnownOtherwise && !isClimate(signs)) return `name ${garage}`
  if (hasWord(place, GARAGE_NAMES) && hasWord(name, RELAY_NAMES)) return 'a relay in the garage'
  // Nothing says what it is that opens: it may be the way in.
  if (opens !== undefined && !isBlind(signs) && !isValve(signs)) return `label ${opens}`
  return undefined
}

function alarmSign(signs: Signs): string | undefined {
  const { record, controls, name, type, labels, status } = signs
  if (controls.length > 0 && (hasWord(type, SOUND_TYPES) || isCommandClass(signs, new Set([SOUND_CLASS]))))
    return `type ${record.typeString}`
  if (record.deviceType.api === SECURITY_API) return 'HomeSeer’s type is a security device'
  const named = findWordIn(name, ALARM_NAMES) ?? findWordIn(name, SIREN_NAMES)
  const guards = hasWord(name, HARMLESS_NAMES) ? undefined : findWordIn(name, SECURITY_NAMES)
  return (
    said('label', findWordIn(labels, ARM_LABELS)) ??
    said('name', named ?? guards) ??
    (controls.length > 0 ? said('type', findWordIn(type, ALARM_NAMES)) : undefined) ??
    (controls.length > 0 ? said('status', findWordIn(status, ARM_LABELS)) : undefined)
  )
}

/** Virtual devices that alarms follow. */
function modeSign(signs: Signs): string | undefined {
  const { controls, name, labels } = signs
  if (controls.length === 0 || isClimate(signs)) return undefined
  const modes = [...labels.plain].filter((word) => MODE_LABELS.exact.has(word))
  if (modes.length >= 2) return `labels ${modes.slice(0, 3).join(', ')}`
  const mode = findWordIn(name, MODE_NAMES)
  return mode !== undefined && hasWord(name, HOUSE_NAMES) ? `name ${mode}` : undefined
}

function mainValveSign(signs: Signs): string | undefined {
  const { controls, name, type } = signs
  if (controls.length === 0) return undefined
  const supplies = findWordIn(name, MAIN_SUPPLY_NAMES) ?? findWordIn(type, MAIN_SUPPLY_NAMES)
  const shuts = isValve(signs) || hasWord(name, SUPPLIES) || hasWord(type, SUPPLIES)
  return supplies !== undefined && shuts ? said('name', supplies) : undefined
}

const SUPPLIES = { ...VALVE_NAMES, exact: new Set([...VALVE_NAMES.exact, 'water', 'gas', 'wasser', 'eau', 'agua']) }

function isLight({ record, capabilities, name }: Signs): boolean {
  return (record.misc & MISC_FLAGS.isLight) !== 0 || capabilities.includes('color') || hasWord(name, LIGHT_NAMES)
}

function isBlind({ name, type }: Signs): boolean {
  return hasWord(name, BLIND_NAMES) || hasWord(type, BLIND_NAMES)
}

function isValve({ name, type }: Signs): boolean {
  return hasWord(name, VALVE_NAMES) || hasWord(type, VALVE_NAMES)
}

function isClimate({ capabilities, name }: Signs): boolean {
  return (
    capabilities.some((one) => one === 'setpoint' || one === 'thermostat_mode' || one === 'fan') ||
    name.plain.has('thermostat') ||
    hasWord(name, HEATER_NAMES)
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
  if (can('fan') || hasWord(name, FAN_NAMES)) return 'fan'
  if (can('media', 'volume')) return 'media'
  if (isLight(signs)) return 'light'
  if (hasWord(name, HEATER_NAMES)) return 'heater'
  if (hasWord(name, OUTLET_NAMES)) return 'outlet'
  if (hasWord(labels, OPEN_LABELS) || hasWord(name, WINDOW_NAMES)) return 'blind'
  if (can('dimmer') || hasWord(type, LIGHT_NAMES)) return 'light'
  if (can('text')) return 'text'
  return can('on_off') || hasWord(labels, SWITCH_LABELS) ? 'switch' : 'other'
}
