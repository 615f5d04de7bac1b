/** Own doctor facts: the doctor's facts about a running node, from the node itself. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import type { StatusView } from '../web/api-requests.ts'
import type { DoctorFacts, ServiceDoctorFacts } from '../web/doctor.ts'

export function gatherOwnDoctorFacts(
  data: DataDirectory,
  status: StatusView,
  services: readonly ServiceDoctorFacts[],
): DoctorFacts {
  const { bavail, bsize } = statfsSync(data.root)
  return {
    nodeVersion: process.version,
    dataRoot: data.root,
    // A configuration with problems would not have started.
    configProblems: [],
    configFile: undefined,
    dataWritable: isPathWritable(data.root),
    freeBytes: bavail * bsize,
    looseKeys: listLooseKeys(data),
    // The gateway answers, since it produces this answer. Its port is taken, by itself.
    gateway: { url: status.url, answers: true },
    listenerFaults: [],
    ledger: undefined,
    services,
  }
}

export function isPathWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Keys that other users of the machine may read or write, with their modes. */
export function listLooseKeys({ nodeKey, ownerToken }: DataDirectory): DoctorFacts['looseKeys'] {
  return [nodeKey, ownerToken]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mode: (statSync(path).mode & 0o777).toString(8) }))
    .filter(({ mode }) => mode !== '600' && mode !== '400')
}
