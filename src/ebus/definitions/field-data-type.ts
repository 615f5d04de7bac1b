/**
 * Field data types: every base type that a definition can name, as a row of a table.
 *
 *   number     UCH … S4B, BCD, HCD, PIN, D1C, FLT, EXP, BI0 … BI7, BDY, HDY, TEM_P
 *   calendar   BDA … DTM, BTI … TTQ
 *   text       STR, NTS, HEX, IGN
 */

export interface NumberType {
  readonly kind: 'number'
  readonly id: string
  /** Below 8, the value is a part of one byte, starting at `firstBit`. */
  readonly bits: number
  readonly firstBit: number
  readonly isSigned: boolean
  readonly isBigEndian: boolean
  /** Two decimal digits to the byte, packed (`bcd`) or as one number (`hcd`). */
  readonly coding: 'binary' | 'bcd' | 'hcd' | 'float'
  /** Every pattern is a number; `replacement` then only applies to value lists. */
  readonly isRequired: boolean
  readonly replacement: number
  /** Limits of the raw patterns, as they are in the bytes. */
  readonly min: number
  readonly max: number
  /** The raw step of a range column; 0 for none. */
  readonly step: number
  /** Above 1 divides, below 0 multiplies. */
  readonly divisor: number
  readonly baseDivisor: number
  /** Decimals that are printed. */
  readonly digits: number
  readonly isAdjustable: boolean
  /** PIN: always four digits, because it is a code rather than a number. */
  readonly isPadded: boolean
  readonly isWeekday: boolean
  readonly isTemParameter: boolean
}

export interface CalendarType {
  readonly kind: 'calendar'
  readonly id: string
  readonly bits: number
  readonly holds: 'date' | 'time' | 'moment'
  readonly isBcd: boolean
  /** Last byte first. */
  readonly isReversed: boolean
  readonly replacement: number
  /** Minutes of one step, for times of less than two bytes. */
  readonly stepMinutes: number
  /** BDZ: Monday is 0. */
  readonly isMondayZero: boolean
}

export interface TextType {
  readonly kind: 'text'
  readonly id: string
  readonly bits: number
  /** The byte that fills up a short text, and replaces control characters. */
  readonly fill: number
  readonly isHex: boolean
  readonly isIgnored: boolean
}

export type FieldDataType = NumberType | CalendarType | TextType

/** `:*` stands for the rest of the data. */
export const REMAINDER_LENGTH = 255
/** Longest part of a telegram that a definition may describe, in bytes. */
export const MAX_DEFINED_DATA_BYTES = 24
const MAX_TEXT_BITS = 31 * 8

const PLAIN: Omit<NumberType, 'id' | 'bits' | 'replacement' | 'min' | 'max'> = {
  kind: 'number',
  firstBit: 0,
  isSigned: false,
  isBigEndian: false,
  coding: 'binary',
  isRequired: false,
  step: 0,
  divisor: 1,
  baseDivisor: 1,
  digits: 0,
  isAdjustable: false,
  isPadded: false,
  isWeekday: false,
  isTemParameter: false,
}

type NumberTraits = Partial<Omit<NumberType, 'kind' | 'id' | 'bits'>>

const TYPES = new Map<string, FieldDataType>()

function add(type: FieldDataType, ...names: readonly string[]): void {
  for (const name of [type.id, ...names]) TYPES.set(name, { ...type, id: name })
}

/** All ones, or the most negative number, is the replacement unless every pattern is a number. */
function addInteger(id: string, bytes: number, traits: NumberTraits = {}): void {
  const span = 2 ** (8 * bytes)
  const { isSigned = false, isRequired = false } = traits
  const replacement = isSigned ? span / 2 : span - 1
  add({
    ...PLAIN,
    id,
    bits: 8 * bytes,
    replacement: isRequired ? 0 : replacement,
    min: isSigned ? span / 2 + (isRequired ? 0 : 1) : 0,
    max: isSigned ? span / 2 - 1 : span - (isRequired ? 1 : 2),
    ...traits,
    baseDivisor: traits.divisor ?? 1,
  })
}

const signed = { isSigned: true }
const big = { isBigEndian: true }
const required = { isRequired: true }

