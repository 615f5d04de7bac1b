/**
 * eBUS vectors: what others saw on real buses and what ebusd's definition files say, as `test/vectors/ebus.json` keeps
 * it.
 *
 * Does I/O.
 */
import { readFileSync } from 'node:fs'

interface EbusVectors {
  readonly energy_dates: readonly {
    readonly date: string
    readonly period: string
    readonly bytes: string
    readonly from: string
  }[]
}

export const ebusVectors = JSON.parse(
  readFileSync(new URL('./vectors/ebus.json', import.meta.url), 'utf8'),
) as EbusVectors
