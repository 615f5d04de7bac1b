/**
 * Heat pump register map: the values of a Vaillant heat pump (HMU) that need no service level, by their meaning.
 *
 *   B5 1A 05 FF 32 20 ▸ three bytes, then the value        B5 16 18 02 ▸ one byte, then the value
 *
 * Numbers and codings are those of ebusd's definitions for this product (08.hmu.csv).
 */
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import type { FreshnessClass } from './register.ts'

export interface HeatPumpRegister {
  readonly secondary: 0x1a | 0x16
  /** The data of the request. */
  readonly question: readonly number[]
  readonly freshness: FreshnessClass
  readonly read: (answer: Uint8Array) => number | undefined
}

type Row = readonly [number: number, type: string, freshness: FreshnessClass]

/** The number of bytes before the value. */
const SKIPPED = { 0x1a: 3, 0x16: 1 } as const

function register(
  secondary: HeatPumpRegister['secondary'],
  question: readonly number[],
  [, type, freshness]: Row,
): HeatPumpRegister {
  const coding = requireNumberDatatype(type)
  const skipped = SKIPPED[secondary]
  return {
    secondary,
    question,
    freshness,
    read: (answer) => {
      if (answer.length < skipped + coding.length) return undefined
      const decoded = coding.decode(answer.subarray(skipped))
      return decoded.ok && decoded.value !== undefined ? Number(decoded.value.toFixed(3)) : undefined
    },
  }
}

function group<Name extends string>(
  first: number,
  rows: Readonly<Record<Name, Row>>,
): Readonly<Record<Name, HeatPumpRegister>> {
  const registers = Object.entries<Row>(rows).map(([name, row]) => [
    name,
    register(0x1a, [0x05, 0xff, first, row[0]], row),
  ])
  return Object.fromEntries(registers) as Record<Name, HeatPumpRegister>
}

/** The block of B511 with the state of a heat pump. */
export const HEAT_PUMP_STATE_BLOCK_NUMBER = 0x07

const KWH_TENTHS = 'UIN,10'

export const HEAT_PUMP_REGISTERS = {
  ...group(0x32, {
    heatingYieldToday: [0x00, KWH_TENTHS, 'config'],
    coolingYieldToday: [0x01, KWH_TENTHS, 'config'],
    dhwYieldToday: [0x02, KWH_TENTHS, 'config'],
    heatingYieldMonth: [0x0e, KWH_TENTHS, 'config'],
    heatingCopMonth: [0x0f, KWH_TENTHS, 'config'],
    heatingYieldTotal: [0x10, 'UIN', 'config'],
    heatingCopTotal: [0x11, KWH_TENTHS, 'config'],
    dhwYieldMonth: [0x12, KWH_TENTHS, 'config'],
    dhwCopMonth: [0x13, KWH_TENTHS, 'config'],
    dhwYieldTotal: [0x16, 'ULG', 'config'],
    dhwCopTotal: [0x17, KWH_TENTHS, 'config'],
    heatingTarget: [0x1c, 'D2C', 'state_slow'],
    flowTarget: [0x1f, 'D2C', 'state_fast'],
    flow: [0x20, 'D2C', 'state_fast'],
    energyIntegral: [0x21, 'SIN', 'state_slow'],
    environmentPower: [0x23, 'SCH,10', 'state_fast'],
    electricPower: [0x24, 'SCH,10', 'state_fast'],
    compressorUse: [0x25, 'SCH', 'state_fast'],
    airIntake: [0x26, 'D2C', 'state_slow'],
    sourceOutlet: [0x27, 'D2C', 'state_slow'],
    circuitFlow: [0x3c, 'UIN', 'state_slow'],
    // In bar, with a quarter of a temperature's resolution.
    flowPressure: [0x3d, 'D2C,4', 'state_slow'],
    sourcePressure: [0x3e, 'D2C,4', 'state_slow'],
    hours: [0x40, 'ULG', 'config'],
    heatingHours: [0x41, 'ULG', 'config'],
    coolingHours: [0x43, 'ULG', 'config'],
    dhwHours: [0x44, 'ULG', 'config'],
    electricTotal: [0x4d, 'UIN', 'config'],
  }),
  ...group(0x34, {
    compressorHours: [0x00, 'UIN', 'config'],
    compressorStarts: [0x01, 'UIN', 'config'],
    buildingPumpHours: [0x02, 'UIN', 'config'],
    valveSwitches: [0x07, 'UIN', 'config'],
  }),
  yieldTotal: register(0x16, [0x18, 0x01], [0, 'UIN', 'config']),
  consumptionTotal: register(0x16, [0x18, 0x02], [0, 'UIN', 'config']),
} as const
