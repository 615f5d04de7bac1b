/**
 * Simulated HomeSeer device: the parts of a simulated house: devices, and control pairs as real plug-ins set them.
 */
import type { ControlPair, ControlRange, HomeseerDeviceRecord } from '../../homeseer/wire/device.ts'
import { CONTROL_TYPE_CODES, type ControlUse } from '../../homeseer/wire/control-use.ts'

/** How hardware reacts to a command that HomeSeer accepted. */
type Behaviour =
  | { readonly kind: 'prompt' }
  /** The hardware reacts after a delay. */
  | { readonly kind: 'slow'; readonly afterMs: number }
  /** Accepts commands, and never moves. */
  | { readonly kind: 'stuck' }
  /** Moves, falls back, and stays there. */
  | { readonly kind: 'flapping'; readonly backAfterMs: number }
  /** Reports a value between two rest positions first: locks say 254. */
  | { readonly kind: 'travelling'; readonly through: number; readonly forMs: number }
  /** A blind: moves for seconds, and reports its position now and then. */
  | { readonly kind: 'gliding'; readonly forMs: number; readonly reportEveryMs: number }
  /** Runs on batteries, and gets the command at its next wake-up. */
  | { readonly kind: 'sleepy'; readonly wakesEveryMs: number }
  /** Carries the command out and never reports anything: a scene, a button of a remote. */
  | { readonly kind: 'silent' }

/** How a value is shown: a text for some values, a number with unit for the rest. */
export interface DeviceValueDisplay {
  readonly texts: ReadonlyMap<number, string>
  readonly prefix: string
  readonly suffix: string
  readonly decimals: number
}

/** A device as the house is built: HomeSeer's data and the hardware. */
export interface SimulatedHomeseerDevice {
  readonly record: Omit<HomeseerDeviceRecord, 'value' | 'status' | 'lastChangeMs' | 'controls'>
  readonly pairs: readonly ControlPair[]
  readonly display: DeviceValueDisplay
  readonly behaviour: Behaviour
  /** The number that it shows for a commanded one, where the two differ. */
  readonly shows: ReadonlyMap<number, number>
  readonly value: number
  readonly text: string | undefined
}

export interface SimulatedHomeseerDeviceOptions extends Partial<
  Omit<SimulatedHomeseerDevice['record'], 'ref' | 'name'>
> {
  readonly ref: number
  readonly name: string
  readonly pairs?: readonly ControlPairOptions[]
  readonly display?: Partial<DeviceValueDisplay>
  readonly behaviour?: Behaviour
  readonly shows?: ReadonlyMap<number, number>
  readonly value?: number
  readonly text?: string
}

export interface ControlPairOptions {
  readonly label: string
  readonly value: number
  readonly use?: ControlUse
  readonly type?: number
  readonly range?: ControlRange
}

/** `device_type.Device_API` of HS4: a device is 512, a feature 513. */
const HS4_DEVICE_API = 512
const HS4_FEATURE_API = 513

export function createSimulatedHomeseerDevice(options: SimulatedHomeseerDeviceOptions): SimulatedHomeseerDevice {
  const { pairs = [], display, behaviour, shows = new Map(), value, text, ...record } = options
  // Standalone, as in HS3.
  const relationship = record.relationship ?? 3
  return {
    record: {
      location: '',
      location2: '',
      typeString: '',
      relationship,
      hidden: false,
      associatedRefs: [],
      deviceType: { api: relationship === 2 ? HS4_DEVICE_API : HS4_FEATURE_API, type: 0, subType: 0 },
      statusImage: '',
      userNote: '',
      userAccess: 'Any',
      voiceCommand: '',
      misc: 0,
      interfaceName: '',
      ...record,
    },
    pairs: pairs.map((pair, index) => ({
      ref: options.ref,
      index,
      label: pair.label,
      use: pair.use ?? 'None',
      type: pair.type ?? CONTROL_TYPE_CODES.button,
      value: pair.value,
      range: pair.range,
      text: '',
      choices: [],
    })),
    display: { texts: new Map(pairs.filter(isButton).map(({ value, label }) => [value, label])), ...PLAIN, ...display },
    behaviour: behaviour ?? { kind: 'prompt' },
    shows,
    value: value ?? 0,
    text,
  }
}

