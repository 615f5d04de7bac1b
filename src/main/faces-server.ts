/**
 * Faces: the listener for agents and people, and what answers on it.
 *
 *   /mcp  models      /  the console      /api  the CLI and the console      /health /ready /metrics  monitors
 */
import type { Service } from '../bus/capability.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { toHex } from '../core/bytes.ts'
import { systemClock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { isLoopback } from '../core/loopback.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createAuthenticator } from '../guard/authenticate.ts'
import type { Authenticator } from '../guard/authenticate.ts'
import { hashToken, sameHash } from '../guard/token.ts'
import { createGuardLimits } from '../guard/limits.ts'
import { openOwnerToken } from '../guard/owner-token-store.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { FacePrincipal } from '../mcp/face-bus.ts'
import { mcpHttpHandler } from '../mcp/http-server.ts'
import type { NotAuthenticated } from '../mcp/http-server.ts'
import type { StatusView } from '../web/api.ts'
import { noTokenSentence, startListener } from '../web/listener-server.ts'
import type { HttpListener, HttpRoute } from '../web/listener-server.ts'
import { monitorHandler } from '../web/monitor-server.ts'
import type { MonitorOptions } from '../web/monitor-server.ts'
import { RequestRefusals } from '../web/request-refusals.ts'
import { createServiceHealthCheck } from './service-health-check.ts'
import { toGuardConfig } from './guard-config.ts'
import { createWebFace } from './web-face-server.ts'
import { misconfiguredStart } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

export interface FaceParts {
  readonly config: Config
  readonly version: string
  readonly logger: Logger
  readonly data: DataDirectory
  readonly spine: GuardedBus
  readonly families: readonly string[]
  /** Whoever says how it is: the services, and what has a health without offering anything. */
  readonly reporters: readonly Pick<Service, 'name' | 'version' | 'health' | 'examine'>[]
}

export interface StartedFaces {
  readonly url: string
  readonly stop: () => Promise<void>
}

export async function startFaces(parts: FaceParts): Promise<Result<StartedFaces, StartFault>> {
  const { config, spine, version, logger, families } = parts
  const { host, maxBodyBytes, maxSessions, anonymous, tokenHash } = config.listen
  // Refused rather than warned about: an open port without a credential is the whole house.
  const hasToken = tokenHash !== undefined || spine.guard.tokens.list().length > 0
  if (!isLoopback(host) && !hasToken) return misconfiguredStart(noTokenSentence(host))
  const owner = openOwnerToken(parts.data.ownerToken)
  const refused = new RequestRefusals()
  const authenticate = counted(
    createAuthenticator({
      findToken: spine.guard.tokens.find,
      isOwner: owner.matches,
      ...(tokenHash === undefined ? {} : { isConfigured: matchesHash(tokenHash) }),
      anonymous,
    }),
    refused,
  )
  const tooMany = createFloodgate(config, refused)
  const mcp = mcpHttpHandler({
    bus: spine.bus,
    authenticate: (headers, remoteAddress) => asPrincipal(authenticate(headers, remoteAddress)),
    tooMany,
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
    log: logger,
    profiles: config.profiles,
    families,
    limits: { maxBodyBytes, maxSessions },
  })
  // A token that was revoked or has expired takes its sessions with it (ADR 79).
  const stopForgetting = spine.guard.tokens.onEnd((name) => mcp.forget(name))
  // Known only when the port is: with port 0 the system chooses it.
  let url = ''
  const status = statusView(parts, () => url)
  const people = createWebFace(parts, { authenticate, status, tooMany })
  const examine = createServiceHealthCheck(parts.reporters, systemClock)
  const monitor = monitorHandler({ status, examine, know: authenticate, metrics: createMetrics(spine, refused) })
  const listener = await openListener(parts, [
    { prefix: '/mcp', handle: mcp },
    ...people.routes,
    { prefix: '/health', handle: monitor },
    { prefix: '/ready', handle: monitor },
    { prefix: '/metrics', handle: monitor },
  ])
  if (!listener.ok) {
    stopForgetting()
    people.stop()
    await mcp.close()
    return listener
  }
  url = listener.value.url
  const stop = async (): Promise<void> => {
    stopForgetting()
    // Streams that stay open for ever would keep the listener from closing.
    people.stop()
    await mcp.close()
    await listener.value.stop()
  }
  return ok({ url, stop })
}

async function openListener(
  { config, logger }: FaceParts,
  routes: readonly HttpRoute[],
): Promise<Result<HttpListener, StartFault>> {
  const { host, port } = config.listen
  try {
    return ok(await startListener({ host, port, rules: config.listen, logger, routes }))
  } catch (error) {
    const settings = { hostKey: 'listen.host', host, portKey: 'listen.port', port, protocol: 'tcp' } as const
    return misconfiguredStart(explainListenFault(error, settings))
  }
}

/** Computed when asked: the console, `/health` and the CLI all show the same. */
function statusView({ config, version, spine, reporters }: FaceParts, url: () => string): () => StatusView {
  const { bus, guard, ledger } = spine
  const startedAt = new Date().toISOString()
  return () => ({
    node: config.node.name,
    version,
    mode: config.mode,
    stopped: guard.stop.state() !== undefined,
    startedAt,
    url: url(),
    tools: bus.offers().filter((offer) => offer.face.kind === 'tool').length,
    ledger: {
      size: ledger.size(),
      root: toHex(ledger.root()),
      state: ledger.state().kind,
      checkpointSize: ledger.latestCheckpoint()?.checkpoint.size ?? null,
    },
    pendingApprovals: guard.approvals.list({ state: 'requested' }).length,
    services: reporters.map((reporter) => ({
      name: reporter.name,
      version: reporter.version ?? version,
      ...reporter.health(),
    })),
  })
}

function matchesHash(tokenHash: string): (token: string) => boolean {
  const wanted = Buffer.from(tokenHash, 'hex')
  return (token) => sameHash(hashToken(token), wanted)
}

function counted(authenticate: Authenticator, refused: RequestRefusals): Authenticator {
  return (headers, remoteAddress, options) => {
    const known = authenticate(headers, remoteAddress, options)
    if (!known.ok) refused.count(known.fault.status === 401 ? 'unauthenticated' : 'credential')
    return known
  }
}

/** What the bus counts, and how the process is that it runs in. */
function createMetrics({ bus, queue, guard, ledger }: GuardedBus, refused: RequestRefusals): MonitorOptions['metrics'] {
  let own: { readonly metrics: () => Promise<string> } | undefined
  return async () => {
    // Loaded with the first scrape, like the metrics of the bus.
    const { nodeMetrics } = await import('../web/node-metrics.ts')
    own ??= nodeMetrics({
      refused,
      queues: () => ({ locks: queue().waiting, approvals: guard.approvals.list({ state: 'requested' }).length }),
      ledgerSize: () => ledger.size(),
    })
    const { text, contentType } = await bus.metrics()
    return { text: `${text}${await own.metrics()}`, contentType }
  }
}

/** Whoever shows a credential here is a principal: peers have a listener of their own. */
function asPrincipal(known: ReturnType<Authenticator>): Result<FacePrincipal, NotAuthenticated> {
  if (!known.ok)
    return fail(known.fault.status === 401 ? { ...known.fault, challenge: 'Bearer realm="hearthbus"' } : known.fault)
  if (known.value.kind !== 'principal') throw new Error('only principals have credentials')
  return ok(known.value)
}

/**
 * Turns away a flood before it becomes calls: the guard limits calls, but every call, also a senseless one, is written
 * down, and a disk has an end. Twice what the guard allows passes, so that it is the guard who speaks first.
 */
function createFloodgate(config: Config, refused: RequestRefusals): (caller: string) => string | undefined {
  const { limits } = toGuardConfig(config)
  const { perMinute, burst } = limits.calls
  const twice = { perMinute: perMinute * 2, burst: burst * 2 }
  const flood = createGuardLimits({ ...limits, calls: twice }, systemClock.monotonic)
  return (caller) => {
    const verdict = flood.arrive(caller)
    if (!verdict.ok) refused.count('rate')
    return verdict.ok ? undefined : `Too many requests; try again in ${Math.ceil(verdict.retryAfterMs / 1_000)} s.`
  }
}
