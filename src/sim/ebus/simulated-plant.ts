/**
 * Simulated plant: the house whose state all virtual devices read and change.
 *
 * Pure, but for the plant it is given.
 */
import type { SimulatedHouse, SimulatedZone } from '../house-state.ts'

export interface SimulatedPlant {
  house: SimulatedHouse
}

export function patchSimulatedZone(plant: SimulatedPlant, index: number, change: Partial<SimulatedZone>): void {
  const zones = plant.house.zones.map((zone, at) => (at === index ? { ...zone, ...change } : zone))
  plant.house = { ...plant.house, zones }
}