const PLAIN = { prefix: '', suffix: '', decimals: 0 }

function isButton(pair: ControlPairOptions): boolean {
  return (
    pair.range === undefined &&
    pair.type !== CONTROL_TYPE_CODES.textBox &&
    pair.type !== CONTROL_TYPE_CODES.colourPicker
  )
}

export const BINARY_SWITCH_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Off', value: 0, use: 'Off' },
  { label: 'On', value: 255, use: 'On' },
]

/** Some valves have their values reversed. */
export const REVERSED_VALVE_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'On', value: 0, use: 'On' },
  { label: 'Off', value: 255, use: 'Off' },
]

/** A Z-Wave dimmer ends at 99; 255 is "as bright as last time". There is no 100. */
export const DIMMER_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Off', value: 0, use: 'Off' },
  {
    label: 'Dim (value)%',
    value: 1,
    use: 'Dim',
    type: CONTROL_TYPE_CODES.rangeSlider,
    range: { start: 1, end: 98, decimals: 0, prefix: 'Dim ', suffix: '%' },
  },
  { label: 'On', value: 99, use: 'On' },
  { label: 'On Last Level', value: 255, use: 'OnAlternate' },
]
export const DIMMER_DISPLAY: Partial<DeviceValueDisplay> = { prefix: 'Dim ', suffix: '%' }

/** 254, between the two, is not a control: a moving lock shows it. */
export const LOCK_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Unlock', value: 0, use: 'DoorUnLock' },
  { label: 'Lock', value: 255, use: 'DoorLock' },
]

/** Its labels are On and Off: only its name says that it is a door. */
export const GARAGE_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Closed', value: 0, use: 'Off' },
  { label: 'Open', value: 100, use: 'On' },
]

export const BLIND_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Close', value: 0 },
  {
    label: '(value)% Open',
    value: 1,
    type: CONTROL_TYPE_CODES.rangeSlider,
    range: { start: 1, end: 98, decimals: 0, prefix: '', suffix: '% Open' },
  },
  { label: 'Open', value: 99 },
]
export const BLIND_DISPLAY: Partial<DeviceValueDisplay> = { suffix: '% Open' }

export function createSetpointControls(
  use: 'HeatSetPoint' | 'CoolSetPoint',
  from: number,
  to: number,
): readonly ControlPairOptions[] {
  const range = { start: from, end: to, decimals: 1, prefix: '', suffix: ' C' }
  return [{ label: '(value) C', value: from, use, type: CONTROL_TYPE_CODES.rangeSlider, range }]
}

export const THERMOSTAT_MODE_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Off', value: 0, use: 'ThermModeOff' },
  { label: 'Heat', value: 1, use: 'ThermModeHeat' },
  { label: 'Cool', value: 2, use: 'ThermModeCool' },
  { label: 'Auto', value: 3, use: 'ThermModeAuto' },
]

export const THERMOSTAT_FAN_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Auto', value: 0, use: 'ThermFanAuto' },
  { label: 'On', value: 1, use: 'ThermFanOn' },
]

export const TEXT_BOX_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Message', value: 0, type: CONTROL_TYPE_CODES.textBox },
]

export const COLOUR_PICKER_CONTROLS: readonly ControlPairOptions[] = [
  { label: 'Colour', value: 0, use: 'ColorControl', type: CONTROL_TYPE_CODES.colourPicker },
]

/** A text for each of these values. */
export function createDisplayWithValueTexts(
  ...texts: readonly (readonly [value: number, text: string])[]
): Partial<DeviceValueDisplay> {
  return { texts: new Map(texts) }
}

/** What a device shows for a value. */
export function formatDisplayText(display: DeviceValueDisplay, value: number): string {
  return display.texts.get(value) ?? `${display.prefix}${value.toFixed(display.decimals)}${display.suffix}`
}