for (const [id, bytes, traits] of [
  ['UCH', 1, {}],
  ['U1L', 1, required],
  ['SCH', 1, signed],
  ['D1B', 1, signed],
  ['S1L', 1, { ...signed, ...required }],
  ['D1C', 1, { max: 200, divisor: 2, digits: 1 }],
  ['UIN', 2, {}],
  ['UIR', 2, big],
  ['U2L', 2, required],
  ['U2B', 2, { ...big, ...required }],
  ['SIN', 2, signed],
  ['SIR', 2, { ...signed, ...big }],
  ['S2L', 2, { ...signed, ...required }],
  ['S2B', 2, { ...signed, ...big, ...required }],
  ['D2B', 2, { ...signed, divisor: 256, digits: 3 }],
  ['D2C', 2, { ...signed, divisor: 16, digits: 2 }],
  ['FLT', 2, { ...signed, divisor: 1_000, digits: 3 }],
  ['FLR', 2, { ...signed, ...big, divisor: 1_000, digits: 3 }],
  ['U3N', 3, {}],
  ['U3R', 3, big],
  ['U3L', 3, required],
  ['U3B', 3, { ...big, ...required }],
  ['S3N', 3, signed],
  ['S3R', 3, { ...signed, ...big }],
  ['S3L', 3, { ...signed, ...required }],
  ['S3B', 3, { ...signed, ...big, ...required }],
  ['ULG', 4, {}],
  ['ULR', 4, big],
  ['U4L', 4, required],
  ['U4B', 4, { ...big, ...required }],
  ['SLG', 4, signed],
  ['SLR', 4, { ...signed, ...big }],
  ['S4L', 4, { ...signed, ...required }],
  ['S4B', 4, { ...signed, ...big, ...required }],
  // The only replacement value is the quiet NaN 7FC00000; the limits are half of what a binary32 can hold.
  ['EXP', 4, { ...signed, coding: 'float', replacement: 0x7fc0_0000, min: 0xfeff_ffff, max: 0x7eff_ffff }],
  ['EXR', 4, { ...signed, ...big, coding: 'float', replacement: 0x7fc0_0000, min: 0xfeff_ffff, max: 0x7eff_ffff }],
  ['PIN', 2, { ...big, coding: 'bcd', max: 0x9999, isPadded: true }],
  ['TEM_P', 2, { max: 0xffff, isTemParameter: true }],
  ['BDY', 1, { replacement: 7, max: 6, isWeekday: true }],
  ['HDY', 1, { replacement: 0, min: 1, max: 7, isWeekday: true }],
] as const satisfies readonly (readonly [string, number, NumberTraits])[])
  addInteger(id, bytes, traits)

for (const bytes of [1, 2, 3, 4]) {
  const digits = { max: 100 ** bytes - 1 }
  addInteger(`BCD:${bytes}`, bytes, { ...digits, coding: 'bcd' })
  addInteger(`HCD:${bytes}`, bytes, { ...digits, ...required, coding: 'hcd' })
}
addInteger('BCD', 1, { max: 99, coding: 'bcd' })
addInteger('HCD', 4, { max: 99_999_999, ...required, coding: 'hcd' })

for (let firstBit = 0; firstBit < 8; firstBit++) {
  const bits = Math.min(7, 8 - firstBit)
  const traits = { ...required, replacement: 0, min: 0, max: 2 ** bits - 1, isAdjustable: firstBit < 7 }
  add({ ...PLAIN, ...traits, id: `BI${firstBit}`, bits, firstBit })
}

function addCalendar(
  id: string,
  bits: number,
  holds: CalendarType['holds'],
  traits: Partial<CalendarType> & { readonly also?: string } = {},
): void {
  const { also, ...own } = traits
  const type: CalendarType = {
    kind: 'calendar',
    id,
    bits,
    holds,
    isBcd: false,
    isReversed: false,
    replacement: 0xff,
    stepMinutes: 0,
    isMondayZero: false,
    ...own,
  }
  add(type, ...(also === undefined ? [] : [also]))
}

addCalendar('BDA', 32, 'date', { isBcd: true, also: 'BDA:4' })
addCalendar('BDA:3', 24, 'date', { isBcd: true })
addCalendar('BDZ', 32, 'date', { isBcd: true, isMondayZero: true })
addCalendar('HDA', 32, 'date', { also: 'HDA:4' })
addCalendar('HDA:3', 24, 'date')
addCalendar('DAY', 16, 'date')
addCalendar('DTM', 32, 'moment')
addCalendar('BTI', 24, 'time', { isBcd: true, isReversed: true })
addCalendar('HTI', 24, 'time')
addCalendar('VTI', 24, 'time', { isReversed: true, replacement: 0x63 })
addCalendar('BTM', 16, 'time', { isBcd: true, isReversed: true })
addCalendar('HTM', 16, 'time')
addCalendar('VTM', 16, 'time', { isReversed: true })
addCalendar('MIN', 16, 'time', { stepMinutes: 1 })
addCalendar('TTM', 8, 'time', { stepMinutes: 10, replacement: 0x90 })
addCalendar('TTH', 6, 'time', { stepMinutes: 30, replacement: 0 })
addCalendar('TTQ', 7, 'time', { stepMinutes: 15, replacement: 0 })

const TEXT = { kind: 'text', bits: MAX_TEXT_BITS, fill: 0, isHex: false, isIgnored: false } as const
add({ ...TEXT, id: 'STR', fill: 0x20 })
add({ ...TEXT, id: 'NTS' })
add({ ...TEXT, id: 'HEX', isHex: true })
add({ ...TEXT, id: 'IGN', isIgnored: true })

/**
 * Finds a base type by its name in capitals. `length` 0 means none; only adjustable types accept a length that they do
 * not list.
 */
export function findDataType(name: string, length: number): FieldDataType | undefined {
  const sized = length > 0 ? TYPES.get(`${name}:${length}`) : undefined
  if (sized !== undefined) return sized
  const type = TYPES.get(name)
  return type === undefined || (length > 0 && !isLengthAdjustable(type)) ? undefined : type
}

export function isLengthAdjustable(type: FieldDataType): boolean {
  return type.kind === 'text' || (type.kind === 'number' && type.isAdjustable)
}

export function listDataTypeNames(): readonly string[] {
  return [...TYPES.keys()]
}
