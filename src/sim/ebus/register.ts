/**
 * Register: one numbered value of a virtual device, its encoding, and the effects of reading and writing it.
 */
import type { Datatype, DatatypeValue } from '../../ebus/wire/datatype.ts'
import { parseDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { SimulatedPlant } from './simulated-plant.ts'

export type SimulatedRegisterValue = DatatypeValue | undefined

export interface SimulatedRegister {
  readonly type: Datatype<DatatypeValue>
  /** `undefined` is written as the type's replacement value. */
  readonly read: (plant: SimulatedPlant, instance: number) => SimulatedRegisterValue
  /** Returns `false` to refuse the value. Without it the register is read-only. */
  readonly write?: (plant: SimulatedPlant, value: SimulatedRegisterValue, instance: number) => boolean
}

/** Bit 1: writable. Bit 0: stable, or set by a person. */
export type RegisterFlags = 0 | 1 | 2 | 3

export function requireDatatype(spec: string): Datatype<DatatypeValue> {
  const type = parseDatatype(spec)
  if (type === undefined) throw new RangeError(`no data type ${spec}`)
  return type
}

/** The types of B524, under the names of ebusd's definitions. */
export const F32 = requireDatatype('EXP')
export const U8 = requireDatatype('U1L')
export const U16 = requireDatatype('U2L')
export const U32 = requireDatatype('U4L')
export const DATE = requireDatatype('HDA:3')
export const TIME = requireDatatype('HTI')

/** A number within limits that a person may set. */
export function createNumberRegisterAccess(
  get: (plant: SimulatedPlant, instance: number) => number | undefined,
  set: (plant: SimulatedPlant, value: number, instance: number) => void,
  [min, max]: readonly [number, number],
): Pick<SimulatedRegister, 'read' | 'write'> {
  return {
    read: get,
    write(plant, value, instance) {
      if (typeof value !== 'number' || value < min || value > max) return false
      set(plant, value, instance)
      return true
    },
  }
}

/** A value that the device stores and that has no effect in this house. */
export function createStoredValueAccess(initial: SimulatedRegisterValue): Pick<SimulatedRegister, 'read' | 'write'> {
  // Stored per house, so that two simulators in one process do not share a setting.
  const stored = new WeakMap<SimulatedPlant, Map<number, SimulatedRegisterValue>>()
  return {
    read: (plant, instance) => {
      const values = stored.get(plant)
      return values?.has(instance) === true ? values.get(instance) : initial
    },
    write(plant, value, instance) {
      const values = stored.get(plant) ?? new Map<number, SimulatedRegisterValue>()
      stored.set(plant, values.set(instance, value))
      return true
    },
  }
}
