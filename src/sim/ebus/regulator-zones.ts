/** Regulator, heating side: groups 02 circuits and 03 zones of B524. */
import type { DatatypeValue } from '../../ebus/wire/datatype.ts'
import type { SimulatedHouse } from '../house-state.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import { patchSimulatedZone } from './simulated-plant.ts'
import { DATE, F32, createStoredValueAccess, createNumberRegisterAccess, TIME, U16, U32, U8 } from './register.ts'
import type { SimulatedRegisterAccessors, SimulatedRegisterRow } from './regulator-row-builders.ts'
import {
  OPERATING_MODES_BY_CODE,
  UNSET_DATE_VALUE,
  patchSimulatedCircuit,
  toCalendarDate,
  createReadOnlyAccess,
  createPaddedTextDatatype,
  toTimeOfDay,
} from './regulator-row-builders.ts'

const HOUR_MS = 3_600_000
/** The value of a date that was never set. */
const NO_HOLIDAY_MS = Date.UTC(2015, 0, 1)

const circuit = (
  read: (circuit: SimulatedHouse['circuits'][number]) => number | undefined,
): SimulatedRegisterAccessors =>
  createReadOnlyAccess((plant, index) => {
    const found = plant.house.circuits[index]
    return found === undefined ? undefined : read(found)
  })

/** A number of a circuit that a person may set. */
const circuitSetting = (
  field: 'curve' | 'flowMaxCelsius' | 'flowMinCelsius' | 'summerLimitCelsius',
  limits: readonly [number, number],
): SimulatedRegisterAccessors =>
  createNumberRegisterAccess(
    (plant, index) => plant.house.circuits[index]?.[field],
    (plant, value, index) => patchSimulatedCircuit(plant, index, { [field]: value }),
    limits,
  )

const zone = (
  read: (zone: SimulatedHouse['zones'][number], house: SimulatedHouse) => DatatypeValue | undefined,
): SimulatedRegisterAccessors =>
  createReadOnlyAccess((plant, index) => {
    const found = plant.house.zones[index]
    return found === undefined ? undefined : read(found, plant.house)
  })

/** `circuit` and `zone` read as empty for instances that this house does not have, as a regulator's unused ones do. */
export const SIMULATED_CIRCUIT_REGISTERS: readonly SimulatedRegisterRow[] = [
  // Type: 0 none, 1 heating.
  [0x02, U16, 3, createReadOnlyAccess(({ house: { circuits } }, index) => Number(circuits[index] !== undefined))],
  [0x06, U8, 3, createReadOnlyAccess(() => 0)], // cooling enabled
  [0x07, F32, 1, circuit(({ flowSetCelsius }) => flowSetCelsius)], // flow wanted, °C
  [0x08, F32, 1, circuit(({ flowCelsius }) => flowCelsius)], // flow, °C
  [0x0e, U16, 3, createStoredValueAccess(1)], // setback: 0 eco, 1 night
  [0x0f, F32, 3, circuitSetting('curve', [0.1, 4])], // heating curve
  [0x10, F32, 3, circuitSetting('flowMaxCelsius', [15, 80])], // highest flow, °C
  [0x12, F32, 3, circuitSetting('flowMinCelsius', [15, 80])], // lowest flow, °C
  [0x14, F32, 3, circuitSetting('summerLimitCelsius', [10, 99])], // summer limit, °C
  [0x15, U16, 3, createStoredValueAccess(1)], // room control: 1 modulating
  [0x1a, F32, 0, circuit(() => 0)], // mixer movement
  [0x1b, U8, 1, circuit(({ pumpOn }) => Number(pumpOn))], // state: 0 standby, 1 heating, 2 cooling
  [0x1c, F32, 1, circuit(() => 0)], // adaption
  [0x1d, F32, 3, circuit(({ frostCelsius }) => frostCelsius)], // frost protection, °C
  [0x1e, U16, 1, circuit(({ pumpOn }) => Number(pumpOn))], // pump
  [0x20, F32, 0, circuit(({ flowSetCelsius }) => flowSetCelsius)], // flow computed, °C
  [0x21, F32, 0, circuit(({ hasMixer, mixerPct }) => (hasMixer ? mixerPct : undefined))], // mixer, %
  // Humidity, %.
  [
    0x22,
    F32,
    0,
    createReadOnlyAccess(({ house: { zones } }, index) => zones.find((each) => each.circuit === index)?.humidityPct),
  ],
  // Dew point, °C.
  [
    0x23,
    F32,
    0,
    createReadOnlyAccess(({ house: { zones } }, index) => dewPoint(zones.find((each) => each.circuit === index))),
  ],
  [0x24, U32, 0, circuit(({ pumpHours }) => Math.floor(pumpHours))], // pump hours
  [0x25, U32, 0, circuit(({ pumpStarts }) => pumpStarts)], // pump starts
]

