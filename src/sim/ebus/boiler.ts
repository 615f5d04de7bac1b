/**
 * Boiler: the gas boiler at 03/08. B509 registers, the status blocks the regulator reads, and its fault memory.
 *
 * Registers are coded as ebusd's definitions for this boiler read them.
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { SimulatedHouse } from '../house-state.ts'
import { encodeDateTimeBlock } from './clock-bytes.ts'
import type { SimulatedBusDeviceIdentity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import type { BusStationAnswer } from './bus-station.ts'
import { readUnusedBoilerRegister } from './unused-registers.ts'

const IDENTITY: SimulatedBusDeviceIdentity = {
  id: 'BAI00',
  software: 0x0603,
  hardware: 0x9602,
  serial: '21160900100219610001005167N4',
}

const EMPTY = new Uint8Array()
const SENSOR_OK = 0x00
/** The block of B504 with the outside temperature alone. */
const OUTSIDE = 0x16
/** How these boilers encode off and on for the flame; their pumps use 0 and 1. */
const ON_OFF = [0xf0, 0x0f] as const
/** One byte 00 means no value. */
const NO_VALUE = Uint8Array.of(0x00)

const d2c = requireNumberDatatype('D2C')
const d2b = requireNumberDatatype('D2B')
const d1c = requireNumberDatatype('D1C')
const thousandths = requireNumberDatatype('FLT')
const uin = requireNumberDatatype('UIN')
/** Real counters have two bytes as well, and wrap around. */
const counter = (value: number): Uint8Array => uin.encode(Math.floor(value) % 65_000)
const hundredths = requireNumberDatatype('UIN,100')
const tenths = requireNumberDatatype('SIN,10')
const byte = (value: number): Uint8Array => Uint8Array.of(Math.round(value) & 0xff)
const flag = (value: boolean): Uint8Array => Uint8Array.of(Number(value))
const lamp = (value: boolean): Uint8Array => Uint8Array.of(ON_OFF[Number(value)] ?? 0)
/** The value, its complement, and the sensor's state. */
const mirrored = (celsius: number): Uint8Array => {
  const value = d2c.encode(celsius)
  return sensed(Uint8Array.from([...value, ...value.map((each) => ~each)]))
}
const sensed = (bytes: Uint8Array): Uint8Array => Uint8Array.from([...bytes, SENSOR_OK])

/** By the two register bytes in the order of the telegram. */
const REGISTERS = new Map<number, (house: SimulatedHouse) => Uint8Array>([
  [0x1800, ({ boiler }) => sensed(d2c.encode(boiler.flowCelsius))],
  [0x9800, ({ boiler }) => mirrored(boiler.returnCelsius)],
  [0x4400, ({ boiler }) => flag(boiler.pumpOn)],
  [0x0200, ({ boiler }) => sensed(thousandths.encode(boiler.pressureBar))],
  [0x0500, ({ boiler }) => lamp(boiler.flame)],
  [0xbb00, ({ boiler }) => lamp(boiler.flame)],
  [0x8300, ({ boiler }) => uin.encode(boiler.fanRpm)],
  [0x2400, ({ boiler }) => uin.encode(boiler.fanRpm)],
  [0x2e00, ({ boiler }) => tenths.encode(boiler.modulationPct)],
  [0xab00, ({ boiler }) => byte(stateNumber(boiler))],
  [0x5400, ({ boiler }) => byte(boiler.mode === 'dhw' ? 100 : 0)],
  [0x5800, ({ dhw }) => flag(dhw.charging)],
  [0x5500, ({ dhw }) => hundredths.encode(dhw.drawLpm)],
  [0x0e04, ({ boiler }) => d2c.encode(boiler.flowMaxCelsius)],
  [0x0f04, () => d2c.encode(65)],
  [0x0704, ({ boiler }) => byte(boiler.maxKw)],
  [0x0804, ({ boiler }) => byte(boiler.maxKw)],
  [0x9e00, ({ boiler }) => byte(boiler.mode === 'dhw' ? 100 : 0)],
  [0x3900, ({ boiler }) => d2c.encode(boiler.flowSetCelsius)],
  [0xea03, ({ dhw }) => d2c.encode(dhw.targetCelsius)],
  [0x7b00, () => flag(false)],
  [0x3f00, () => flag(false)],
  [0xf203, () => flag(true)],
  [0xa400, ({ boiler }) => tenths.encode(boiler.flame ? 42.5 : 83)],
  [0xfb00, ({ boiler }) => hundredths.encode(boiler.pumpOn ? 14.2 : 0)],
  [0x2800, ({ boiler }) => counter(boiler.heatingHours)],
  [0x2200, ({ boiler }) => counter(boiler.dhwHours)],
  [0x2900, ({ boiler }) => counter(boiler.heatingStarts / 100)],
  [0x2300, ({ boiler }) => counter(boiler.dhwStarts / 100)],
  [0x1400, ({ boiler }) => counter(boiler.pumpHours)],
  [0x1b00, ({ boiler }) => counter(boiler.heatingHours + boiler.dhwHours)],
  [0x1f00, () => byte(3)],
  [0x2000, () => byte(1)],
  // The pump mode in most boiler types: 0 runs on after heating.
  [0x4904, () => byte(0)],
  // A telephone number in BCD, for the installer's line.
  [0x8104, () => Uint8Array.of(0x00, 0x00, 0x30, 0x12, 0x34, 0x56, 0xff, 0xff)],
  [0x2004, () => uin.encode(1_270)],
  [0x9a00, () => uin.encode(21)],
])

