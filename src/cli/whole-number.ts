/**
 * Whole number: parses an option that is a count. Anything that is not a number is a usage error, not the default.
 */
import { InvalidArgumentError } from 'commander'

export function createWholeNumberParser(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`)
  }
}