/** Magnus formula. */
function dewPoint(room: SimulatedHouse['zones'][number] | undefined): number | undefined {
  if (room === undefined) return undefined
  const gamma = Math.log(room.humidityPct / 100) + (17.62 * room.roomCelsius) / (243.12 + room.roomCelsius)
  return (243.12 * gamma) / (17.62 - gamma)
}

const vetoRuns = ({ quickVeto }: SimulatedHouse['zones'][number], { timeMs }: SimulatedHouse): boolean =>
  quickVeto !== undefined && quickVeto.untilMs > timeMs

/** A setpoint that a person may set. */
const zoneSetting = (
  field: 'dayCelsius' | 'nightCelsius',
  limits: readonly [number, number],
): SimulatedRegisterAccessors =>
  createNumberRegisterAccess(
    (plant, index) => plant.house.zones[index]?.[field],
    (plant, value, index) => patchSimulatedZone(plant, index, { [field]: value }),
    limits,
  )

export const SIMULATED_ZONE_REGISTERS: readonly SimulatedRegisterRow[] = [
  [0x03, DATE, 2, holidayDate('startMs')], // holiday from
  [0x04, DATE, 2, holidayDate('endMs')], // holiday to
  [0x05, F32, 2, holidaySetpoint()], // holiday, °C
  [
    0x06, // mode
    U16,
    3,
    createNumberRegisterAccess(
      (plant, index) => OPERATING_MODES_BY_CODE.indexOf(plant.house.zones[index]?.mode ?? 'off'),
      (plant, value, index) => patchSimulatedZone(plant, index, { mode: OPERATING_MODES_BY_CODE[value] ?? 'auto' }),
      [0, 2],
    ),
  ],
  [
    0x08, // quick veto, °C
    F32,
    3,
    createNumberRegisterAccess(
      (plant, index) => plant.house.zones[index]?.quickVetoCelsius,
      (plant, value, index) => setVeto(plant, index, { celsius: value }),
      [5, 30],
    ),
  ],
  [0x09, F32, 3, zoneSetting('nightCelsius', [5, 30])], // night, °C
  [
    0x0e, // special function
    U8,
    3,
    createNumberRegisterAccess(specialFunction, setSpecialFunction, [0, 5]),
  ],
  [0x0f, F32, 1, zone(({ roomCelsius }) => roomCelsius)], // room, °C
  [0x12, U8, 1, zone(({ heating }) => Number(heating))], // valve
  [0x13, U16, 2, zone((self, { zones }) => (zones[0] === self ? 1 : 2))], // sensor: 1 regulator, 2 the first thermostat
  [0x14, F32, 1, zone(({ targetCelsius }) => targetCelsius)], // wanted now, °C; computed
  [0x16, createPaddedTextDatatype(6), 3, zone(({ name }) => name.slice(0, 6))], // name, six characters
  [0x17, createPaddedTextDatatype(6), 3, zone(({ name }) => name.slice(0, 6))], // name, its first part
  [0x18, createPaddedTextDatatype(6), 3, zone(({ name }) => name.slice(6, 12))], // name, its second
  [0x1b, U16, 1, zone(({ heating }) => Number(heating))], // status
  // Index; FF where there is no such zone.
  [0x1c, U8, 1, createReadOnlyAccess(({ house: { zones } }, index) => (zones[index] === undefined ? 0xff : index))],
  [
    0x1e, // quick veto until, time
    TIME,
    1,
    zone(({ quickVeto }) =>
      quickVeto === undefined ? { hour: 0, minute: 0, second: 0 } : toTimeOfDay(quickVeto.untilMs),
    ),
  ],
  [0x20, TIME, 2, zone(({ holiday }) => toTimeOfDay(holiday?.endMs ?? 0))], // holiday to, time
  [0x21, TIME, 2, zone(({ holiday }) => toTimeOfDay(holiday?.startMs ?? 0))], // holiday from, time
  [0x22, F32, 3, zoneSetting('dayCelsius', [15, 30])], // day, °C
  // Quick veto until, date.
  [
    0x24,
    DATE,
    1,
    zone(({ quickVeto }) => (quickVeto === undefined ? UNSET_DATE_VALUE : toCalendarDate(quickVeto.untilMs))),
  ],
  // Quick veto, h; writing starts it.
  [
    0x26,
    F32,
    3,
    createNumberRegisterAccess(vetoHours, (plant, value, index) => setVeto(plant, index, { hours: value }), [0, 12]),
  ],
  [0x28, F32, 0, zone(({ humidityPct }) => humidityPct)], // humidity, %
]

