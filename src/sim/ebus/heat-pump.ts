/**
 * Heat pump: the outdoor unit at 08 (HMU) and its module in the house at 76 (VWZ), in the place of the gas boiler.
 *
 * Answers are as long, and values coded, as ebusd's definitions for these products read them (08.hmu.csv, 76.vwz.csv).
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { SimulatedHouse } from '../house-state.ts'
import { encodeDateTimeBlock } from './clock-bytes.ts'
import type { SimulatedBusDeviceIdentity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import type { BusStationAnswer } from './bus-station.ts'

const UNIT: SimulatedBusDeviceIdentity = {
  id: 'HMU00',
  software: 0x0902,
  hardware: 0x5103,
  serial: '21223400100230970001005678N2',
}
const MODULE: SimulatedBusDeviceIdentity = {
  id: 'VWZ00',
  software: 0x0509,
  hardware: 0x1104,
  serial: '21223400100230980001005679N5',
}

const EMPTY = new Uint8Array()
const d2c = requireNumberDatatype('D2C')
const d2b = requireNumberDatatype('D2B')
const d1c = requireNumberDatatype('D1C')
const uin = requireNumberDatatype('UIN')
const ulg = requireNumberDatatype('ULG')
const tenthsOfKw = requireNumberDatatype('SCH,10')
const tenths = requireNumberDatatype('UIN,10')
const signed = requireNumberDatatype('SCH')
/** A word has room for 65,534. */
const word = (value: number): Uint8Array => uin.encode(Math.floor(Math.max(0, value)) % 65_000)
const kwhTenths = (wattHours: number): Uint8Array => tenths.encode(Math.min(6_500, Math.floor(wattHours / 100) / 10))

/** The ratio of heat to electricity, which falls with the outside temperature. */
function cop({ weather }: SimulatedHouse): number {
  return Math.max(1.8, Math.min(5, 3.6 + weather.outsideCelsius * 0.07))
}

/** The heat pump gives the heat that the boiler of this house would give. */
function heatKw({ boiler }: SimulatedHouse): number {
  return boiler.flame ? (boiler.maxKw * boiler.modulationPct) / 100 : 0
}

const electricKw = (house: SimulatedHouse): number => heatKw(house) / cop(house)

const VALUES = new Map<number, (house: SimulatedHouse) => Uint8Array>([
  [0x3200, (house) => kwhTenths(house.energy.gasHeating.todayWh)],
  [0x3201, () => kwhTenths(0)],
  [0x3202, (house) => kwhTenths(house.energy.gasDhw.todayWh)],
  [0x320e, (house) => kwhTenths(house.energy.gasHeating.monthWh)],
  [0x320f, (house) => tenths.encode(cop(house))],
  [0x3210, (house) => word(house.energy.gasHeating.totalWh / 1_000)],
  [0x3211, (house) => tenths.encode(cop(house))],
  [0x3212, (house) => kwhTenths(house.energy.gasDhw.monthWh)],
  [0x3213, (house) => tenths.encode(cop(house))],
  [0x3216, (house) => ulg.encode(Math.floor(house.energy.gasDhw.totalWh / 1_000))],
  [0x3217, (house) => tenths.encode(cop(house))],
  [0x321c, ({ boiler }) => d2c.encode(boiler.flowSetCelsius)],
  [0x321f, ({ boiler }) => d2c.encode(boiler.flowSetCelsius)],
  [0x3220, ({ boiler }) => d2c.encode(boiler.flowCelsius)],
  [0x3221, ({ boiler }) => requireNumberDatatype('SIN').encode(boiler.flame ? -60 : 0)],
  [0x3223, (house) => tenthsOfKw.encode(Math.min(12, heatKw(house) - electricKw(house)))],
  [0x3224, (house) => tenthsOfKw.encode(Math.min(12, electricKw(house)))],
  [0x3225, ({ boiler }) => signed.encode(boiler.flame ? Math.round(boiler.modulationPct) : 0)],
  [0x3226, ({ weather }) => d2c.encode(weather.outsideCelsius)],
  [0x3227, ({ weather, boiler }) => d2c.encode(weather.outsideCelsius - (boiler.flame ? 4 : 0))],
  [0x323c, ({ boiler }) => word(boiler.pumpOn ? 1_100 : 0)],
  [0x323d, ({ boiler }) => requireNumberDatatype('D2C,4').encode(boiler.pressureBar)],
  [0x323e, () => requireNumberDatatype('D2C,4').encode(1.5)],
  [0x3240, ({ boiler }) => ulg.encode(Math.floor(boiler.heatingHours + boiler.dhwHours))],
  [0x3241, ({ boiler }) => ulg.encode(Math.floor(boiler.heatingHours))],
  [0x3243, () => ulg.encode(0)],
  [0x3244, ({ boiler }) => ulg.encode(Math.floor(boiler.dhwHours))],
  [0x324d, (house) => word(consumedKwh(house))],
  [0x3400, ({ boiler }) => word(boiler.heatingHours + boiler.dhwHours)],
  [0x3401, ({ boiler }) => word(boiler.heatingStarts + boiler.dhwStarts)],
  [0x3402, ({ boiler }) => word(boiler.pumpHours)],
  [0x3407, ({ boiler }) => word(boiler.dhwStarts * 2)],
])

