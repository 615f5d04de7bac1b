/**
 * Plant: the one house that all virtual devices look at and act on.
 *
 * Pure, but for the plant it is given.
 */
import type { House, Zone } from '../house-state.ts'

export interface Plant {
  house: House
}

export function changeZone(plant: Plant, index: number, change: Partial<Zone>): void {
  const zones = plant.house.zones.map((zone, at) => (at === index ? { ...zone, ...change } : zone))
  plant.house = { ...plant.house, zones }
}
