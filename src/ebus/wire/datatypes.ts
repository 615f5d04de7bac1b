/**
 * Datatypes: every type by the name definitions give it, `TYPE[:length][,divisor]`.
 */
import type { Datatype, FieldValue } from './datatype.ts'
import { DATE_TYPES, DAY, DTM, WEEKDAY_TYPES } from './date-type.ts'
import { PIN, bcdType, bitsType, hcdType } from './digit-type.ts'
import { numberType } from './number-type.ts'
import type { TelegramPart } from './text-type.ts'
import { hexType, ignType, ntsType, strType, temParameterType } from './text-type.ts'
import { TIME_TYPES } from './time-type.ts'

const FIXED = new Map<string, Datatype<FieldValue>>(
  [PIN, DAY, DTM, ...DATE_TYPES, ...WEEKDAY_TYPES, ...TIME_TYPES].map((type) => [type.name, type]),
)

const SPEC = /^(?<name>[A-Z][A-Z0-9_]*)(?::(?<length>\d{1,3}))?(?:,(?<divisor>-?\d{1,6}))?$/

/** A number type by name; throws for anything else: the name is written in our own tables. */
export function numberDatatype(spec: string): Datatype<number> {
  const [name = '', divisor] = spec.split(',')
  const type = numberType(name, divisor === undefined ? 1 : Number(divisor))
  if (type === undefined) throw new RangeError(`${spec} is no number type`)
  return type
}

/** `undefined` for a name nobody knows or a length the type cannot have. Lengths count bytes, or bits for BIn. */
export function parseDatatype(spec: string, part: TelegramPart = 'response'): Datatype<FieldValue> | undefined {
  const { name = '', length, divisor } = SPEC.exec(spec)?.groups ?? {}
  if (divisor !== undefined || (length === undefined && numberType(name, 1) !== undefined))
    return length === undefined && divisor !== '0' ? numberType(name, Number(divisor ?? 1)) : undefined
  if (name === 'TEM_P' && length === undefined) return temParameterType(part)
  return FIXED.get(length === undefined ? name : `${name}:${length}`) ?? sized(name, length)
}

function sized(name: string, lengthText: string | undefined): Datatype<FieldValue> | undefined {
  const bit = /^BI([0-7])$/.exec(name)?.[1]
  if (bit !== undefined) return bitsType(Number(bit), Number(lengthText ?? 1))
  const length = Number(lengthText ?? (name === 'HCD' ? 4 : 1))
  if (length === 0) return undefined
  switch (name) {
    case 'BCD':
      return length <= 4 ? bcdType(length) : undefined
    case 'HCD':
      return length <= 4 ? hcdType(length) : undefined
    case 'STR':
      return strType(length)
    case 'NTS':
      return ntsType(length)
    case 'HEX':
      return hexType(length)
    case 'IGN':
      return ignType(length)
    default:
      return undefined
  }
}
