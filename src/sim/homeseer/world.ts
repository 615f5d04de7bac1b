/**
 * World: what the parts of the simulated HomeSeer share.
 *
 * Pure: a shape.
 */
import type { AdapterReply } from '../../homeseer/wire/admin-adapter.ts'
import type { SimulatedFaults } from './fault.ts'
import type { SimulatedDevices } from './simulated-devices.ts'
import type { SimUser, SimulatedSystem } from './system.ts'

export interface SimulatedWorld {
  readonly house: SimulatedDevices
  readonly system: SimulatedSystem
  readonly faults: SimulatedFaults
  /** Refs that changed since a caller asked last, by the id the caller chose. */
  readonly changedSince: Map<string, Set<number>>
  /** What the admin adapter answered, by id: an id is performed once. */
  readonly performed: Map<string, AdapterReply>
  /** Login on the ASCII port is per address, not per connection. */
  readonly asciiUsers: Map<string, SimUser>
}

export function newWorld(house: SimulatedDevices, system: SimulatedSystem, faults: SimulatedFaults): SimulatedWorld {
  return { house, system, faults, changedSince: new Map(), performed: new Map(), asciiUsers: new Map() }
}
