/** Plant: the one house that all virtual devices look at and act on. */
import type { SimulatedHouse, SimulatedZone } from '../house-state.ts'

export interface SimulatedPlant {
  house: SimulatedHouse
}

export function patchSimulatedZone(plant: SimulatedPlant, index: number, change: Partial<SimulatedZone>): void {
  const zones = plant.house.zones.map((zone, at) => (at === index ? { ...zone, ...change } : zone))
  plant.house = { ...plant.house, zones }
}
