/**
 * Control use: what a control pair is for, in HomeSeer's own numbers. The position in the list is the number.
 */
export const CONTROL_USES = [
  'None',
  'On',
  'Off',
  'Dim',
  'OnAlternate',
  'Play',
  'Pause',
  'Stop',
  'Forward',
  'Rewind',
  'Repeat',
  'Shuffle',
  'HeatSetPoint',
  'CoolSetPoint',
  'ThermModeOff',
  'ThermModeHeat',
  'ThermModeCool',
  'ThermModeAuto',
  'DoorLock',
  'DoorUnLock',
  'ThermFanAuto',
  'ThermFanOn',
  'ColorControl',
  'DimFan',
  'MotionActive',
  'MotionInActive',
  'ContactActive',
  'ContactInActive',
  'Mute',
  'UnMute',
  'MuteToggle',
  'Next',
  'Previous',
  'Volume',
  'IncrementValue',
  'DecrementValue',
] as const

export type ControlUse = (typeof CONTROL_USES)[number]

/** A number from a newer HomeSeer reads as `None`: unknown uses must not grant a capability. */
export function decodeControlUse(number: number | undefined): ControlUse {
  return CONTROL_USES[number ?? 0] ?? 'None'
}

export function encodeControlUse(use: ControlUse): number {
  return CONTROL_USES.indexOf(use)
}

/** Case does not matter: people and models write `on`, `doorlock`. */
export function parseControlUseName(text: string): ControlUse | undefined {
  const wanted = text.toLowerCase()
  return CONTROL_USES.find((use) => use.toLowerCase() === wanted)
}

/** The control types a chooser has to tell apart; all others are buttons, lists and sliders over numbers. */
export const CONTROL_TYPE_CODES = {
  values: 2,
  button: 5,
  rangeList: 6,
  rangeSlider: 7,
  numberBox: 9,
  textBox: 10,
  scriptButton: 12,
  colourPicker: 13,
} as const
