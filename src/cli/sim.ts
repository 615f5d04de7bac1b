/**
 * Sim: commands that run the parts of the virtual house alone, so that any client can be tested against them.
 *
 * Pure: the files that it calls do the work.
 */
import type { Command } from 'commander'
import { addDevicesSim } from './sim-devices-server.ts'
import { addEbusSim } from './sim-ebus-server.ts'
import { addHomeseerSim } from './sim-homeseer-server.ts'

export function addSimCommands(sim: Command): void {
  addEbusSim(sim)
  addHomeseerSim(sim)
  addDevicesSim(sim)
}
