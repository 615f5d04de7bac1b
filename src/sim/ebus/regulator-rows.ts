/**
 * Regulator rows: the words in which the regulator's registers are written down.
 *
 * Pure, but for the plant it is given.
 */
import type { CalendarDate, Datatype, FieldValue, TimeOfDay } from '../../ebus/wire/datatype.ts'
import type { SimulatedHouse, OperatingMode } from '../house-state.ts'
import type { SimulatedPlant } from './plant.ts'
import type { SimulatedRegister, RegisterFlags } from './register.ts'
import { requireDatatype } from './register.ts'

export type RowAccess = Pick<SimulatedRegister, 'read' | 'write'>
/** A line of a register table, as short as a line can be. */
export type RegisterRow = readonly [
  register: number,
  type: Datatype<FieldValue>,
  flags: RegisterFlags,
  access: RowAccess,
]

/** As registers number them. */
export const OPERATING_MODES: readonly OperatingMode[] = ['off', 'auto', 'manual']
/** What a date reads as that nobody has set. */
export const UNSET_DATE: CalendarDate = { year: 2015, month: 1, day: 1 }

/** Read only. */
export const readOnlyAccess = (read: SimulatedRegister['read']): RowAccess => ({ read })
export const houseAccess = (read: (house: SimulatedHouse) => number | undefined): RowAccess =>
  readOnlyAccess((plant) => read(plant.house))
/** Meters count in Wh; registers show whole kWh. */
export const energyMeterAccess = (read: (house: SimulatedHouse) => number): RowAccess =>
  houseAccess((state) => Math.floor(read(state) / 1_000))
/** Padded with NUL. */
export const paddedTextDatatype = (length: number): Datatype<FieldValue> => requireDatatype(`NTS:${length}`)

export const changeHouse = (plant: SimulatedPlant, part: Partial<SimulatedHouse>): void => {
  plant.house = { ...plant.house, ...part }
}
export const changeDhw = (plant: SimulatedPlant, part: Partial<SimulatedHouse['dhw']>): void =>
  changeHouse(plant, { dhw: { ...plant.house.dhw, ...part } })
export const changeCircuit = (
  plant: SimulatedPlant,
  index: number,
  part: Partial<SimulatedHouse['circuits'][number]>,
): void =>
  changeHouse(plant, {
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
