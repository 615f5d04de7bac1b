/**
 * Access points: connections to voice backends, where the owner configured any.
 *
 * Pure joining.
 */
import type { GuardedBus } from '../call/guarded-bus.ts'
import { expandUrlVariables } from '../config/access-points.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { AccessPoint, AccessPointClients } from '../mcp/access-point-client.ts'
import { createCatalogueCache } from '../mcp/catalogue.ts'
import { subscribeToChanges } from '../mcp/change-subscription.ts'
import type { FacePrincipal } from '../mcp/face-bus.ts'
import { createRequestStateSeal } from '../mcp/request-state-seal.ts'
import { createMisconfiguredStart } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

export interface AccessPointDependencies {
  readonly config: Config
  readonly spine: GuardedBus
  readonly families: readonly string[]
  readonly version: string
  readonly logger: Logger
}

/** `undefined` where there are none; then nothing of it is loaded. */
export function createAccessPointPrincipal({
  name,
  profile,
}: {
  readonly name: string
  readonly profile: string
}): FacePrincipal {
  return { kind: 'principal', id: `access-point:${name}`, role: 'agent', restrictions: { profiles: [profile] } }
}

export async function openAccessPoints(
  parts: AccessPointDependencies,
): Promise<Result<Omit<AccessPointClients, 'listChanged'> | undefined, StartFault>> {
  const { config, spine, families, version, logger } = parts
  if (config.accessPoints.length === 0) return ok(undefined)
  const catalogues = createCatalogueCache({ bus: spine.bus, profiles: config.profiles, families })
  const answering = { bus: spine.bus, stateSeal: createRequestStateSeal(systemClock), log: logger }
  const points: AccessPoint[] = []
  for (const { name, url, profile } of config.accessPoints) {
    const expanded = expandUrlVariables(url, process.env)
    if (!expanded.ok)
      return createMisconfiguredStart(
        `accessPoints: ${name} needs the environment variable ${expanded.fault.missing}, which is not set.`,
      )
    // Whoever speaks in the room is a principal of its own, with no more rights than the profile.
    const principal = createAccessPointPrincipal({ name, profile })
    const door = { profile, style: 'underscore' } as const
    if (catalogues.find(principal, door) === 'no-such-profile')
      return createMisconfiguredStart(`accessPoints: ${name} names the profile ${profile}, and there is none.`)
    points.push({
      name,
      url: expanded.value,
      session: {
        answering,
        principal,
        catalogue: () => catalogues.current(principal, door),
        serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
      },
    })
  }
  const { startAccessPoints } = await import('../mcp/access-point-client.ts')
  const clients = startAccessPoints(points, logger)
  const stopWatching = subscribeToChanges(spine.bus, {
    onList: (kind) => {
      if (kind === 'tool') clients.listChanged()
    },
    onResource: () => undefined,
  })
  const stop = async (): Promise<void> => {
    stopWatching()
    await clients.stop()
  }
  return ok({ reporter: clients.reporter, stop })
}
