/**
 * Decoded field: a telegram in words, and one value in it.
 */
import type { RegulatorValue } from './register.ts'

export interface DecodedField {
  readonly name: string
  /** `undefined`: the device said that it has no value. */
  readonly value: RegulatorValue | undefined
  readonly unit?: string | undefined
}

export interface DecodedTelegram {
  readonly name: string
  readonly act: 'read' | 'write' | 'broadcast'
  /** Which zone, circuit or slot, from 0. */
  readonly instance?: number
  readonly fields: readonly DecodedField[]
  /** Its bytes hold a code or a telephone number, and its fields do not say it. */
  readonly secret?: true
}
