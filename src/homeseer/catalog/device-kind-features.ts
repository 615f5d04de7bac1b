/**
 * Device kind features: everything that HomeSeer says about a device, as words to compare with the tables, and what
 * the plainest of it means.
 */
import type { ControlPair } from '../wire/device.ts'
import { DEVICE_MISC_FLAGS, type HomeseerDeviceRecord } from '../wire/device.ts'
import type { DeviceCapability } from './device-capabilities.ts'
import { BLIND_WORDS, HEATER_WORDS, LIGHT_WORDS, VALVE_WORDS } from './device-name-tables.ts'
import {
  foldAccentsAndCase,
  hasWordInTable,
  splitDeviceNameWords,
  type NameWordSpellings,
} from './device-name-word-matching.ts'

export interface DeviceKindFeatures {
  readonly record: HomeseerDeviceRecord
  readonly controls: readonly ControlPair[]
  readonly capabilities: readonly DeviceCapability[]
  readonly name: NameWordSpellings
  readonly place: NameWordSpellings
  readonly type: NameWordSpellings
  readonly plugIn: NameWordSpellings
  readonly labels: NameWordSpellings
  readonly status: NameWordSpellings
  /** The words of the picture that HomeSeer shows for the device: `door-closed.png`. */
  readonly image: NameWordSpellings
}

export function extractDeviceKindFeatures(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[],
  capabilities: readonly DeviceCapability[],
): DeviceKindFeatures {
  return {
    record,
    controls,
    capabilities,
    name: splitDeviceNameWords(record.name, record.voiceCommand),
    place: splitDeviceNameWords(record.location, record.location2),
    type: splitDeviceNameWords(record.typeString),
    plugIn: readPlugInWords(record.interfaceName),
    labels: splitDeviceNameWords(...controls.map(({ label }) => label)),
    status: splitDeviceNameWords(record.status),
    image: splitDeviceNameWords(/([^/.]*)(?:\.\w+)?$/.exec(record.statusImage)?.[1] ?? ''),
  }
}

/** Also contains the name unsplit: `MyQ` and `UltraM1G3` are one word each. */
function readPlugInWords(name: string): NameWordSpellings {
  const { plain, marked } = splitDeviceNameWords(name)
  return { plain: new Set([...plain, ...foldAccentsAndCase(name).split(/[^\p{L}\p{N}]+/u)]), marked }
}

export function isLight({ record, capabilities, name }: DeviceKindFeatures): boolean {
  return (
    (record.misc & DEVICE_MISC_FLAGS.isLight) !== 0 ||
    capabilities.includes('color') ||
    hasWordInTable(name, LIGHT_WORDS)
  )
}

export function isLampByNameOrDimmer(signs: DeviceKindFeatures): boolean {
  const { capabilities, name } = signs
  return (
    hasWordInTable(name, LIGHT_WORDS) ||
    capabilities.includes('color') ||
    (isLight(signs) && capabilities.includes('dimmer'))
  )
}

export function isBlind({ name, type }: DeviceKindFeatures): boolean {
  return hasWordInTable(name, BLIND_WORDS) || hasWordInTable(type, BLIND_WORDS)
}

export function isValve({ name, type }: DeviceKindFeatures): boolean {
  return hasWordInTable(name, VALVE_WORDS) || hasWordInTable(type, VALVE_WORDS)
}

export function isClimate({ capabilities, name }: DeviceKindFeatures): boolean {
  return (
    capabilities.some((one) => one === 'setpoint' || one === 'thermostat_mode' || one === 'fan') ||
    name.plain.has('thermostat') ||
    hasWordInTable(name, HEATER_WORDS)
  )
}

export function hasZwaveCommandClass(
  { record, plugIn, type }: DeviceKindFeatures,
  classes: ReadonlySet<number>,
): boolean {
  const isZWave = plugIn.plain.has('wave') || plugIn.plain.has('zwave') || type.plain.has('wave')
  return isZWave && record.deviceType.type === 0 && classes.has(record.deviceType.subType)
}
