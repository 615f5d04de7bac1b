/** Regulator, system side: groups 00 system, 01 hot water, 04 solar and 05 cylinders of B524. */
import { findActiveSlot } from '../house-control.ts'
import { DATE, F32, createStoredValueAccess, createNumberRegisterAccess, TIME, U16, U32, U8 } from './register.ts'
import type { SimulatedRegisterAccessors, SimulatedRegisterRow } from './regulator-row-builders.ts'
import {
  OPERATING_MODES_BY_CODE,
  UNSET_DATE_VALUE,
  patchSimulatedHouse,
  patchSimulatedDhw,
  toCalendarDate,
  createReadOnlyHouseAccess,
  createEnergyMeterAccess,
  createReadOnlyAccess,
  createPaddedTextDatatype,
  toTimeOfDay,
} from './regulator-row-builders.ts'

/**
 * Numbers, types and flags are those of a 720 controller; a value without an effect in this house is stored, so that a
 * client reads back what it wrote.
 */
export const SIMULATED_SYSTEM_REGISTERS: readonly SimulatedRegisterRow[] = [
  [0x01, F32, 3, createStoredValueAccess(0)], // hot water bivalence point, °C
  [0x02, F32, 3, createStoredValueAccess(-26)], // continuous heating below, °C; -26 is off
  [0x03, U16, 3, createStoredValueAccess(4)], // frost override, h
  [
    0x07, // system off
    U8,
    3,
    createNumberRegisterAccess(
      (plant) => Number(plant.house.systemOff),
      (plant, value) => patchSimulatedHouse(plant, { systemOff: value === 1 }),
      [0, 1],
    ),
  ],
  [0x0a, U16, 3, createStoredValueAccess(0)], // parallel loading
  [0x0e, U16, 3, createStoredValueAccess(40)], // highest room humidity, %
  [0x14, U8, 3, createStoredValueAccess(1)], // adaptive heating curve
  [0x17, U16, 3, createStoredValueAccess(45)], // longest charge, min
  [0x18, U16, 3, createStoredValueAccess(60)], // charge lock, min
  [0x1b, U16, 3, createStoredValueAccess(5)], // pump overrun, min
  [0x22, F32, 3, createStoredValueAccess(-21)], // alternative point, °C
  [0x23, F32, 3, createStoredValueAccess(0)], // heating bivalence point, °C
  [0x26, F32, 3, createStoredValueAccess(25)], // emergency flow temperature, °C
  [
    0x27, // cylinder hysteresis, K
    F32,
    2,
    createNumberRegisterAccess(
      (plant) => plant.house.dhw.hysteresisK,
      (plant, value) => patchSimulatedDhw(plant, { hysteresisK: value }),
      [3, 20],
    ),
  ],
  [0x29, F32, 3, createStoredValueAccess(18)], // cylinder charge offset, K
  [0x2c, DATE, 3, createStoredValueAccess({ year: 2027, month: 2, day: 15 })], // maintenance date
  [0x2f, U16, 3, createStoredValueAccess(2)], // how the VR 71 is wired, 1 to 11
  [0x34, DATE, 3, createReadOnlyAccess((plant) => toCalendarDate(plant.house.timeMs))], // date
  [0x35, TIME, 3, createReadOnlyAccess((plant) => toTimeOfDay(plant.house.timeMs))], // time
  [0x36, U16, 3, createStoredValueAccess(1)], // hydraulic scheme, 1 to 16
  [0x39, F32, 1, createReadOnlyHouseAccess(({ boiler }) => boiler.pressureBar)], // water pressure, bar
  [0x3d, U32, 1, createReadOnlyHouseAccess(({ solar }) => Math.floor(solar.yieldKwh))], // solar yield, kWh
  [0x3e, U32, 0, createReadOnlyHouseAccess(() => 0)], // environmental yield, kWh
  [0x46, F32, 3, createStoredValueAccess(80)], // highest flow for hot water, °C
  // Energy manager: 0 standby, 1 heats, 2 cools, 3 hot water.
  [
    0x48,
    U16,
    1,
    createReadOnlyHouseAccess(({ boiler }) => (boiler.mode === 'dhw' ? 3 : boiler.mode === 'heating' ? 1 : 0)),
  ],
  [0x4b, F32, 1, createReadOnlyHouseAccess(({ boiler }) => boiler.flowCelsius)], // flow, °C
  [0x4d, U16, 2, createStoredValueAccess(0)], // multi-function relay
  [0x4e, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasHeating.monthWh)], // this month: gas heating
  [0x4f, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricHeating.monthWh)], // this month: electricity, heating
  [0x50, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricDhw.monthWh)], // this month: electricity, hot water
  [0x51, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasDhw.monthWh)], // this month: gas, hot water
  [0x52, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasHeating.lastMonthWh)], // last month, in the same order
  [0x53, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricHeating.lastMonthWh)], // last month: electricity, heating
  [0x54, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricDhw.lastMonthWh)], // last month: electricity, hot water
  [0x55, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasDhw.lastMonthWh)], // last month: gas, hot water
  [0x56, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasHeating.totalWh)], // all time, in the same order
  [0x57, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricHeating.totalWh)], // all time: electricity, heating
  [0x58, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricDhw.totalWh)], // all time: electricity, hot water
  [0x59, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasDhw.totalWh)], // all time: gas, hot water
  [0x5c, U32, 1, createEnergyMeterAccess(({ energy }) => energy.electricHeating.totalWh + energy.electricDhw.totalWh)], // all electricity
  [0x5d, U32, 1, createEnergyMeterAccess(({ energy }) => energy.gasHeating.totalWh + energy.gasDhw.totalWh)], // all gas
  [0x6c, createPaddedTextDatatype(6), 3, createStoredValueAccess('HEARTH')], // installer, six characters
  [0x6d, createPaddedTextDatatype(6), 3, createStoredValueAccess('BUS')], // installer, six further characters
  [0x6f, createPaddedTextDatatype(6), 3, createStoredValueAccess('030123')], // telephone, six characters
  [0x70, createPaddedTextDatatype(6), 3, createStoredValueAccess('456')], // telephone, six further characters
  [0x73, F32, 1, createReadOnlyHouseAccess(({ weather }) => weather.outsideCelsius)], // outside, °C
  [0x76, U16, 3, createStoredValueAccess(17)], // installer menu code
  [0x95, F32, 0, createReadOnlyHouseAccess(({ weather }) => weather.averageCelsius)], // outside, mean of a day, °C
  [0x96, U8, 1, createReadOnlyHouseAccess(() => 0)], // maintenance due
  [0x9d, F32, 0, createReadOnlyHouseAccess(({ dhw }) => dhw.topCelsius)], // cylinder top, °C
  [0x9e, F32, 0, createReadOnlyHouseAccess(({ dhw }) => dhw.bottomCelsius)], // cylinder bottom, °C
]

