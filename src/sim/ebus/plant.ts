/**
 * Plant: the one house that all virtual devices look at and act on.
 *
 * Pure, but for the plant it is given.
 */
import type { SimulatedHouse, HouseZone } from '../house-state.ts'

export interface SimulatedPlant {
  house: SimulatedHouse
}

export function changeZone(plant: SimulatedPlant, index: number, change: Partial<HouseZone>): void {
  const zones = plant.house.zones.map((zone, at) => (at === index ? { ...zone, ...change } : zone))
  plant.house = { ...plant.house, zones }
}
