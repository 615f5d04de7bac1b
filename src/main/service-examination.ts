/**
 * Service examination: what the doctor says about each service of a running node. A service that can examine itself
 * answers with its own findings, the same as before a start; for the others their health is reported.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Service, ServiceFinding } from '../bus/capability.ts'
import type { ServiceDoctorFacts } from '../web/doctor.ts'
import { toServiceDoctorFacts } from '../web/doctor.ts'

/** A person waits for the answer; an examination before the start may take as long. */
const MAX_WAIT_MS = 8_000

const CANNOT_WORK =
  'cannot do its work: it tried to write, and could not. Is the disk full or read-only, or the data directory gone?'

/** `failing`: the services that have just found, by trying, that they cannot do their work. */
export async function examineServices(
  services: readonly Pick<Service, 'name' | 'health' | 'examine'>[],
  failing: readonly string[],
): Promise<readonly ServiceDoctorFacts[]> {
  const facts = await Promise.all(
    services.map(async (service) => {
      const { name } = service
      const fromHealth = toServiceDoctorFacts({ name, ...service.health() })
      // A service that knew beforehand has advice of its own.
      if (failing.includes(name) && fromHealth.status === 'ok')
        return [{ ...fromHealth, status: 'failing', advice: CANNOT_WORK }]
      const findings = await findingsInTime(service)
      return findings === undefined || findings.length === 0
        ? [fromHealth]
        : findings.map((finding) => ({ name, ...finding }))
    }),
  )
  return facts.flat()
}

/** `undefined` where the service has nothing of its own to say, says it too late, or fails to look. */
async function findingsInTime({ examine }: Pick<Service, 'examine'>): Promise<readonly ServiceFinding[] | undefined> {
  if (examine === undefined) return undefined
  const impatience = new AbortController()
  const late = rest(MAX_WAIT_MS, undefined, { signal: impatience.signal, ref: false }).catch(() => undefined)
  try {
    return await Promise.race([examine(), late])
  } catch {
    return undefined
  } finally {
    impatience.abort()
  }
}
