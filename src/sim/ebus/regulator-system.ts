/**
 * Regulator, system side: groups 00 system, 01 hot water, 04 solar and 05 cylinders of B524.
 *
 * Pure, but for the plant it is given.
 */
import { activeSlot } from '../house-control.ts'
import { DATE, F32, remembered, setting, TIME, U16, U32, U8 } from './register.ts'
import type { Access, Row } from './regulator-rows.ts'
import { MODES, UNSET_DATE, change, changeDhw, dateOf, house, kwh, shown, text, timeOf } from './regulator-rows.ts'

/**
 * Numbers, types and flags are those of a 720 controller; what no device of this house acts on is `remembered`, so
 * that a client sees its own write again.
 */
export const SYSTEM: readonly Row[] = [
  [0x01, F32, 3, remembered(0)],
  [0x02, F32, 3, remembered(-26)],
  [0x03, U16, 3, remembered(4)],
  [
    0x07,
    U8,
    3,
    setting(
      (plant) => Number(plant.house.systemOff),
      (plant, value) => change(plant, { systemOff: value === 1 }),
      [0, 1],
    ),
  ],
  [0x0a, U16, 3, remembered(0)],
  [0x0e, U16, 3, remembered(40)],
  [0x14, U8, 3, remembered(1)],
  [0x17, U16, 3, remembered(45)],
  [0x18, U16, 3, remembered(60)],
  [0x1b, U16, 3, remembered(5)],
  [0x22, F32, 3, remembered(-21)],
  [0x23, F32, 3, remembered(0)],
  [0x26, F32, 3, remembered(25)],
  [
    0x27,
    F32,
    2,
    setting(
      (plant) => plant.house.dhw.hysteresisK,
      (plant, value) => changeDhw(plant, { hysteresisK: value }),
      [3, 20],
    ),
  ],
  [0x29, F32, 3, remembered(18)],
  [0x2c, DATE, 3, remembered({ year: 2027, month: 2, day: 15 })],
  [0x2f, U16, 3, remembered(2)],
  [0x34, DATE, 3, shown((plant) => dateOf(plant.house.timeMs))],
  [0x35, TIME, 3, shown((plant) => timeOf(plant.house.timeMs))],
  [0x36, U16, 3, remembered(1)],
  [0x39, F32, 1, house(({ boiler }) => boiler.pressureBar)],
  [0x3d, U32, 1, house(({ solar }) => Math.floor(solar.yieldKwh))],
  [0x3e, U32, 0, house(() => 0)],
  [0x46, F32, 3, remembered(80)],
  [0x48, U16, 1, house(({ boiler }) => (boiler.mode === 'dhw' ? 3 : boiler.mode === 'heating' ? 1 : 0))],
  [0x4b, F32, 1, house(({ boiler }) => boiler.flowCelsius)],
  [0x4d, U16, 2, remembered(0)],
  [0x4e, U32, 1, kwh(({ energy }) => energy.gasHeating.monthWh)],
  [0x4f, U32, 1, kwh(({ energy }) => energy.electricHeating.monthWh)],
  [0x50, U32, 1, kwh(({ energy }) => energy.electricDhw.monthWh)],
  [0x51, U32, 1, kwh(({ energy }) => energy.gasDhw.monthWh)],
  [0x52, U32, 1, kwh(({ energy }) => energy.gasHeating.lastMonthWh)],
  [0x53, U32, 1, kwh(({ energy }) => energy.electricHeating.lastMonthWh)],
  [0x54, U32, 1, kwh(({ energy }) => energy.electricDhw.lastMonthWh)],
  [0x55, U32, 1, kwh(({ energy }) => energy.gasDhw.lastMonthWh)],
  [0x56, U32, 1, kwh(({ energy }) => energy.gasHeating.totalWh)],
  [0x57, U32, 1, kwh(({ energy }) => energy.electricHeating.totalWh)],
  [0x58, U32, 1, kwh(({ energy }) => energy.electricDhw.totalWh)],
  [0x59, U32, 1, kwh(({ energy }) => energy.gasDhw.totalWh)],
  [0x5c, U32, 1, kwh(({ energy }) => energy.electricHeating.totalWh + energy.electricDhw.totalWh)],
  [0x5d, U32, 1, kwh(({ energy }) => energy.gasHeating.totalWh + energy.gasDhw.totalWh)],
  [0x6c, text(6), 3, remembered('HEARTH')],
  [0x6d, text(6), 3, remembered('BUS')],
  [0x6f, text(6), 3, remembered('030123')],
  [0x70, text(6), 3, remembered('456')],
  [0x73, F32, 1, house(({ weather }) => weather.outsideCelsius)],
  [0x76, U16, 3, remembered(17)],
  [0x95, F32, 0, house(({ weather }) => weather.averageCelsius)],
  [0x96, U8, 1, house(() => 0)],
  [0x9d, F32, 0, house(({ dhw }) => dhw.topCelsius)],
  [0x9e, F32, 0, house(({ dhw }) => dhw.bottomCelsius)],
]

