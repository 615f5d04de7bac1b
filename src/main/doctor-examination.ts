/**
 * Service examination: what the doctor says about each service. Each service has one examination: before a start it
 * contacts the far ends; in a running node the service passes what it knows.
 *
 * Only joins; a service that is not configured is not loaded.
 */
import type { Service } from '../bus/capability.ts'
import { toHealthFinding } from '../bus/capability.ts'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { runOrUndefined } from '../toolbox/time-limit.ts'
import { examineNoticeDestinations } from '../web/notice-destination.ts'
import { locateMeshFiles } from './mesh-files.ts'
import { examineVoiceBackendAccessPoints } from './access-points.ts'
import { listConfiguredFamilies } from './families.ts'

/** A person waits for the answer, so the examination is limited to this time. */
const MAX_WAIT_MS = 8_000

const CANNOT_WORK =
  'cannot do its work: it tried to write, and could not. Is the disk full or read-only, or the data directory gone?'

export interface ExaminationContext {
  readonly dataRoot: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Before a start: every service that a gateway with this configuration would have. */
export async function examineConfiguredServices(
  config: Config,
  { dataRoot, environment }: ExaminationContext,
): Promise<readonly DoctorFinding[]> {
  const { devices, homeseer, ebus, models, mesh, notify } = config
  const { url } = homeseer
  const hasModels = models.builtin || models.endpoints.length > 0
  const place = locateMeshFiles(buildDataDirectoryPaths(dataRoot))
  const found = await Promise.all([
    devices.enabled ? import('../devices/doctor-client.ts').then((doctor) => doctor.examineDevices(devices)) : [],
    url === undefined
      ? []
      : import('../homeseer/doctor-client.ts').then((doctor) => doctor.examineHomeseer({ ...homeseer, url })),
    ebus.buses.length === 0
      ? []
      : import('../ebus/doctor-client.ts').then((doctor) => doctor.examineEbus(ebus, { dataRoot })),
    hasModels
      ? import('../models/doctor-client.ts').then((doctor) => doctor.examineModels({ config: models, environment }))
      : [],
    mesh.enabled ? import('../mesh/doctor-client.ts').then((doctor) => doctor.examineMesh(mesh, place)) : [],
  ])
  return [
    ...found.flat(),
    ...examineNoticeDestinations(notify, environment),
    ...examineVoiceBackendAccessPoints(config, { environment, families: listConfiguredFamilies(config) }),
  ]
}

/** In a running node. `failing`: the services that have just found, by trying, that they cannot do their work. */
export async function examineRunningServices(
  services: readonly Pick<Service, 'name' | 'health' | 'examine'>[],
  failing: readonly string[],
): Promise<readonly DoctorFinding[]> {
  const found = await Promise.all(
    services.map(async (service) => {
      const { name } = service
      const fromHealth = toHealthFinding(name, service.health())
      // A service that reported the failure itself has given its own advice.
      if (failing.includes(name) && fromHealth.level === 'ok')
        return [{ level: 'fail', about: name, sentence: CANNOT_WORK } as const]
      const { examine } = service
      const findings = (examine && (await runOrUndefined(MAX_WAIT_MS, examine))) ?? []
      return findings.length === 0 ? [fromHealth] : findings
    }),
  )
  return found.flat()
}
