/**
 * Hard case devices: a house in which each group is a trap that some client of HomeSeer fell into; the numbers are those of
 * the table in docs/protocols/homeseer.md.
 */
import { DEVICE_MISC_FLAGS } from '../../homeseer/wire/device.ts'
import {
  BINARY_SWITCH_CONTROLS,
  BLIND_CONTROLS,
  COLOUR_PICKER_CONTROLS,
  DIMMER_DISPLAY,
  BLIND_DISPLAY,
  DIMMER_CONTROLS,
  GARAGE_CONTROLS,
  LOCK_CONTROLS,
  createSimulatedHomeseerDevice,
  REVERSED_VALVE_CONTROLS,
  createSetpointControls,
  createDisplayWithValueTexts,
  TEXT_BOX_CONTROLS,
  THERMOSTAT_FAN_CONTROLS,
  THERMOSTAT_MODE_CONTROLS,
  type SimulatedHomeseerDevice,
  type SimulatedHomeseerDeviceOptions,
} from './simulated-homeseer-device.ts'

/** Where a test or a person finds each case. */
export const HARD_CASE_DEVICE_REFS = {
  hallLampRoot: 100,
  hallLamp: 101,
  porchMaster: 110,
  porch: 111,
  kitchenSwitch: 120,
  diningDimmer: 131,
  frontDoorRoot: 140,
  frontDoorLock: 141,
  frontDoorBattery: 142,
  garageDoor: 150,
  gardenValve: 155,
  thermostatRoot: 160,
  heatSetpoint: 161,
  thermostatMode: 162,
  thermostatFan: 163,
  thermostatBattery: 164,
  thermostatTemperature: 165,
  windowContact: 170,
  messageBoard: 175,
  moodLight: 176,
  kitchenCounter: 180,
  hiddenRelay: 185,
  officeHeater: 186,
  bedroomLampUp: 190,
  bedroomLampDown: 191,
  stuckLamp: 195,
  slowBlind: 196,
  flappingPlug: 197,
  movieNight: 198,
  eveningDevice: 199,
  stairLight: 201,
  heatingMode: 202,
  colourScene: 203,
  bedroomBlind: 204,
  radiatorValve: 205,
} as const

const DIMMABLE_LIGHT = DEVICE_MISC_FLAGS.isLight | DEVICE_MISC_FLAGS.canDim

/** A house of hard cases, each of which some client of HomeSeer handled wrongly. */
export function createHardCaseDevices(): readonly SimulatedHomeseerDevice[] {
  return [
    ...lights(),
    ...ways(),
    ...climate(),
    ...oddities(),
    ...troublemakers(),
    ...namesakes(),
    ...otherNumbers(),
  ].map(createSimulatedHomeseerDevice)
}

/** A root with its features, linked both ways as HomeSeer links them. */
function zwave(
  root: SimulatedHomeseerDeviceOptions,
  ...features: readonly SimulatedHomeseerDeviceOptions[]
): readonly SimulatedHomeseerDeviceOptions[] {
  const place = { location: root.location ?? '', location2: root.location2 ?? '', interfaceName: 'Z-Wave' }
  return [
    {
      ...place,
      typeString: 'Z-Wave Root',
      text: 'No Status',
      ...root,
      relationship: 2,
      associatedRefs: features.map((feature) => feature.ref),
    },
    ...features.map((feature) => ({ ...place, ...feature, relationship: 4, associatedRefs: [root.ref] })),
  ]
}

/** Cases 1 to 4: root and feature of one name, a master next to its feature, a switch, a dimmer without 100. */
function lights(): readonly SimulatedHomeseerDeviceOptions[] {
  const multilevel = {
    typeString: 'Z-Wave Switch Multilevel',
    pairs: DIMMER_CONTROLS,
    display: DIMMER_DISPLAY,
    misc: DIMMABLE_LIGHT,
  }
  return [
    ...zwave(
      { ref: 100, name: 'Hall Lamp', location: 'Hall', location2: 'Ground' },
      { ref: 101, name: 'Hall Lamp', ...multilevel, value: 35, voiceCommand: 'hall lamp' },
    ),
    { ref: 110, name: 'Porch Master', location: 'Hall', location2: 'Ground', relationship: 2, text: 'No Status' },
    {
      ref: 111,
      name: 'Porch',
      location: 'Garden',
      location2: 'Outside',
      typeString: 'Z-Wave Switch Binary',
      interfaceName: 'Z-Wave',
      pairs: BINARY_SWITCH_CONTROLS,
    },
    {
      ref: 120,
      name: 'Kitchen Lamp',
      location: 'Kitchen',
      location2: 'Ground',
      typeString: 'Z-Wave Switch Binary',
      interfaceName: 'Z-Wave',
      pairs: BINARY_SWITCH_CONTROLS,
      misc: DEVICE_MISC_FLAGS.isLight,
    },
    ...zwave(
      { ref: 130, name: 'Dining', location: 'Dining Room', location2: 'Ground' },
      { ref: 131, name: 'Dining Dimmer', ...multilevel },
    ),
  ]
}

