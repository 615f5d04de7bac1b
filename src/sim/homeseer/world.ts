/**
 * World: what the parts of the simulated HomeSeer share.
 *
 * Pure: a shape.
 */
import type { AdapterReply } from '../../homeseer/wire/admin-adapter.ts'
import type { Faults } from './fault.ts'
import type { House } from './house.ts'
import type { SimUser, System } from './system.ts'

export interface World {
  readonly house: House
  readonly system: System
  readonly faults: Faults
  /** Refs that changed since a caller asked last, by the id the caller chose. */
  readonly changedSince: Map<string, Set<number>>
  /** What the admin adapter answered, by id: an id is performed once. */
  readonly performed: Map<string, AdapterReply>
  /** Login on the ASCII port is per address, not per connection. */
  readonly asciiUsers: Map<string, SimUser>
}

export function newWorld(house: House, system: System, faults: Faults): World {
  return { house, system, faults, changedSince: new Map(), performed: new Map(), asciiUsers: new Map() }
}
