/**
 * Simulated world: the state that the parts of the simulated HomeSeer share.
 *
 * Pure: a shape.
 */
import type { AdminAdapterReply } from '../../homeseer/wire/admin-adapter.ts'
import type { SimulatedHomeseerFaults } from './simulated-faults.ts'
import type { SimulatedHomeseerDevices } from './simulated-devices.ts'
import type { SimulatedUser, SimulatedHomeseerSystem } from './simulated-system.ts'

export interface SimulatedWorld {
  readonly house: SimulatedHomeseerDevices
  readonly system: SimulatedHomeseerSystem
  readonly faults: SimulatedHomeseerFaults
  /** Refs that changed since a caller's last request, by the id that the caller chose. */
  readonly changedSince: Map<string, Set<number>>
  /** The admin adapter's answers by id, because an id is carried out once. */
  readonly performed: Map<string, AdminAdapterReply>
  /** Login on the ASCII port is per address, not per connection. */
  readonly asciiUsers: Map<string, SimulatedUser>
}

export function createSimulatedWorld(
  house: SimulatedHomeseerDevices,
  system: SimulatedHomeseerSystem,
  faults: SimulatedHomeseerFaults,
): SimulatedWorld {
  return { house, system, faults, changedSince: new Map(), performed: new Map(), asciiUsers: new Map() }
}