/**
 * Registers that 720 controllers introduced: end and hours of a quick veto, times of a holiday, the day setpoint at 22.
 */
const SINCE_720: ReadonlySet<number> = new Set([0x1e, 0x20, 0x21, 0x22, 0x24, 0x26, 0x28])

export const SIMULATED_ZONE_REGISTERS_700: readonly SimulatedRegisterRow[] = [
  ...SIMULATED_ZONE_REGISTERS.filter(([register]) => !SINCE_720.has(register)),
  [0x07, F32, 3, zoneSetting('dayCelsius', [5, 30])], // day, °C
]

/** 3 for a quick veto, 0 for none; a holiday only consists of its dates. */
function specialFunction(plant: SimulatedPlant, index: number): number | undefined {
  const found = plant.house.zones[index]
  if (found === undefined) return undefined
  return vetoRuns(found, plant.house) ? QUICK_VETO : 0
}

const QUICK_VETO = 3
/** How long a veto runs, as there is no register for its hours. */
const VETO_HOURS = 6

/**
 * 0 ends the special function; a 700 controller starts a quick veto this way, because it has no register for its hours.
 */
function setSpecialFunction(plant: SimulatedPlant, value: number, index: number): void {
  if (value === 0) patchSimulatedZone(plant, index, { quickVeto: undefined })
  else if (value === QUICK_VETO && plant.house.zones[index]?.quickVeto === undefined)
    setVeto(plant, index, { hours: VETO_HOURS })
}

function vetoHours(plant: SimulatedPlant, index: number): number | undefined {
  const found = plant.house.zones[index]
  if (found === undefined) return undefined
  const { quickVeto } = found
  // Three hours are the regulator's default.
  return quickVeto === undefined ? 3 : Math.max(0, (quickVeto.untilMs - plant.house.timeMs) / HOUR_MS)
}

/** Writing a duration starts the veto; zero ends it. */
function setVeto(
  plant: SimulatedPlant,
  index: number,
  { celsius, hours }: { readonly celsius?: number; readonly hours?: number },
): void {
  const found = plant.house.zones[index]
  if (found === undefined) return
  const quickVetoCelsius = celsius ?? found.quickVetoCelsius
  const untilMs = hours === undefined ? found.quickVeto?.untilMs : plant.house.timeMs + hours * HOUR_MS
  const runs = untilMs !== undefined && untilMs > plant.house.timeMs
  patchSimulatedZone(plant, index, {
    quickVetoCelsius,
    quickVeto: runs ? { celsius: quickVetoCelsius, untilMs } : undefined,
  })
}

function holidayDate(edge: 'startMs' | 'endMs'): SimulatedRegisterAccessors {
  return {
    read: (plant, index) => {
      const holiday = plant.house.zones[index]?.holiday
      return holiday === undefined ? UNSET_DATE_VALUE : toCalendarDate(holiday[edge])
    },
    write(plant, value, index) {
      const found = plant.house.zones[index]
      if (found === undefined || typeof value !== 'object' || !('day' in value)) return false
      const midnight = Date.UTC(value.year ?? 2015, (value.month ?? 1) - 1, value.day ?? 1)
      // The last day of a holiday is part of it.
      const edges = { startMs: midnight, endMs: midnight + 24 * HOUR_MS - 60_000 }
      // Begin and end are two registers that are written one after the other; in between the holiday has one day.
      const holiday = found.holiday ?? { ...edges, celsius: 15 }
      patchSimulatedZone(plant, index, { holiday: { ...holiday, [edge]: edges[edge] } })
      return true
    },
  }
}

function holidaySetpoint(): SimulatedRegisterAccessors {
  return createNumberRegisterAccess(
    (plant, index) => plant.house.zones[index]?.holiday?.celsius ?? 15,
    (plant, celsius, index) => {
      // Stored even without a holiday, as in a real regulator.
      const { holiday = { startMs: NO_HOLIDAY_MS, endMs: NO_HOLIDAY_MS } } = plant.house.zones[index] ?? {}
      if (plant.house.zones[index] !== undefined) patchSimulatedZone(plant, index, { holiday: { ...holiday, celsius } })
    },
    [5, 30],
  )
}