/** 0 standby, 7 flame, 8 modulating, 11 post-purge. */
function stateNumber({ flame, fanRpm, modulationPct, minPct }: SimulatedHouse['boiler']): number {
  if (!flame) return fanRpm > 0 ? 11 : 0
  return modulationPct > minPct ? 8 : 7
}

/** Only the flow limit can be set here, which is enough to test an accepted and a refused write. */
const WRITABLE = new Map<
  number,
  readonly [min: number, max: number, set: (plant: SimulatedPlant, value: number) => void]
>([
  [
    0x0e04,
    [
      20,
      80,
      (plant, value) => (plant.house = { ...plant.house, boiler: { ...plant.house.boiler, flowMaxCelsius: value } }),
    ],
  ],
])

export function answerBoiler(plant: SimulatedPlant, telegram: Telegram): BusStationAnswer {
  const { primary, secondary, data } = telegram
  const identity = answerIdentity(IDENTITY, telegram)
  if (identity !== undefined) return identity
  if (primary !== 0xb5) return undefined
  switch (secondary) {
    case 0x03:
      return errorMemory(plant.house, data)
    case 0x04:
      if (data[0] === OUTSIDE) return d2c.encode(plant.house.weather.outsideCelsius)
      return data[0] === 0x00 ? encodeDateTimeBlock(plant.house) : EMPTY
    case 0x09:
      return answerRegister(plant, data)
    // Set mode is acknowledged with 01; the house decides what is wanted, not the telegram.
    case 0x10:
      return Uint8Array.of(0x01)
    case 0x11:
      return statusBlock(plant.house, data[0] ?? 0)
    case 0x12:
      return EMPTY
    default:
      return 'refuse'
  }
}

/** Below this the boiler locks itself out: F.22, too little water. */
const DRY_BAR = 0.5
const TOO_LITTLE_WATER = 22

/** Status, minute, hour, day, month, year in BCD, and the number: too little water on 8 November 2024 at 13:45. */
const PAST_ERROR = Uint8Array.of(0x02, 0x45, 0x13, 0x08, 0x11, 0x24, TOO_LITTLE_WATER, 0x00)
const NO_PAST_ERROR = Uint8Array.of(0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
const HISTORY_LENGTH = 10

/** The block of five present errors, or an entry of the history, which has one; no service messages. */
function errorMemory({ boiler }: SimulatedHouse, [when, kind, index = HISTORY_LENGTH]: Uint8Array): BusStationAnswer {
  if (kind !== 0x01 && kind !== 0x02) return EMPTY
  if (when === 0x01 && index < HISTORY_LENGTH) return kind === 0x01 && index === 0 ? PAST_ERROR : NO_PAST_ERROR
  if (when !== 0x00) return EMPTY
  const codes = kind === 0x01 && boiler.pressureBar < DRY_BAR ? [TOO_LITTLE_WATER] : []
  return Uint8Array.from([0, 1, 2, 3, 4].flatMap((place) => [...uin.encode(codes[place])]))
}

function answerRegister(plant: SimulatedPlant, data: Uint8Array): BusStationAnswer {
  const [verb = 0, high = 0, low = 0] = data
  const register = (high << 8) | low
  if (data.length < 3) return 'refuse'
  if (verb === 0x0d) return REGISTERS.get(register)?.(plant.house) ?? readUnusedBoilerRegister(register) ?? NO_VALUE
  const writable = WRITABLE.get(register)
  if (verb !== 0x0e || writable === undefined) return 'refuse'
  const [min, max, set] = writable
  const value = d2c.decode(data.subarray(3))
  if (!value.ok || value.value === undefined || value.value < min || value.value > max) return 'refuse'
  set(plant, value.value)
  return EMPTY
}

/** B511 blocks 0 to 2 as the regulator reads them every ten seconds; temperatures in half degrees. */
function statusBlock({ boiler, dhw, weather }: SimulatedHouse, block: number): Uint8Array {
  const half = (celsius: number): number => d1c.encode(Math.max(0, Math.min(100, celsius)))[0] ?? 0xff
  if (block === 0x00)
    return Uint8Array.from([
      ...uin.encode(Math.round(boiler.fanRpm / 10)),
      stateNumber(boiler),
      half(boiler.flowCelsius),
      4,
      15,
      0,
      0x81,
    ])
  if (block === 0x01)
    return Uint8Array.from([
      half(boiler.flowCelsius),
      half(boiler.returnCelsius),
      ...d2b.encode(weather.outsideCelsius),
      half(dhw.topCelsius),
      half(dhw.topCelsius),
      boiler.mode === 'dhw' ? 0x04 : Number(boiler.pumpOn),
      0x00,
      0xff,
    ])
  if (block === 0x02)
    return Uint8Array.of(0x03, boiler.maxKw, half(boiler.flowMaxCelsius), 70, half(dhw.targetCelsius), 88)
  // Flow, pressure twice, and what is being heated.
  if (block === 0x03)
    return Uint8Array.from([
      ...d2c.encode(boiler.flowCelsius),
      ...thousandths.encode(boiler.pressureBar),
      ...thousandths.encode(boiler.pressureBar),
      boiler.mode === 'dhw' ? 4 : boiler.mode === 'heating' ? 3 : 0,
      0x00,
    ])
  return EMPTY
}
