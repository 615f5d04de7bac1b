/**
 * Access points: connections to voice backends, where the owner configured any.
 *
 * This file only connects other modules.
 */
import { toHealthFinding } from '../bus/capability.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import { expandUrlVariables } from '../config/access-points.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Logger } from '../core/logger.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { VoiceBackendAccessPoint, RunningAccessPoints } from '../mcp/access-point-client.ts'
import { createMcpCatalogueCache } from '../mcp/catalogue.ts'
import { subscribeToMcpListChanges } from '../mcp/list-change-subscription.ts'
import type { FacePrincipal } from '../mcp/face-bus.ts'
import { findMcpProfile } from '../mcp/profile.ts'
import { createRequestStateSeal } from '../mcp/request-state-seal.ts'
import { createMisconfiguredStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

export interface AccessPointDependencies {
  readonly config: Config
  readonly spine: GuardedBus
  readonly families: readonly string[]
  readonly version: string
  readonly logger: Logger
}

export function createAccessPointPrincipal({
  name,
  profile,
}: {
  readonly name: string
  readonly profile: string
}): FacePrincipal {
  return { kind: 'principal', id: `access-point:${name}`, role: 'agent', restrictions: { profiles: [profile] } }
}

/** Returns `undefined` where none is configured; then the client is not loaded. */
export async function connectAccessPoints(
  parts: AccessPointDependencies,
): Promise<Result<Omit<RunningAccessPoints, 'listChanged'> | undefined, StartFault>> {
  const { config, spine, families, version, logger } = parts
  if (config.accessPoints.length === 0) return ok(undefined)
  const catalogues = createMcpCatalogueCache({ bus: spine.bus, profiles: config.profiles, families })
  const answering = { bus: spine.bus, stateSeal: createRequestStateSeal(systemClock), log: logger }
  const points: VoiceBackendAccessPoint[] = []
  for (const point of config.accessPoints) {
    const expanded = resolveAccessPointUrl(point, { config, environment: process.env, families })
    if (!expanded.ok) return createMisconfiguredStartResult(expanded.fault)
    const { name, profile } = point
    // A person who speaks in the room is a principal of its own, with no more rights than the profile.
    const principal = createAccessPointPrincipal({ name, profile })
    const scope = { profile, style: 'underscore' } as const
    points.push({
      name,
      url: expanded.value,
      session: {
        answering,
        principal,
        catalogue: () => catalogues.current(principal, scope),
        serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
      },
    })
  }
  const { startAccessPoints } = await import('../mcp/access-point-client.ts')
  const clients = startAccessPoints(points, logger)
  const stopWatching = subscribeToMcpListChanges(spine.bus, {
    onList: (kind) => {
      if (kind === 'tool') clients.listChanged()
    },
    onResource: () => undefined,
  })
  const stop = async (): Promise<void> => {
    stopWatching()
    await clients.stop()
  }
  const { name, health } = clients.reporter
  const examine = async (): Promise<readonly DoctorFinding[]> => [toHealthFinding(name, health())]
  return ok({ reporter: { name, health, examine }, stop })
}

interface AccessPointContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly families: readonly string[]
}

/**
 * Examines access points before a start. Voice backends are not connected to: one that accepts a single connection per
 * access point would drop the connection that works.
 */
export function examineVoiceBackendAccessPoints(config: Config, context: AccessPointContext): readonly DoctorFinding[] {
  return config.accessPoints.flatMap((point): readonly DoctorFinding[] => {
    const url = resolveAccessPointUrl(point, { config, ...context })
    return url.ok ? [] : [{ level: 'fail', about: 'access-points', sentence: url.fault, refusesStart: true }]
  })
}

/** The fault is a sentence, which stops a gateway from starting. */
function resolveAccessPointUrl(
  { name, url, profile }: Config['accessPoints'][number],
  { config, environment, families }: AccessPointContext & { readonly config: Config },
): Result<string, string> {
  const expanded = expandUrlVariables(url, environment)
  if (!expanded.ok)
    return fail(`accessPoints: ${name} needs the environment variable ${expanded.fault.missing}, which is not set.`)
  if (findMcpProfile(profile, config.profiles, new Set(families)) === undefined)
    return fail(`accessPoints: ${name} names the profile ${profile}, and there is none.`)
  return expanded
}
