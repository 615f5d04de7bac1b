/**
 * Whole number: an option that counts something. What is no number is a wrong command line, not a default.
 */
import { InvalidArgumentError } from 'commander'

export function createWholeNumberParser(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`)
  }
}
