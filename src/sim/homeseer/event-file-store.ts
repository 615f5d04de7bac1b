/**
 * Event files: writes the files about events in the simulated HomeSeer's data directory.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateFolder } from '../../core/folder-store.ts'
import { createEventGroupsFileContent, createEventsFileContent } from './simulated-events.ts'
import type { SimulatedHomeseerSystem } from './simulated-system.ts'

export interface SimulatedEventFilePaths {
  readonly events: string
  readonly groups: string
}

/** `HomeSeerData_2.json` is a directory, in spite of its name. */
export function writeSimulatedEventFiles(directory: string, system: SimulatedHomeseerSystem): SimulatedEventFilePaths {
  const data = join(directory, 'HomeSeerData_2.json')
  const places = { events: join(data, 'events.json'), groups: join(data, 'eventgroups.json') }
  createPrivateFolder(data)
  writeFileSync(places.events, JSON.stringify(createEventsFileContent(system)))
  writeFileSync(places.groups, JSON.stringify(createEventGroupsFileContent(system)))
  return places
}
