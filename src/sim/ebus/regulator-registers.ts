/**
 * Regulator registers: the B524 world of a 720- or 700-family controller, by opcode, group and number.
 *
 *   02/00 system   02/01 hot water   02/02 circuits   02/03 zones   02/04 solar   02/05 cylinders
 *   06/09 regulator slot   06/0A thermostats   06/0C function modules
 */
import type { SimulatedRegister, RegisterFlags } from './register.ts'
import { SIMULATED_REMOTE_GROUPS, remoteRows } from './regulator-remote.ts'
import type { RegisterRow } from './regulator-rows.ts'
import { SIMULATED_CYLINDERS, SIMULATED_HOT_WATER, SIMULATED_SOLAR, SIMULATED_SYSTEM } from './regulator-system.ts'
import { SIMULATED_CIRCUITS, SIMULATED_ZONES, ZONES_OF_700 } from './regulator-zones.ts'

export interface ExtendedRegister extends SimulatedRegister {
  readonly flags: RegisterFlags
}

/** 720 controllers keep their week in B555, 700 controllers in B524 03/04. */
export type RegulatorFamily = '720' | '700'

const groups = (
  zones: readonly RegisterRow[],
): readonly (readonly [opcode: number, group: number, rows: readonly RegisterRow[]])[] => [
  [0x02, 0x00, SIMULATED_SYSTEM],
  [0x02, 0x01, SIMULATED_HOT_WATER],
  [0x02, 0x02, SIMULATED_CIRCUITS],
  [0x02, 0x03, zones],
  [0x02, 0x04, SIMULATED_SOLAR],
  [0x02, 0x05, SIMULATED_CYLINDERS],
  ...SIMULATED_REMOTE_GROUPS.map((group) => [0x06, group, remoteRows(group)] as const),
]

/** One number per register: opcode, group, number; the instance is an argument of reading. */
const key = (opcode: number, group: number, register: number): number => (opcode << 24) | (group << 16) | register

const tableOf = (zones: readonly RegisterRow[]): ReadonlyMap<number, ExtendedRegister> =>
  new Map(
    groups(zones).flatMap(([opcode, group, rows]) =>
      rows.map(
        ([register, type, flags, access]) => [key(opcode, group, register), { type, flags, ...access }] as const,
      ),
    ),
  )

const TABLES: Readonly<Record<RegulatorFamily, ReadonlyMap<number, ExtendedRegister>>> = {
  '720': tableOf(SIMULATED_ZONES),
  '700': tableOf(ZONES_OF_700),
}

/** `undefined` for a register this controller does not have. */
export function extendedRegister(
  family: RegulatorFamily,
  [opcode, group, register]: readonly [opcode: number, group: number, register: number],
): ExtendedRegister | undefined {
  return TABLES[family].get(key(opcode, group, register))
}
