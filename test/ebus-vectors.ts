/**
 * eBUS vectors: what others saw on real buses and what ebusd's definition files say, as `test/vectors/ebus.json` keeps
 * it.
 */
import { readFileSync } from 'node:fs'

interface EbusVectors {
  readonly energy_dates: readonly {
    readonly date: string
    readonly period: string
    readonly bytes: string
    readonly from: string
  }[]
  /** Answers to `0D hi lo`, what ebusd 26.1 prints for them, and the definition it reads them by. */
  readonly boiler_registers: readonly {
    readonly field: string
    readonly register: string
    readonly answer: string
    readonly ebusd: string
    readonly message: string
    readonly file: string
  }[]
  readonly serial_numbers: readonly {
    readonly about: string
    readonly pieces: readonly string[]
    readonly serial: string
  }[]
  /** Entries of an error history; without a code they are empty. */
  readonly error_entries: readonly {
    readonly bytes: string
    readonly code?: number
    readonly status?: number
    readonly at?: string
    readonly from: string
  }[]
  /** `QQZZPBSBNN…/NN…` and what ebusd 26.1 prints for it, numbers in the place of words. */
  readonly telegrams: readonly {
    readonly telegram: string
    readonly ebusd: string
    readonly message: string
    readonly file: string
  }[]
  /** Answers of an HMU and what ebusd 26.1 prints for them by 08.hmu.csv. */
  readonly heat_pump_registers: readonly {
    readonly message: string
    readonly telegram: string
    readonly ebusd: string
  }[]
  /** Which services ebusd's definition file of a product asks for. */
  readonly products: readonly {
    readonly file: string
    readonly id: string
    readonly kind: string
    readonly extended: boolean
    readonly timers: string
  }[]
}

export const ebusVectors = JSON.parse(
  readFileSync(new URL('./vectors/ebus.json', import.meta.url), 'utf8'),
) as EbusVectors
