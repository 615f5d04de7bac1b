/**
 * Event files: the simulated HomeSeer's data directory, as far as its events go.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../core/folder-store.ts'
import { eventGroupsFile, eventsFile } from './automation.ts'
import type { SimulatedSystem } from './system.ts'

export interface EventFilePlaces {
  readonly events: string
  readonly groups: string
}

/** `HomeSeerData_2.json` is a directory, in spite of its name. */
export function writeEventFiles(directory: string, system: SimulatedSystem): EventFilePlaces {
  const data = join(directory, 'HomeSeerData_2.json')
  const places = { events: join(data, 'events.json'), groups: join(data, 'eventgroups.json') }
  makeFolder(data)
  writeFileSync(places.events, JSON.stringify(eventsFile(system)))
  writeFileSync(places.groups, JSON.stringify(eventGroupsFile(system)))
  return places
}
