/**
 * Number scale: a number type narrowed by the cells of a field: divisor, number of bits, range.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { NumberType } from './field-data-type.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import { checkNumberRange, isReplacementValue, parseRawNumber, scaleRawNumber } from './number-codec.ts'
import { splitAtFirst } from './scan-number.ts'

type ScaleResult = Result<NumberType, DefinitionErrorCode>

export const MAX_NUMBER_DIVISOR = 1_000_000_000

/** One object for each scale of a type: 16,000 definitions share a few dozen. */
const derivedTypes = new WeakMap<NumberType, Map<string, NumberType>>()

function shared(type: NumberType, key: string, make: () => NumberType): NumberType {
  let derived = derivedTypes.get(type)
  if (derived === undefined) derivedTypes.set(type, (derived = new Map<string, NumberType>()))
  let found = derived.get(key)
  if (found === undefined) derived.set(key, (found = make()))
  return found
}

/**
 * Divisors are multiplied; one that divides and one that multiplies cannot be combined. `divisor` 0 and `bits` 0 change
 * nothing.
 */
export function deriveScaledNumberType(type: NumberType, divisor: number, bits: number): ScaleResult {
  if (type.isTemParameter)
    return Math.abs(divisor) === divisor && divisor <= 1 && (bits === 0 || bits === type.bits)
      ? ok(type)
      : fail('invalid-argument')
  const own = type.divisor
  let combined = divisor === 0 ? 1 : divisor
  if (own !== 1) {
    if (combined === 1) combined = own
    else if ((combined < 0 && own > 1) || (own < 0 && combined > 1)) return fail('invalid-argument')
    else combined *= Math.abs(own)
  }
  const count = bits === 0 ? type.bits : bits
  if (combined === own && count === type.bits) return ok(type)
  if (Math.abs(combined) > MAX_NUMBER_DIVISOR) return fail('out-of-range')
  if (count !== type.bits) {
    if (!type.isAdjustable) return fail('invalid-argument')
    if (count + type.firstBit > 8) return fail('out-of-range')
  }
  return ok(
    shared(type, `${combined},${count}`, () => ({
      ...type,
      bits: count,
      divisor: combined,
      // Bits are printed without fraction whatever their divisor.
      digits: count < 8 ? 0 : fractionDigits(combined),
      max: count < 8 ? 2 ** count - 1 : type.max,
      step: 0,
    })),
  )
}

/** The fewest decimals that distinguish all multiples of 1/divisor. */
function fractionDigits(divisor: number): number {
  let digits = 0
  for (let power = 1; power < divisor; power *= 10) digits++
  return digits
}

/** `from-to` or `from-to:step` in displayed units. */
export function deriveLimitedNumberType(type: NumberType, range: string): ScaleResult {
  const separator = range.indexOf('-', 1)
  const fromText = separator < 0 ? range : range.slice(0, separator)
  const [toText, stepText] = splitAtFirst(separator < 0 ? range : range.slice(separator + 1), ':')
  const from = parseRawNumber(type, fromText.trim())
  const step = stepText === undefined ? 0 : parseRawNumber(type, stepText.trim())
  const to = parseRawNumber(type, toText.trim())
  if (typeof from !== 'number' || typeof to !== 'number' || typeof step !== 'number') return fail('out-of-range')
  const hasValues = ![from, to].some(
    (raw) => isReplacementValue(type, raw) || checkNumberRange(type, raw) !== undefined,
  )
  if (!hasValues || type.bits < 8 || scaleRawNumber(type, from) > scaleRawNumber(type, to)) return fail('out-of-range')
  if (from === type.min && to === type.max && (step === 0 || step === type.step)) return ok(type)
  // For ebusd, a TEM parameter with limits is a plain number.
  const limits = { min: from, max: to, step, isTemParameter: false }
  return ok(shared(type, `range ${from} ${to} ${step}`, () => ({ ...type, ...limits })))
}
