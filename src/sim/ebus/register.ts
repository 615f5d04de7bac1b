/**
 * Register: one numbered value of a virtual device, how it is written in bytes and what reading and writing it does.
 *
 * Pure.
 */
import type { Datatype, FieldValue } from '../../ebus/wire/datatype.ts'
import { datatype } from '../../ebus/wire/datatypes.ts'
import type { Plant } from './plant.ts'

export type RegisterValue = FieldValue | undefined

export interface Register {
  readonly type: Datatype<FieldValue>
  /** `undefined` is written as the type's replacement value. */
  readonly read: (plant: Plant, instance: number) => RegisterValue
  /** `false` refuses the value. Without it the register is read only. */
  readonly write?: (plant: Plant, value: RegisterValue, instance: number) => boolean
}

/** Bit 1: writable. Bit 0: stable, or set by a person. */
export type RegisterFlags = 0 | 1 | 2 | 3

export function typed(spec: string): Datatype<FieldValue> {
  const type = datatype(spec)
  if (type === undefined) throw new RangeError(`no data type ${spec}`)
  return type
}

/** The types of B524, under the names of ebusd's definitions. */
export const F32 = typed('EXP')
export const U8 = typed('U1L')
export const U16 = typed('U2L')
export const U32 = typed('U4L')
export const DATE = typed('HDA:3')
export const TIME = typed('HTI')

/** A number within limits that a person may set. */
export function setting(
  get: (plant: Plant, instance: number) => number | undefined,
  set: (plant: Plant, value: number, instance: number) => void,
  [min, max]: readonly [number, number],
): Pick<Register, 'read' | 'write'> {
  return {
    read: get,
    write(plant, value, instance) {
      if (typeof value !== 'number' || value < min || value > max) return false
      set(plant, value, instance)
      return true
    },
  }
}

/** Kept by the device and looked at by nobody else in this house. */
export function remembered(initial: RegisterValue): Pick<Register, 'read' | 'write'> {
  // Per house, so that two simulators in one process do not share a setting.
  const kept = new WeakMap<Plant, Map<number, RegisterValue>>()
  return {
    read: (plant, instance) => {
      const values = kept.get(plant)
      return values?.has(instance) === true ? values.get(instance) : initial
    },
    write(plant, value, instance) {
      const values = kept.get(plant) ?? new Map<number, RegisterValue>()
      kept.set(plant, values.set(instance, value))
      return true
    },
  }
}