/** Cases 5 to 7 and 15: a lock that travels through 254, with voice confirmation; a garage door; a reversed valve. */
function ways(): readonly SimulatedHomeseerDeviceOptions[] {
  return [
    ...zwave(
      { ref: 140, name: 'Front Door', location: 'Hall', location2: 'Ground', misc: DEVICE_MISC_FLAGS.voiceConfirm },
      {
        ref: 141,
        name: 'Front Door Lock',
        typeString: 'Z-Wave Door Lock',
        pairs: LOCK_CONTROLS,
        display: createDisplayWithValueTexts([0, 'Unlocked'], [255, 'Locked'], [254, 'Unknown']),
        behaviour: { kind: 'travelling', through: 254, forMs: 60 },
        value: 255,
        misc: DEVICE_MISC_FLAGS.voiceConfirm,
        voiceCommand: 'front door',
      },
      battery(142, 64),
    ),
    { ref: 150, name: 'Garage Door', location: 'Garage', location2: 'Ground', pairs: GARAGE_CONTROLS },
    {
      ref: 155,
      name: 'Garden Valve',
      location: 'Garden',
      location2: 'Outside',
      typeString: 'Z-Wave Valve',
      interfaceName: 'Z-Wave',
      pairs: REVERSED_VALVE_CONTROLS,
      value: 255,
    },
  ]
}

/** Cases 8 and 9: a thermostat with one decimal, mode, fan and a battery that shows a percentage. */
function climate(): readonly SimulatedHomeseerDeviceOptions[] {
  const degrees = { suffix: ' C', decimals: 1 }
  return zwave(
    { ref: 160, name: 'Living Thermostat', location: 'Living Room', location2: 'Ground' },
    {
      ref: 161,
      name: 'Heating Setpoint',
      pairs: createSetpointControls('HeatSetPoint', 5, 30),
      display: degrees,
      value: 20.5,
    },
    { ref: 162, name: 'Thermostat Mode', pairs: THERMOSTAT_MODE_CONTROLS, value: 1 },
    { ref: 163, name: 'Thermostat Fan', pairs: THERMOSTAT_FAN_CONTROLS },
    battery(164, 87),
    {
      ref: 165,
      name: 'Temperature',
      typeString: 'Z-Wave Temperature',
      display: degrees,
      value: 20.2,
      misc: DEVICE_MISC_FLAGS.statusOnly,
    },
  )
}

/** Cases 10 to 14: a contact, a text box, a colour, commas and umlauts, a hidden device and one for a single user. */
function oddities(): readonly SimulatedHomeseerDeviceOptions[] {
  return [
    {
      ref: 170,
      name: 'Window Contact',
      location: 'Bedroom',
      location2: 'First',
      typeString: 'Z-Wave Contact Sensor',
      interfaceName: 'Z-Wave',
      misc: DEVICE_MISC_FLAGS.statusOnly,
      display: createDisplayWithValueTexts([0, 'Closed'], [255, 'Open']),
    },
    {
      ref: 175,
      name: 'Message Board',
      location: 'Hall',
      location2: 'Ground',
      pairs: TEXT_BOX_CONTROLS,
      text: 'Welcome',
    },
    {
      ref: 176,
      name: 'Mood Light',
      location: 'Living Room',
      location2: 'Ground',
      pairs: COLOUR_PICKER_CONTROLS,
      text: '#ff8800',
    },
    { ref: 180, name: 'Küchentheke, links', location: 'Küche', location2: 'Ground', pairs: BINARY_SWITCH_CONTROLS },
    {
      ref: 185,
      name: 'Boiler Relay',
      location: 'Cellar',
      location2: 'Below',
      pairs: BINARY_SWITCH_CONTROLS,
      hidden: true,
    },
    {
      ref: 186,
      name: 'Office Heater',
      location: 'Office',
      location2: 'First',
      pairs: BINARY_SWITCH_CONTROLS,
      userAccess: 'anna',
    },
  ]
}