export const SIMULATED_HOT_WATER_REGISTERS: readonly SimulatedRegisterRow[] = [
  [0x01, U16, 3, createStoredValueAccess(1)], // enabled
  // Circulation pump.
  [
    0x02,
    U8,
    1,
    createReadOnlyHouseAccess(({ dhw, timeMs }) => Number(findActiveSlot(dhw.circulation, timeMs) !== undefined)),
  ],
  [
    0x03, // mode
    U16,
    3,
    createNumberRegisterAccess(
      (plant) => OPERATING_MODES_BY_CODE.indexOf(plant.house.dhw.mode),
      (plant, value) => patchSimulatedDhw(plant, { mode: OPERATING_MODES_BY_CODE[value] ?? 'auto' }),
      [0, 2],
    ),
  ],
  [
    0x04, // target, °C
    F32,
    3,
    createNumberRegisterAccess(
      (plant) => plant.house.dhw.targetCelsius,
      (plant, value) => patchSimulatedDhw(plant, { targetCelsius: value }),
      [35, 70],
    ),
  ],
  [0x05, F32, 1, createReadOnlyHouseAccess(({ dhw }) => dhw.topCelsius)], // now, °C
  [0x06, U8, 1, createReadOnlyHouseAccess(({ dhw }) => Number(dhw.charging))], // reheating
  [0x08, F32, 1, createReadOnlyHouseAccess(({ boiler }) => (boiler.mode === 'dhw' ? boiler.flowSetCelsius : 0))], // flow wanted, °C
  [0x09, DATE, 2, createStoredValueAccess(UNSET_DATE_VALUE)], // holiday from
  [0x0a, DATE, 2, createStoredValueAccess(UNSET_DATE_VALUE)], // holiday to
  [
    0x0d, // special function; the value 6 is a single charge of the cylinder
    U8,
    3,
    createNumberRegisterAccess(
      (plant) => (plant.house.dhw.boost ? 6 : 0),
      (plant, value) => patchSimulatedDhw(plant, { boost: value === 6 }),
      [0, 6],
    ),
  ],
  [0x0f, U16, 1, createReadOnlyHouseAccess(({ dhw }) => Number(dhw.charging))], // status
  [0x10, TIME, 2, createStoredValueAccess({ hour: 0, minute: 0, second: 0 })], // holiday from, time
  [0x11, TIME, 2, createStoredValueAccess({ hour: 0, minute: 0, second: 0 })], // holiday to, time
]

export const SIMULATED_SOLAR_REGISTERS: readonly SimulatedRegisterRow[] = [
  [0x01, U8, 3, createReadOnlyHouseAccess(({ solar }) => Number(solar.enabled))], // enabled
  [0x02, U8, 3, createReadOnlyHouseAccess(() => 1)], // function mode
  [0x03, F32, 0, createReadOnlyHouseAccess(({ solar }) => solar.collectorCelsius)], // collector, °C
  [0x04, F32, 3, createStoredValueAccess(8)], // difference that switches on, K
  [0x05, F32, 3, createStoredValueAccess(130)], // collector limit, °C
  [0x07, F32, 0, createReadOnlyHouseAccess(({ dhw }) => dhw.bottomCelsius)], // return, °C
  [0x08, U8, 0, createReadOnlyHouseAccess(({ solar }) => Number(solar.pumpOn))], // pump
  [0x09, F32, 0, createReadOnlyHouseAccess(({ solar }) => solar.yieldKwh)], // yield, kWh
  [0x0b, U32, 0, createReadOnlyHouseAccess(({ solar }) => Math.floor(solar.pumpHours))], // pump hours
]

/** There is one cylinder, but the regulator has registers for three. */
const firstOnly = (access: SimulatedRegisterAccessors): SimulatedRegisterAccessors => ({
  ...access,
  read: (plant, index) => (index === 0 ? access.read(plant, index) : undefined),
})

export const SIMULATED_CYLINDER_REGISTERS: readonly SimulatedRegisterRow[] = [
  [0x01, F32, 3, firstOnly(createReadOnlyHouseAccess(({ solar }) => solar.cylinderMaxCelsius))], // highest, °C
  [0x02, F32, 3, firstOnly(createReadOnlyHouseAccess(({ dhw }) => dhw.hysteresisK))], // hysteresis, K
  [0x03, F32, 3, firstOnly(createStoredValueAccess(0))], // offset, K
  [0x04, F32, 0, firstOnly(createReadOnlyHouseAccess(({ dhw }) => dhw.bottomCelsius))], // now, °C
]
