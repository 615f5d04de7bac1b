/**
 * Regulator rows: the words in which the regulator's registers are written down.
 *
 * Pure, but for the plant it is given.
 */
import type { CalendarDate, Datatype, FieldValue, TimeOfDay } from '../../ebus/wire/datatype.ts'
import type { House, OperatingMode } from '../house-state.ts'
import type { Plant } from './plant.ts'
import type { Register, RegisterFlags } from './register.ts'
import { typed } from './register.ts'

export type Access = Pick<Register, 'read' | 'write'>
/** A line of a register table, as short as a line can be. */
export type Row = readonly [register: number, type: Datatype<FieldValue>, flags: RegisterFlags, access: Access]

/** As registers number them. */
export const MODES: readonly OperatingMode[] = ['off', 'auto', 'manual']
/** What a date reads as that nobody has set. */
export const UNSET_DATE: CalendarDate = { year: 2015, month: 1, day: 1 }

/** Read only. */
export const shown = (read: Register['read']): Access => ({ read })
export const house = (read: (house: House) => number | undefined): Access => shown((plant) => read(plant.house))
/** Meters count in Wh; registers show whole kWh. */
export const kwh = (read: (house: House) => number): Access => house((state) => Math.floor(read(state) / 1_000))
/** Padded with NUL. */
export const text = (length: number): Datatype<FieldValue> => typed(`NTS:${length}`)

export const change = (plant: Plant, part: Partial<House>): void => {
  plant.house = { ...plant.house, ...part }
}
export const changeDhw = (plant: Plant, part: Partial<House['dhw']>): void =>
  change(plant, { dhw: { ...plant.house.dhw, ...part } })
export const changeCircuit = (plant: Plant, index: number, part: Partial<House['circuits'][number]>): void =>
  change(plant, {
    circuits: plant.house.circuits.map((circuit, at) => (at === index ? { ...circuit, ...part } : circuit)),
  })

export function dateOf(ms: number): CalendarDate {
  const date = new Date(ms)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

export function timeOf(ms: number): TimeOfDay {
  const date = new Date(ms)
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds() }
}
