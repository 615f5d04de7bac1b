/**
 * Device capabilities: what a device can do or report, derived from its control pairs.
 *
 * ControlUse decides; where a plug-in set none, the labels of the pairs decide; a device without controls is a sensor,
 * whose kind is in its type string. The status text is never used: a battery showing `87%` is no dimmer.
 */
import type { ControlPair, HomeseerDeviceRecord } from '../wire/device.ts'
import { CONTROL_TYPE_CODES, type ControlUse } from '../wire/control-use.ts'
import { hasWordInTable, splitDeviceNameWords, createWordTable, type WordTable } from './device-name-word-matching.ts'
import {
  OPEN_CLOSE_CONTROL_LABELS,
  ON_OFF_CONTROL_LABELS,
  LOCK_AND_UNLOCK_CONTROL_LABELS,
} from './control-label-tables.ts'

export const DEVICE_CAPABILITIES = [
  'on_off',
  'dimmer',
  'lock',
  'cover',
  'setpoint',
  'thermostat_mode',
  'fan',
  'color',
  'media',
  'volume',
  'text',
  'battery',
  'temperature',
  'humidity',
  'luminance',
  'motion',
  'contact',
  'power',
  'sensor',
] as const

export type DeviceCapability = (typeof DEVICE_CAPABILITIES)[number]

const BY_USE: Partial<Record<ControlUse, DeviceCapability>> = {
  On: 'on_off',
  Off: 'on_off',
  OnAlternate: 'on_off',
  Dim: 'dimmer',
  DimFan: 'fan',
  ThermFanAuto: 'fan',
  ThermFanOn: 'fan',
  DoorLock: 'lock',
  DoorUnLock: 'lock',
  HeatSetPoint: 'setpoint',
  CoolSetPoint: 'setpoint',
  ThermModeOff: 'thermostat_mode',
  ThermModeHeat: 'thermostat_mode',
  ThermModeCool: 'thermostat_mode',
  ThermModeAuto: 'thermostat_mode',
  ColorControl: 'color',
  Play: 'media',
  Pause: 'media',
  Stop: 'media',
  Forward: 'media',
  Rewind: 'media',
  Repeat: 'media',
  Shuffle: 'media',
  Next: 'media',
  Previous: 'media',
  Mute: 'volume',
  UnMute: 'volume',
  MuteToggle: 'volume',
  Volume: 'volume',
}

const SENSORS: readonly (readonly [DeviceCapability, WordTable])[] = [
  ['battery', createWordTable('battery batterie')],
  ['temperature', createWordTable('temperature temperatur')],
  ['humidity', createWordTable('humidity feuchte')],
  ['luminance', createWordTable('luminance lux luminosity')],
  ['motion', createWordTable('motion occupancy presence')],
  ['contact', createWordTable('contact door window tilt')],
  ['power', createWordTable('watts power energy kwh amperes volts')],
]

const LEVEL_LABELS = createWordTable('dim level brightness')

export function findDeviceCapabilities(
  record: HomeseerDeviceRecord,
  controls: readonly ControlPair[],
): readonly DeviceCapability[] {
  const found = new Set<DeviceCapability>()
  for (const pair of controls) for (const capability of pairCapabilities(pair)) found.add(capability)
  if (controls.length === 0) found.add(sensorKind(record))
  return DEVICE_CAPABILITIES.filter((capability) => found.has(capability))
}

function pairCapabilities(pair: ControlPair): readonly DeviceCapability[] {
  const labels = splitDeviceNameWords(pair.label)
  const byUse = BY_USE[pair.use]
  if (byUse === 'lock') return ['lock']
  // HomeSeer has no control use for covers: their plug-ins use On and Off, and only the label says open.
  if (hasWordInTable(labels, OPEN_CLOSE_CONTROL_LABELS) && !hasWordInTable(labels, ON_OFF_CONTROL_LABELS))
    return ['cover']
  if (byUse !== undefined) return [byUse]
  if (hasWordInTable(labels, LOCK_AND_UNLOCK_CONTROL_LABELS)) return ['lock']
  if (pair.type === CONTROL_TYPE_CODES.colourPicker) return ['color']
  if (pair.type === CONTROL_TYPE_CODES.textBox) return ['text']
  if (hasWordInTable(labels, ON_OFF_CONTROL_LABELS)) return ['on_off']
  return pair.range !== undefined && hasWordInTable(labels, LEVEL_LABELS) ? ['dimmer'] : []
}

/** A root has no state of its own, so it is not a sensor either; its children have the types. */
function sensorKind(record: HomeseerDeviceRecord): DeviceCapability {
  const words = splitDeviceNameWords(record.typeString)
  // HS3 identifies batteries by numbers: plug-in API, type 0, command class 0x80.
  if (record.deviceType.api === 4 && record.deviceType.type === 0 && record.deviceType.subType === 128) return 'battery'
  return SENSORS.find(([, wanted]) => hasWordInTable(words, wanted))?.[0] ?? 'sensor'
}
