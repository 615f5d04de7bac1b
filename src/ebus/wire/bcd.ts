/**
 * BCD: numbers written two decimal digits to the byte, 0x42 for 42.
 */

/** `undefined` when a nibble is no digit. */
export function fromBcd(byte: number): number | undefined {
  const [tens, ones] = [byte >> 4, byte & 0xf]
  return tens > 9 || ones > 9 ? undefined : tens * 10 + ones
}

export function toBcd(number: number): number {
  return (Math.floor(number / 10) << 4) | (number % 10)
}
