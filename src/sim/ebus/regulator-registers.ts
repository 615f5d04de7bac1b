/**
 * Regulator registers: the B524 registers of a 720- or 700-family controller, by opcode, group and number.
 *
 *   02/00 system   02/01 hot water   02/02 circuits   02/03 zones   02/04 solar   02/05 cylinders
 *   06/09 regulator slot   06/0A thermostats   06/0C function modules
 */
import type { SimulatedRegister, RegisterFlags } from './register.ts'
import { SIMULATED_REMOTE_GROUP_NUMBERS, createRemoteRegisterRows } from './regulator-remote.ts'
import type { SimulatedRegisterRow } from './regulator-row-builders.ts'
import {
  SIMULATED_CYLINDER_REGISTERS,
  SIMULATED_HOT_WATER_REGISTERS,
  SIMULATED_SOLAR_REGISTERS,
  SIMULATED_SYSTEM_REGISTERS,
} from './regulator-system.ts'
import {
  SIMULATED_CIRCUIT_REGISTERS,
  SIMULATED_ZONE_REGISTERS,
  SIMULATED_ZONE_REGISTERS_700,
} from './regulator-zones.ts'

export interface SimulatedExtendedRegister extends SimulatedRegister {
  readonly flags: RegisterFlags
}

/** 720 controllers keep their week in B555, 700 controllers in B524 03/04. */
export type SimulatedRegulatorFamily = '720' | '700'

const groups = (
  zones: readonly SimulatedRegisterRow[],
): readonly (readonly [opcode: number, group: number, rows: readonly SimulatedRegisterRow[]])[] => [
  [0x02, 0x00, SIMULATED_SYSTEM_REGISTERS],
  [0x02, 0x01, SIMULATED_HOT_WATER_REGISTERS],
  [0x02, 0x02, SIMULATED_CIRCUIT_REGISTERS],
  [0x02, 0x03, zones],
  [0x02, 0x04, SIMULATED_SOLAR_REGISTERS],
  [0x02, 0x05, SIMULATED_CYLINDER_REGISTERS],
  ...SIMULATED_REMOTE_GROUP_NUMBERS.map((group) => [0x06, group, createRemoteRegisterRows(group)] as const),
]

/** One number per register: opcode, group, number; the instance is an argument of reading. */
const key = (opcode: number, group: number, register: number): number => (opcode << 24) | (group << 16) | register

const tableOf = (zones: readonly SimulatedRegisterRow[]): ReadonlyMap<number, SimulatedExtendedRegister> =>
  new Map(
    groups(zones).flatMap(([opcode, group, rows]) =>
      rows.map(
        ([register, type, flags, access]) => [key(opcode, group, register), { type, flags, ...access }] as const,
      ),
    ),
  )

const TABLES: Readonly<Record<SimulatedRegulatorFamily, ReadonlyMap<number, SimulatedExtendedRegister>>> = {
  '720': tableOf(SIMULATED_ZONE_REGISTERS),
  '700': tableOf(SIMULATED_ZONE_REGISTERS_700),
}

/** `undefined` for a register this controller does not have. */
export function findSimulatedExtendedRegister(
  family: SimulatedRegulatorFamily,
  [opcode, group, register]: readonly [opcode: number, group: number, register: number],
): SimulatedExtendedRegister | undefined {
  return TABLES[family].get(key(opcode, group, register))
}
