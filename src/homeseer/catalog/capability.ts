/**
 * Capability: what a device can be told or can tell, read from its control pairs.
 *
 * ControlUse decides; where a plug-in set none, the labels of the pairs; a device without controls is a sensor and its
 * type string says which. The status text is never looked at: a battery showing `87%` is no dimmer.
 *
 * Pure.
 */
import type { ControlPair, DeviceRecord } from '../wire/device.ts'
import { CONTROL_TYPE, type ControlUse } from '../wire/control-use.ts'
import { hasWord, wordsOf, wordTable, type WordTable } from './word.ts'
import { OPEN_LABELS, SWITCH_LABELS, UNLOCK_LABELS } from './word-table.ts'

export const CAPABILITIES = [
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

export type Capability = (typeof CAPABILITIES)[number]

const BY_USE: Partial<Record<ControlUse, Capability>> = {
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

const SENSORS: readonly (readonly [Capability, WordTable])[] = [
  ['battery', wordTable('battery batterie')],
  ['temperature', wordTable('temperature temperatur')],
  ['humidity', wordTable('humidity feuchte')],
  ['luminance', wordTable('luminance lux luminosity')],
  ['motion', wordTable('motion occupancy presence')],
  ['contact', wordTable('contact door window tilt')],
  ['power', wordTable('watts power energy kwh amperes volts')],
]

const LEVEL_LABELS = wordTable('dim level brightness')

export function capabilitiesOf(record: DeviceRecord, controls: readonly ControlPair[]): readonly Capability[] {
  const found = new Set<Capability>()
  for (const pair of controls) for (const capability of pairCapabilities(pair)) found.add(capability)
  if (controls.length === 0) found.add(sensorKind(record))
  return CAPABILITIES.filter((capability) => found.has(capability))
}

function pairCapabilities(pair: ControlPair): readonly Capability[] {
  const labels = wordsOf(pair.label)
  const byUse = BY_USE[pair.use]
  if (byUse === 'lock') return ['lock']
  // HomeSeer has no use for covers: their plug-ins borrow On and Off, and only the label says open.
  if (hasWord(labels, OPEN_LABELS) && !hasWord(labels, SWITCH_LABELS)) return ['cover']
  if (byUse !== undefined) return [byUse]
  if (hasWord(labels, UNLOCK_LABELS)) return ['lock']
  if (pair.type === CONTROL_TYPE.colourPicker) return ['color']
  if (pair.type === CONTROL_TYPE.textBox) return ['text']
  if (hasWord(labels, SWITCH_LABELS)) return ['on_off']
  return pair.range !== undefined && hasWord(labels, LEVEL_LABELS) ? ['dimmer'] : []
}

/** A root carries nothing of its own, so it is no sensor either; its children say what they are. */
function sensorKind(record: DeviceRecord): Capability {
  const words = wordsOf(record.typeString)
  // HS3 marks batteries by number: plug-in API, type 0, command class 0x80.
  if (record.deviceType.api === 4 && record.deviceType.type === 0 && record.deviceType.subType === 128) return 'battery'
  return SENSORS.find(([, wanted]) => hasWord(words, wanted))?.[0] ?? 'sensor'
}
