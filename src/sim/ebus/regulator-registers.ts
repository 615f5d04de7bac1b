/**
 * Regulator registers: the B524 world of a 720-family controller, by opcode, group and number.
 *
 *   02/00 system   02/01 hot water   02/02 circuits   02/03 zones   02/04 solar   02/05 cylinders
 *   06/09 regulator slot   06/0A thermostats   06/0C function modules
 *
 * Pure.
 */
import type { Register, RegisterFlags } from './register.ts'
import { REMOTE_GROUPS, remoteRows } from './regulator-remote.ts'
import type { Row } from './regulator-rows.ts'
import { CYLINDERS, HOT_WATER, SOLAR, SYSTEM } from './regulator-system.ts'
import { CIRCUITS, ZONES } from './regulator-zones.ts'

export interface ExtendedRegister extends Register {
  readonly flags: RegisterFlags
}

const GROUPS: readonly (readonly [opcode: number, group: number, rows: readonly Row[]])[] = [
  [0x02, 0x00, SYSTEM],
  [0x02, 0x01, HOT_WATER],
  [0x02, 0x02, CIRCUITS],
  [0x02, 0x03, ZONES],
  [0x02, 0x04, SOLAR],
  [0x02, 0x05, CYLINDERS],
  ...REMOTE_GROUPS.map((group) => [0x06, group, remoteRows(group)] as const),
]

/** One number per register: opcode, group, number; the instance is an argument of reading. */
const key = (opcode: number, group: number, register: number): number => (opcode << 24) | (group << 16) | register

const table = new Map<number, ExtendedRegister>(
  GROUPS.flatMap(([opcode, group, rows]) =>
    rows.map(([register, type, flags, access]) => [key(opcode, group, register), { type, flags, ...access }] as const),
  ),
)

/** `undefined` for a register this controller does not have. */
export function extendedRegister(opcode: number, group: number, register: number): ExtendedRegister | undefined {
  return table.get(key(opcode, group, register))
}
