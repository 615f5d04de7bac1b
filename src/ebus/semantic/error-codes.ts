/**
 * Error codes: what a boiler complains about, B503.
 *
 *   00 01 ▸ five numbers of two bytes, FFFF where there is none       19 01 FF FF … is error 281
 *
 * Numbers, not texts: which text belongs to a number depends on the product, and nobody has written that down.
 *
 * Pure.
 */
import { numeric } from '../wire/datatypes.ts'

const CODE = numeric('UIN')
const PLACES = 5

/**
 * In the order the device gives them; empty when it has nothing to complain about. `undefined`: this is no such list.
 */
export function decodeErrorCodes(payload: Uint8Array): readonly number[] | undefined {
  if (payload.length < PLACES * CODE.length) return undefined
  return Array.from({ length: PLACES }, (_, place) => CODE.decode(payload.subarray(place * CODE.length)))
    .map((decoded) => (decoded.ok ? decoded.value : undefined))
    .filter((code) => code !== undefined)
}
