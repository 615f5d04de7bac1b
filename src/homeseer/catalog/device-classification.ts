/**
 * Device classification: what kind of thing a device is, and why changing it may need a person's consent, from everything that
 * HomeSeer says about it. Each reason bears its evidence, so that the owner can see what a guess rests on.
 *
 *   type strings and numbers ▸ ControlUse ▸ labels of the buttons ▸ plug-in ▸ name ▸ place
 *
 * A door must not open because a word is missing in a table: a device that opens and closes and is not known to be a
 * blind or a valve counts as a door. The owner's class replaces the result.
 */
import type { HOMESEER_DEVICE_KINDS } from '../../config/homeseer.ts'
import type { ControlPair } from '../wire/device.ts'
import { CONTROL_TYPE_CODES } from '../wire/control-use.ts'
import { DEVICE_MISC_FLAGS, type HomeseerDeviceRecord } from '../wire/device.ts'
import type { DeviceCapability } from './device-capabilities.ts'
import { HARMLESS_CONTROL_LABELS, ON_OFF_CONTROL_LABELS, OPEN_CLOSE_CONTROL_LABELS } from './control-label-tables.ts'
import { FAN_WORDS, HEATER_WORDS, LIGHT_WORDS, MEDIA_WORDS, OUTLET_WORDS, SCENE_WORDS } from './device-name-tables.ts'
import { hasWordInTable, splitDeviceNameWords } from './device-name-word-matching.ts'
import {
  extractDeviceKindFeatures,
  isLight,
  isBlind,
  isValve,
  type DeviceKindFeatures,
} from './device-kind-features.ts'
import {
  findAlarmEvidence,
  findDoorEvidence,
  findHouseModeEvidence,
  findLockEvidence,
  findMainValveEvidence,
} from './sensitivity-evidence.ts'

export type DeviceKind = (typeof HOMESEER_DEVICE_KINDS)[number]

export type SensitivityReason =
  | 'lock'
  | 'door-or-gate'
  | 'alarm'
  | 'house-mode'
  | 'main-valve'
  | 'voice-confirm'
  | 'runs-script'
  /** The device may be any of these: its controls are unknown, or nobody here can read its labels and its name. */
  | 'controls-unknown'
  | 'relative'

export interface DeviceClassification {
  readonly kind: DeviceKind
  readonly reasons: readonly SensitivityReason[]
  /** The evidence, for people: `label Unlock`, `name portail`. */
  readonly evidence: readonly string[]
}

/** Kinds that make a device sensitive if the owner assigns them. */
const BY_KIND: Partial<Record<DeviceKind, SensitivityReason>> = {
  lock: 'lock',
  door: 'door-or-gate',
  alarm: 'alarm',
  house_mode: 'house-mode',
  main_valve: 'main-valve',
}

export interface DeviceClassificationInput {
  readonly record: HomeseerDeviceRecord
  /** The control pairs; `undefined` if HomeSeer could not be asked. */
  readonly controls: readonly ControlPair[] | undefined
  readonly capabilities: readonly DeviceCapability[]
  /** The class that the owner assigned. */
  readonly owner?: DeviceKind | undefined
}

/** The device's own class; the catalog adds what it shares with its relatives. */
export function classifyDevice({
  record,
  controls,
  capabilities,
  owner,
}: DeviceClassificationInput): DeviceClassification {
  if (owner !== undefined) {
    const reason = BY_KIND[owner]
    return { kind: owner, reasons: reason === undefined ? [] : [reason], evidence: ['the owner says so'] }
  }
  const flags = flagReasons(record, controls)
  const signs = extractDeviceKindFeatures(record, controls ?? [], capabilities)
  const found = SENSITIVE.flatMap(({ reason, kind, find }) => {
    const evidence = find(signs)
    return evidence === undefined ? [] : [{ reason, kind, evidence }]
  })
  const [first] = found
  const kind = first?.kind ?? ordinaryKind(signs)
  const unrecognised = first === undefined ? findUnrecognisedEvidence(signs, kind) : undefined
  const unknown = unrecognised === undefined ? [] : [{ reason: 'controls-unknown' as const, evidence: unrecognised }]
  const all = [...found, ...flags, ...unknown]
  return { kind, reasons: all.map(({ reason }) => reason), evidence: all.map(({ evidence }) => evidence) }
}

const SENSITIVE: readonly {
  readonly reason: SensitivityReason
  readonly kind: DeviceKind
  readonly find: (signs: DeviceKindFeatures) => string | undefined
}[] = [
  { reason: 'lock', kind: 'lock', find: findLockEvidence },
  { reason: 'door-or-gate', kind: 'door', find: findDoorEvidence },
  { reason: 'alarm', kind: 'alarm', find: findAlarmEvidence },
  { reason: 'house-mode', kind: 'house_mode', find: findHouseModeEvidence },
  { reason: 'main-valve', kind: 'main_valve', find: findMainValveEvidence },
]

function flagReasons(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[] | undefined,
): readonly { readonly reason: SensitivityReason; readonly evidence: string }[] {
  return [
    ...((record.misc & DEVICE_MISC_FLAGS.voiceConfirm) === 0
      ? []
      : [{ reason: 'voice-confirm' as const, evidence: 'HomeSeer asks for confirmation when it is set by voice' }]),
    ...(controls?.some((pair) => pair.type === CONTROL_TYPE_CODES.scriptButton) === true
      ? [{ reason: 'runs-script' as const, evidence: 'a button runs a script' }]
      : []),
    ...(controls === undefined
      ? [{ reason: 'controls-unknown' as const, evidence: 'HomeSeer has not listed its controls' }]
      : []),
  ]
}

/** Letters of scripts for which the tables have no words. */
const FOREIGN_LETTER =
  /(?![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Common}\p{Script=Inherited}])\p{L}/u

/** Nothing identifies the device, and its texts are in a script that nobody here can read, so it may be a door. */
function findUnrecognisedEvidence(
  { record, controls, name }: DeviceKindFeatures,
  kind: DeviceKind,
): string | undefined {
  if (controls.length === 0 || (kind !== 'switch' && kind !== 'other')) return undefined
  if (FOREIGN_LETTER.test(record.name)) return 'a name in a script that is not recognised'
  if (kind !== 'other' || hasWordInTable(name, SCENE_WORDS) || hasWordInTable(name, MEDIA_WORDS)) return undefined
  const isUnrecognised = controls.every((pair) => !isUnderstoodControl(pair))
  return isUnrecognised
    ? `labels that are not recognised: ${controls
        .map(({ label }) => label)
        .slice(0, 3)
        .join(', ')}`
    : undefined
}

function isUnderstoodControl({ use, label, range }: ControlPair): boolean {
  if (use !== 'None' || range !== undefined || !/\p{L}/u.test(label) || /\d/.test(label)) return true
  return hasWordInTable(splitDeviceNameWords(label), HARMLESS_CONTROL_LABELS)
}

/** The kind of a device that needs no approval, from the strongest to the weakest sign. */
function ordinaryKind(signs: DeviceKindFeatures): DeviceKind {
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
  if (hasWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS)) return 'blind'
  if (can('dimmer') || hasWordInTable(type, LIGHT_WORDS)) return 'light'
  if (can('text')) return 'text'
  return can('on_off') || hasWordInTable(labels, ON_OFF_CONTROL_LABELS) ? 'switch' : 'other'
}
