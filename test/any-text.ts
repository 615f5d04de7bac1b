/** Any text: for properties that hold whatever a stranger sends. */
import fc from 'fast-check'
import type { StringSharedConstraints } from 'fast-check'

const [FIRST_SURROGATE, SURROGATES, LAST] = [0xd800, 0x800, 0x10_ffff]

/**
 * What `unit: 'binary'` stands for in fast-check, every code point but lone surrogates. That builds a map of all 1.1
 * million code points first, for two seconds in every test file that says so.
 */
const codePoint = fc.nat(LAST - SURROGATES).map(
  (number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (point === undefined || text !== String.fromCodePoint(point)) throw new TypeError('not one code point')
    return point < FIRST_SURROGATE ? point : point - SURROGATES
  },
)

export function anyText(constraints: StringSharedConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: codePoint })
}
