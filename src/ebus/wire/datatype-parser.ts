/** Datatype parser: finds every datatype by the name that ebusd's definitions give it, `TYPE[:length][,divisor]`. */
import type { Datatype, DatatypeValue } from './datatype.ts'
import { DATE_DATATYPES } from './date-type.ts'
import { createBitsDatatype, createNumberDatatypeByName } from './number-type.ts'
import { createHexDatatype, createIgnDatatype, createNtsDatatype, createStrDatatype } from './text-type.ts'
import { TIME_DATATYPES } from './time-type.ts'

const FIXED = new Map<string, Datatype<DatatypeValue>>(
  [...DATE_DATATYPES, ...TIME_DATATYPES].map((type) => [type.name, type]),
)

const SPEC = /^(?<name>[A-Z][A-Z0-9_]*)(?::(?<length>\d{1,3}))?(?:,(?<divisor>\d{1,6}))?$/

/** Finds a number type by its name. It throws on an unknown name, because these names are written in our own tables. */
export function requireNumberDatatype(spec: string): Datatype<number> {
  const [name = '', divisor] = spec.split(',')
  const type = createNumberDatatypeByName(name, divisor === undefined ? 1 : Number(divisor))
  if (type === undefined) throw new RangeError(`${spec} is not a number type`)
  return type
}

/** `undefined` for a name nobody knows or a length the type cannot have. Lengths count bytes, or bits for BIn. */
export function parseDatatype(spec: string): Datatype<DatatypeValue> | undefined {
  const { name = '', length, divisor } = SPEC.exec(spec)?.groups ?? {}
  if (divisor !== undefined || (length === undefined && createNumberDatatypeByName(name, 1) !== undefined))
    return length === undefined && divisor !== '0' ? createNumberDatatypeByName(name, Number(divisor ?? 1)) : undefined
  return FIXED.get(length === undefined ? name : `${name}:${length}`) ?? sized(name, Number(length ?? 1))
}

function sized(name: string, length: number): Datatype<DatatypeValue> | undefined {
  const bit = /^BI([0-7])$/.exec(name)?.[1]
  if (bit !== undefined) return createBitsDatatype(Number(bit), length)
  if (length === 0) return undefined
  switch (name) {
    case 'STR':
      return createStrDatatype(length)
    case 'NTS':
      return createNtsDatatype(length)
    case 'HEX':
      return createHexDatatype(length)
    case 'IGN':
      return createIgnDatatype(length)
    default:
      return undefined
  }
}
