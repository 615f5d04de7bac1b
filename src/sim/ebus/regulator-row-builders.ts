/**
 * Regulator row builders: the types and functions with which the regulator's registers are declared.
 *
 * Pure, but for the plant it is given.
 */
import type { CalendarDate, Datatype, DatatypeValue, TimeOfDay } from '../../ebus/wire/datatype.ts'
import type { SimulatedHouse, ZoneOperatingMode } from '../house-state.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import type { SimulatedRegister, RegisterFlags } from './register.ts'
import { requireDatatype } from './register.ts'

export type SimulatedRegisterAccessors = Pick<SimulatedRegister, 'read' | 'write'>
/** A row of a register table, in a short notation. */
export type SimulatedRegisterRow = readonly [
  register: number,
  type: Datatype<DatatypeValue>,
  flags: RegisterFlags,
  access: SimulatedRegisterAccessors,
]

/** The registers' numbers for the modes are the indexes. */
export const OPERATING_MODES_BY_CODE: readonly ZoneOperatingMode[] = ['off', 'auto', 'manual']
/** The value of a date that was never set. */
export const UNSET_DATE_VALUE: CalendarDate = { year: 2015, month: 1, day: 1 }

/** Read only. */
export const createReadOnlyAccess = (read: SimulatedRegister['read']): SimulatedRegisterAccessors => ({ read })
export const createReadOnlyHouseAccess = (
  read: (house: SimulatedHouse) => number | undefined,
): SimulatedRegisterAccessors => createReadOnlyAccess((plant) => read(plant.house))
/** Meters count in Wh; registers show whole kWh. */
export const createEnergyMeterAccess = (read: (house: SimulatedHouse) => number): SimulatedRegisterAccessors =>
  createReadOnlyHouseAccess((state) => Math.floor(read(state) / 1_000))
/** Padded with NUL. */
export const createPaddedTextDatatype = (length: number): Datatype<DatatypeValue> => requireDatatype(`NTS:${length}`)

export const patchSimulatedHouse = (plant: SimulatedPlant, part: Partial<SimulatedHouse>): void => {
  plant.house = { ...plant.house, ...part }
}
export const patchSimulatedDhw = (plant: SimulatedPlant, part: Partial<SimulatedHouse['dhw']>): void =>
  patchSimulatedHouse(plant, { dhw: { ...plant.house.dhw, ...part } })
export const patchSimulatedCircuit = (
  plant: SimulatedPlant,
  index: number,
  part: Partial<SimulatedHouse['circuits'][number]>,
): void =>
  patchSimulatedHouse(plant, {
    circuits: plant.house.circuits.map((circuit, at) => (at === index ? { ...circuit, ...part } : circuit)),
  })

export function toCalendarDate(ms: number): CalendarDate {
  const date = new Date(ms)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

export function toTimeOfDay(ms: number): TimeOfDay {
  const date = new Date(ms)
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds() }
}
