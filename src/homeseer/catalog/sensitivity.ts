/**
 * Sensitivity: why changing a device needs a person's consent. An empty list means ordinary.
 *
 * A door must not open because a rule was too narrow, so a sign in the name is enough, and what holds for one member of
 * a physical device holds for all its members: a lock is not less a lock when reached by another ref. The owner can
 * lower this in the configuration.
 *
 * Pure.
 */
import type { ControlPair } from '../wire/control-pair.ts'
import { CONTROL_TYPE } from '../wire/control-use.ts'
import { MISC, type DeviceRecord } from '../wire/device.ts'
import type { Capability } from './capability.ts'
import { hasAny, wordsOf } from './word.ts'

export type SensitivityReason =
  | 'lock'
  | 'door-or-gate'
  | 'alarm'
  | 'voice-confirm'
  | 'runs-script'
  /** It may be any of these: HomeSeer has not said yet what it can be told. */
  | 'controls-unknown'
  | 'relative'

const LOCK_WORDS = ['lock', 'locks', 'unlock', 'deadbolt', 'doorlock', 'smartlock', 'schloss', 'turschloss']
const GARAGE_WORDS = ['garage', 'garagen', 'carport']
const DOOR_WORDS = ['door', 'doors', 'opener', 'tur', 'haustur', 'tor']
const GATE_WORDS = ['gate', 'gates', 'garagedoor', 'garagentor', 'hoftor']
const ALARM_WORDS = ['alarm', 'alarms', 'alarmanlage', 'siren', 'sirene', 'burglar', 'panic', 'disarm', 'armed']
/** What stands at a door or a garage without opening it. */
const HARMLESS_WORDS = ['bell', 'doorbell', 'light', 'lights', 'lamp', 'lampe', 'licht', 'led']

/** For an event of which nothing but its name is known: the same signs, wherever they stand. */
export const OMINOUS_WORDS: readonly string[] = [
  ...LOCK_WORDS,
  ...GARAGE_WORDS,
  ...DOOR_WORDS,
  ...GATE_WORDS,
  ...ALARM_WORDS,
  'arm',
  'security',
]

/** HS3's number for the security API and HS4's device type for a lock. */
const SECURITY_API = 8
const HS4_DEVICE_API = 512
const HS4_LOCK_TYPE = 4

export interface SensitivityEvidence {
  readonly record: DeviceRecord
  /** `undefined` where HomeSeer could not be asked. */
  readonly controls: readonly ControlPair[] | undefined
  readonly capabilities: readonly Capability[]
}

/** The device's own reasons; those of its relatives are added by the house, which knows them. */
export function ownSensitivity(evidence: SensitivityEvidence): readonly SensitivityReason[] {
  const { record, controls = [], capabilities } = evidence
  const name = wordsOf(record.name, record.typeString)
  const place = wordsOf(record.location, record.location2)
  const reasons: SensitivityReason[] = []
  if (capabilities.includes('lock') || hasAny(name, LOCK_WORDS) || isLockType(record)) reasons.push('lock')
  if (opensTheHouse({ name, place, controls, capabilities })) reasons.push('door-or-gate')
  const guards = hasAny(name, ALARM_WORDS) || (name.has('security') && !hasAny(name, HARMLESS_WORDS))
  if (guards || record.deviceType.api === SECURITY_API) reasons.push('alarm')
  if ((record.misc & MISC.voiceConfirm) !== 0) reasons.push('voice-confirm')
  if (controls.some((pair) => pair.type === CONTROL_TYPE.scriptButton)) reasons.push('runs-script')
  if (evidence.controls === undefined) reasons.push('controls-unknown')
  return reasons
}

function isLockType(record: DeviceRecord): boolean {
  return record.deviceType.api === HS4_DEVICE_API && record.deviceType.type === HS4_LOCK_TYPE
}

/** The lamp in the garage is a lamp; what opens there, or is called a door there, is the way in. */
function opensTheHouse(signs: {
  readonly name: ReadonlySet<string>
  readonly place: ReadonlySet<string>
  readonly controls: readonly ControlPair[]
  readonly capabilities: readonly Capability[]
}): boolean {
  const { name, place, controls, capabilities } = signs
  if (controls.length === 0) return false
  const atGarage = hasAny(name, GARAGE_WORDS) || hasAny(place, GARAGE_WORDS)
  if (hasAny(name, GATE_WORDS) || (atGarage && capabilities.includes('cover'))) return true
  return hasAny(name, DOOR_WORDS) && !hasAny(name, HARMLESS_WORDS)
}
