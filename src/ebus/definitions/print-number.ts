/**
 * Number printing: the digits that ebusd prints, which are C's. A tie goes to the even digit, where JavaScript's own
 * functions round it up: 2/16 prints 0.12.
 */

/** Equivalent to `%.<digits>f` of a value that fits in a binary32. */
export function formatFixedNumber(value: number, digits: number): string {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}`
  const text = value.toFixed(digits)
  // A tie needs an odd multiple of 2^-(digits+1).
  const halves = value * 2 ** (digits + 1)
  if (halves % 2 !== 1 && halves % 2 !== -1) return Object.is(value, -0) ? `-${text}` : text
  return evenTie(text, value)
}

/** JavaScript rounds a tie away from zero; if that gives an odd digit, the neighbour towards zero is used. */
function evenTie(text: string, value: number): string {
  const last = text.charCodeAt(text.length - 1) - 48
  // The neighbour towards zero has a last digit that is one less; an odd digit is never 0, so nothing is borrowed.
  if (last % 2 === 0) return text
  const lower = `${text.slice(0, -1)}${last - 1}`
  return value < 0 && !lower.startsWith('-') ? `-${lower}` : lower
}

const SIGNIFICANT = 6

/** `%g`: six significant digits without trailing zeros. */
export function formatGeneralNumber(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  let [mantissa = '', exponentText = '0'] = value.toExponential(SIGNIFICANT - 1).split('e')
  const exponent = Number(exponentText)
  if (isTie(Math.abs(value), exponent)) mantissa = evenTie(mantissa, value)
  if (exponent < -4 || exponent >= SIGNIFICANT) {
    const sign = exponent < 0 ? '-' : '+'
    return `${withoutTrailingZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  // Computed from the rounded digits, because rounding twice could differ.
  return withoutTrailingZeros(Number(`${mantissa}e${exponent}`).toFixed(SIGNIFICANT - 1 - exponent))
}

/** Whether the value lies exactly between two numbers of six digits. */
function isTie(value: number, exponent: number): boolean {
  const unit = exponent - (SIGNIFICANT - 1)
  if (unit <= 0) return (value * 2 ** (1 - unit)) % 2 === 1
  const doubled = value * 2
  return Number.isInteger(doubled) && BigInt(doubled) % (2n * 10n ** BigInt(unit)) === 10n ** BigInt(unit)
}

function withoutTrailingZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
