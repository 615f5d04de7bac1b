/**
 * Self check: doctor's facts, as a running node knows them about itself.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import type { StatusView } from '../web/api.ts'
import type { DoctorFacts } from '../web/doctor.ts'
import { serviceFacts } from '../web/doctor.ts'

export function gatherSelfFacts(data: DataDirectory, status: StatusView): DoctorFacts {
  const { bavail, bsize } = statfsSync(data.root)
  return {
    nodeVersion: process.version,
    dataRoot: data.root,
    // A configuration with problems would not have started.
    configProblems: [],
    configFile: undefined,
    dataWritable: isWritable(data.root),
    freeBytes: bavail * bsize,
    looseKeys: [data.nodeKey, data.ownerToken, data.devicesKey]
      .filter((path) => existsSync(path))
      .map((path) => ({ path, mode: (statSync(path).mode & 0o777).toString(8) }))
      .filter(({ mode }) => mode !== '600' && mode !== '400'),
    // It answers: whoever reads this was answered by it. So its port is taken, by itself.
    gateway: { url: status.url, answers: true },
    listenerFaults: [],
    ledger: undefined,
    services: status.services.map(serviceFacts),
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