export const HOT_WATER: readonly Row[] = [
  [0x01, U16, 3, remembered(1)],
  [0x02, U8, 1, house(({ dhw, timeMs }) => Number(activeSlot(dhw.circulation, timeMs) !== undefined))],
  [
    0x03,
    U16,
    3,
    setting(
      (plant) => MODES.indexOf(plant.house.dhw.mode),
      (plant, value) => changeDhw(plant, { mode: MODES[value] ?? 'auto' }),
      [0, 2],
    ),
  ],
  [
    0x04,
    F32,
    3,
    setting(
      (plant) => plant.house.dhw.targetCelsius,
      (plant, value) => changeDhw(plant, { targetCelsius: value }),
      [35, 70],
    ),
  ],
  [0x05, F32, 1, house(({ dhw }) => dhw.topCelsius)],
  [0x06, U8, 1, house(({ dhw }) => Number(dhw.charging))],
  [0x08, F32, 1, house(({ boiler }) => (boiler.mode === 'dhw' ? boiler.flowSetCelsius : 0))],
  [0x09, DATE, 2, remembered(UNSET_DATE)],
  [0x0a, DATE, 2, remembered(UNSET_DATE)],
  [
    0x0d,
    U8,
    3,
    setting(
      (plant) => (plant.house.dhw.boost ? 6 : 0),
      (plant, value) => changeDhw(plant, { boost: value === 6 }),
      [0, 6],
    ),
  ],
  [0x0f, U16, 1, house(({ dhw }) => Number(dhw.charging))],
  [0x10, TIME, 2, remembered({ hour: 0, minute: 0, second: 0 })],
  [0x11, TIME, 2, remembered({ hour: 0, minute: 0, second: 0 })],
]

export const SOLAR: readonly Row[] = [
  [0x01, U8, 3, house(({ solar }) => Number(solar.enabled))],
  [0x02, U8, 3, house(() => 1)],
  [0x03, F32, 0, house(({ solar }) => solar.collectorCelsius)],
  [0x04, F32, 3, remembered(8)],
  [0x05, F32, 3, remembered(130)],
  [0x07, F32, 0, house(({ dhw }) => dhw.bottomCelsius)],
  [0x08, U8, 0, house(({ solar }) => Number(solar.pumpOn))],
  [0x09, F32, 0, house(({ solar }) => solar.yieldKwh)],
  [0x0b, U32, 0, house(({ solar }) => Math.floor(solar.pumpHours))],
]

/** There is one cylinder; the regulator has registers for three. */
const firstOnly = (access: Access): Access => ({
  ...access,
  read: (plant, index) => (index === 0 ? access.read(plant, index) : undefined),
})

export const CYLINDERS: readonly Row[] = [
  [0x01, F32, 3, firstOnly(house(({ solar }) => solar.cylinderMaxCelsius))],
  [0x02, F32, 3, firstOnly(house(({ dhw }) => dhw.hysteresisK))],
  [0x03, F32, 3, firstOnly(remembered(0))],
  [0x04, F32, 0, firstOnly(house(({ dhw }) => dhw.bottomCelsius))],
]