function consumedKwh(house: SimulatedHouse): number {
  const { gasHeating, gasDhw } = house.energy
  return (gasHeating.totalWh + gasDhw.totalWh) / 1_000 / cop(house)
}

/** B511 07, fifth byte: 1 ready, 9 heating, 129 hot water. */
function activity({ boiler }: SimulatedHouse): number {
  if (!boiler.flame) return 1
  return boiler.mode === 'dhw' ? 129 : 9
}

export function answerHeatPump({ house }: SimulatedPlant, telegram: Telegram): BusStationAnswer {
  const { primary, secondary, data } = telegram
  const identity = answerIdentity(UNIT, telegram)
  if (identity !== undefined) return identity
  if (primary !== 0xb5) return undefined
  const [first = 0, second = 0, third = 0, fourth = 0] = data
  switch (secondary) {
    // The block of five present errors, which is empty.
    case 0x03:
      return first === 0x00 && (second === 0x01 || second === 0x02) ? new Uint8Array(10).fill(0xff) : EMPTY
    case 0x04:
      return first === 0x00 ? encodeDateTimeBlock(house) : EMPTY
    case 0x10:
      return Uint8Array.of(0x01)
    case 0x11:
      return first === 0x07
        ? Uint8Array.from([0x00, ...word(consumedKwh(house)), Number(house.boiler.flame), activity(house)])
        : statusBlock(house, first)
    case 0x12:
      return EMPTY
    case 0x16:
      if (first !== 0x18 || data.length !== 2) return EMPTY
      return Uint8Array.from([
        0x00,
        ...word(second === 0x02 ? consumedKwh(house) : consumedKwh(house) * (cop(house) - 1)),
      ])
    case 0x1a: {
      const read = first === 0x05 && second === 0xff ? VALUES.get((third << 8) | fourth) : undefined
      return read === undefined ? EMPTY : Uint8Array.from([0x00, third, fourth, ...read(house)])
    }
    default:
      return EMPTY
  }
}

/** The module's measurements inside of the house. */
export function answerHeatPumpModule({ house }: SimulatedPlant, telegram: Telegram): BusStationAnswer {
  const identity = answerIdentity(MODULE, telegram)
  if (identity !== undefined) return identity
  if (telegram.primary !== 0xb5) return undefined
  return telegram.secondary === 0x11 ? statusBlock(house, telegram.data[0] ?? 0) : EMPTY
}

/** B511 01 with half degrees, as a recorded module answers: 1076b5110101/09ff28c00aff6d0000ff. */
function statusBlock({ boiler, dhw, weather }: SimulatedHouse, block: number): Uint8Array {
  if (block !== 0x01) return EMPTY
  const half = (celsius: number): number => d1c.encode(Math.max(0, Math.min(100, celsius)))[0] ?? 0xff
  return Uint8Array.from([
    half(boiler.flowCelsius),
    half(boiler.returnCelsius),
    ...d2b.encode(weather.outsideCelsius),
    0xff,
    half(dhw.topCelsius),
    Number(boiler.pumpOn),
    0x00,
    0xff,
  ])
}
