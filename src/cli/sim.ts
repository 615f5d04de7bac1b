/** Sim: the parts of the virtual house alone, for anybody's client to be tested against. */
import type { Command } from 'commander'
import { addDevicesSim } from './sim-devices-server.ts'
import { addEbusSim } from './sim-ebus-server.ts'
import { addHomeseerSim } from './sim-homeseer-server.ts'

export function addSimCommands(sim: Command): void {
  addEbusSim(sim)
  addHomeseerSim(sim)
  addDevicesSim(sim)
}