/** Case 17: accepts and never moves; moves after three seconds; moves and falls back. */
function troublemakers(): readonly SimulatedHomeseerDeviceOptions[] {
  const place = { location: 'Attic', location2: 'Top', pairs: BINARY_SWITCH_CONTROLS }
  return [
    { ref: 195, name: 'Attic Lamp', ...place, behaviour: { kind: 'stuck' } },
    { ref: 196, name: 'Attic Blind', ...place, behaviour: { kind: 'slow', afterMs: 3_000 } },
    { ref: 197, name: 'Attic Plug', ...place, behaviour: { kind: 'flapping', backAfterMs: 120 } },
  ]
}

/** Cases 16 and 19: two lamps that differ only in the floor; devices named like an event and like a group of events. */
function namesakes(): readonly SimulatedHomeseerDeviceOptions[] {
  return [
    { ref: 190, name: 'Lamp', location: 'Bedroom', location2: 'First', pairs: BINARY_SWITCH_CONTROLS },
    { ref: 191, name: 'Lamp', location: 'Bedroom', location2: 'Below', pairs: BINARY_SWITCH_CONTROLS },
    { ref: 198, name: 'Movie Night', location: 'Living Room', location2: 'Ground', pairs: BINARY_SWITCH_CONTROLS },
    { ref: 199, name: 'Evening', location: 'Living Room', location2: 'Ground', pairs: BINARY_SWITCH_CONTROLS },
  ]
}

/** Cases 23 to 25: told one number and showing another; showing nothing; a blind under way; a battery that sleeps. */
function otherNumbers(): readonly SimulatedHomeseerDeviceOptions[] {
  const upstairs = { location: 'Landing', location2: 'First' }
  return [
    {
      ref: 201,
      name: 'Stair Light',
      ...upstairs,
      pairs: BINARY_SWITCH_CONTROLS,
      shows: new Map([[255, 99]]),
      display: createDisplayWithValueTexts([0, 'Off'], [99, 'On']),
      misc: DEVICE_MISC_FLAGS.isLight,
    },
    {
      ref: 202,
      name: 'Heating Mode',
      ...upstairs,
      pairs: THERMOSTAT_MODE_CONTROLS,
      shows: new Map([[1, 17]]),
      display: createDisplayWithValueTexts([0, 'Off'], [17, 'Heating']),
    },
    {
      ref: 203,
      name: 'Colour Scene',
      ...upstairs,
      pairs: [{ label: 'Activate', value: 1, use: 'On' }],
      behaviour: { kind: 'silent' },
    },
    {
      ref: 204,
      name: 'Bedroom Blind',
      location: 'Bedroom',
      location2: 'First',
      typeString: 'Z-Wave Window Covering',
      interfaceName: 'Z-Wave',
      pairs: BLIND_CONTROLS,
      display: BLIND_DISPLAY,
      behaviour: { kind: 'gliding', forMs: 8_000, reportEveryMs: 1_000 },
    },
    ...zwave(
      { ref: 206, name: 'Radiator', location: 'Bedroom', location2: 'First' },
      {
        ref: 205,
        name: 'Radiator Setpoint',
        pairs: createSetpointControls('HeatSetPoint', 5, 28),
        display: { suffix: ' C', decimals: 1 },
        value: 18,
        behaviour: { kind: 'sleepy', wakesEveryMs: 300_000 },
      },
      battery(207, 71),
    ),
  ]
}

function battery(ref: number, percent: number): SimulatedHomeseerDeviceOptions {
  return {
    ref,
    name: 'Battery',
    typeString: 'Z-Wave Battery',
    deviceType: { api: 4, type: 0, subType: 128 },
    display: { suffix: '%' },
    value: percent,
    misc: DEVICE_MISC_FLAGS.statusOnly,
  }
}
