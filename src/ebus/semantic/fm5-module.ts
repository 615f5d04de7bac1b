/**
 * FM5 module: whether there is a function module, and whether the meaning of its inputs and outputs is known.
 *
 *   ABSENT        no function module
 *   INTERPRETED   a module whose configuration tells which inputs are collector and cylinder
 *   GPIO_ONLY     a module in a configuration with unknown inputs and outputs
 */
import type { RegisterReadKey } from './read-key.ts'
import { toRegisterReadKey } from './read-key.ts'
import { decodeRegisterValue, extractRegisterBytes } from './register.ts'
import type { RegulatorRegister } from './register.ts'
import {
  MAX_INSTANCE_COUNT,
  FUNCTION_MODULE_REGISTER_GROUP,
  SYSTEM_REGISTERS,
  requireRemoteDeviceRegisters,
} from './regulator-register-map.ts'
import type { RegisterShadow } from './register-shadow.ts'
import type { HeatingTopology } from './topology.ts'

export const FM5_MODES = ['INTERPRETED', 'GPIO_ONLY', 'ABSENT'] as const
export type Fm5Mode = (typeof FM5_MODES)[number]

/** Configurations with solar heating; 3 is three mixers, 6 an allSTOR. */
const SOLAR_CONFIGURATIONS: ReadonlySet<number> = new Set([1, 2])
const MODULE_CLASS = 0x26

/** Returns `undefined` until enough is known. */
export function resolveFm5Mode(topology: HeatingTopology, shadow: RegisterShadow): Fm5Mode | undefined {
  const { regulator } = topology
  if (regulator === undefined) return undefined
  const present = modulePresent(topology, shadow, regulator.address)
  if (present !== true) return present === false ? 'ABSENT' : undefined
  const configuration = numberAt(
    shadow,
    toRegisterReadKey(regulator.address, SYSTEM_REGISTERS.moduleConfiguration),
    SYSTEM_REGISTERS.moduleConfiguration,
  )
  if (configuration === undefined) return undefined
  return SOLAR_CONFIGURATIONS.has(configuration) ? 'INTERPRETED' : 'GPIO_ONLY'
}

export function isFm5Interpretable(topology: HeatingTopology, shadow: RegisterShadow): boolean {
  return resolveFm5Mode(topology, shadow) === 'INTERPRETED'
}

/** The modules in the regulator's slots, or on the bus itself. */
function modulePresent(topology: HeatingTopology, shadow: RegisterShadow, regulator: number): boolean | undefined {
  if (topology.module !== undefined) return true
  const { classAddress } = requireRemoteDeviceRegisters(FUNCTION_MODULE_REGISTER_GROUP)
  let looked = false
  for (let instance = 0; instance < MAX_INSTANCE_COUNT; instance++) {
    const connected = topology.slotConnected(FUNCTION_MODULE_REGISTER_GROUP, instance)
    looked ||= connected !== undefined
    if (
      connected === true &&
      numberAt(shadow, toRegisterReadKey(regulator, classAddress, instance), classAddress) === MODULE_CLASS
    )
      return true
  }
  return looked ? false : undefined
}

function numberAt(shadow: RegisterShadow, key: RegisterReadKey, register: RegulatorRegister): number | undefined {
  const entry = shadow.get(key)
  if (entry === undefined || entry.state === 'tombstone') return undefined
  const value = decodeRegisterValue(register.type, extractRegisterBytes(entry.payload))
  return typeof value === 'number' ? value : undefined
}
