/**
 * Faces: the listener for agents and people, and what answers on it.
 *
 *   /mcp  models      /  the console      /api  the CLI and the console      /health /ready /metrics  monitors
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Service } from '../bus/capability.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import { readFaceListener } from '../config/listeners.ts'
import type { Config } from '../config/schema.ts'
import { toHex } from '../core/bytes.ts'
import { systemClock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { isLoopback } from '../core/loopback.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createAuthenticator } from '../guard/authenticator.ts'
import type { Authenticator } from '../guard/authenticator.ts'
import { hashAccessToken, isSameHash } from '../guard/access-token.ts'
import { createGuardLimiter } from '../guard/limits.ts'
import { guardProjection, readOwnerTokenHash } from '../guard/guard-state.ts'
import { loadOrCreateOwnerTokenVerifier, OWNER_TOKEN_ENTRY_KIND } from '../guard/owner-token-store.ts'
import { findListenFault } from '../toolbox/listen-check-client.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { FacePrincipal } from '../mcp/face-bus.ts'
import { createMcpHttpHandler } from '../mcp/http-server.ts'
import type { AuthenticationRefusal } from '../mcp/http-server.ts'
import type { StatusView } from '../web/api-requests.ts'
import { explainListenerWithoutToken, startHttpListener } from '../web/listener-server.ts'
import type { HttpListener, HttpRoute } from '../web/listener-server.ts'
import { createHealthEndpointHandler } from '../web/health-endpoint-server.ts'
import type { HealthEndpointOptions } from '../web/health-endpoint-server.ts'
import { RequestRefusalCounter } from '../web/request-refusal-counter.ts'
import { createFailingServicesProbe } from './service-probe.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import {
  computeGatewayProof,
  GATEWAY_CHALLENGE_HEADER,
  GATEWAY_PROOF_HEADER,
  GATEWAY_SIGNATURE_HEADER,
  signGatewayChallenge,
} from './running-gateway-note.ts'
import { toGuardConfig } from './guard-config.ts'
import { createWebFaceHandlers } from './web-face-server.ts'
import { createMisconfiguredStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

export interface FacesDependencies {
  readonly config: Config
  readonly version: string
  readonly logger: Logger
  readonly data: DataDirectory
  /** Signs the answers to the challenges of the owner's commands. */
  readonly key: Pick<NodeKey, 'privateKey'>
  readonly spine: GuardedBus
  readonly families: readonly string[]
  /** Everything that reports its health: the services, and parts that offer no capability. */
  readonly reporters: readonly Pick<Service, 'name' | 'version' | 'health' | 'probe' | 'examine'>[]
}

export interface StartedFaces {
  readonly url: string
  readonly stop: () => Promise<void>
}

export async function startFaces(parts: FacesDependencies): Promise<Result<StartedFaces, StartFault>> {
  const { config, spine, version, logger, families } = parts
  const { host, maxBodyBytes, maxSessions, anonymous, tokenHash } = config.listen
  // A start is refused, not only warned about: an open port without a credential would give access to the whole house.
  const hasToken = tokenHash !== undefined || spine.guard.tokens.list().length > 0
  if (!isLoopback(host) && !hasToken)
    // An address that is not this machine's own cannot be reached by others either.
    return createMisconfiguredStartResult(
      (await findListenFault(readFaceListener(config.listen))) ?? explainListenerWithoutToken(host),
    )
  const { ledger } = spine
  const owner = await loadOrCreateOwnerTokenVerifier(parts.data.ownerToken, {
    known: () => readOwnerTokenHash(ledger.projections.state(guardProjection)),
    record: async (token_hash) => void (await ledger.append({ kind: OWNER_TOKEN_ENTRY_KIND, token_hash })),
  })
  const refused = new RequestRefusalCounter()
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
  const mcp = createMcpHttpHandler({
    bus: spine.bus,
    authenticate: (headers, remoteAddress) => asPrincipal(authenticate(headers, remoteAddress)),
    tooMany,
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
    log: logger,
    profiles: config.profiles,
    families,
    limits: { maxBodyBytes, maxSessions },
  })
  // The sessions of a token end when it is revoked or expires (ADR 79).
  const stopForgetting = spine.guard.tokens.onEnd((name) => mcp.forget(name))
  // Known only when the port is open: with port 0 the system chooses it.
  let url = ''
  const status = statusView(parts, () => url)
  const probe = createFailingServicesProbe(parts.reporters, systemClock)
  const people = createWebFaceHandlers(parts, { authenticate, status, probe, tooMany })
  const monitor = createHealthEndpointHandler({
    status,
    probe,
    authenticate,
    metrics: createMetrics(spine, refused, status),
    prove: (headers) => proveGateway(headers, { url, token: owner.token, key: parts.key }),
  })
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
    // Open streams would keep the listener from closing.
    people.stop()
    await mcp.close()
    await listener.value.stop()
  }
  return ok({ url, stop })
}

async function openListener(
  { config, logger }: FacesDependencies,
  routes: readonly HttpRoute[],
): Promise<Result<HttpListener, StartFault>> {
  const { host, port } = config.listen
  try {
    return ok(await startHttpListener({ host, port, rules: config.listen, logger, routes }))
  } catch (error) {
    return createMisconfiguredStartResult(explainListenFault(error, readFaceListener(config.listen)))
  }
}

/** Random, and long enough that nobody has its answer from another time. */
const CHALLENGE = /^[0-9a-f]{32}$/

function proveGateway(
  { [GATEWAY_CHALLENGE_HEADER]: challenge }: IncomingHttpHeaders,
  { url, token, key }: { readonly url: string; readonly token: string } & Pick<FacesDependencies, 'key'>,
): ReadonlyMap<string, string> {
  if (typeof challenge !== 'string' || !CHALLENGE.test(challenge)) return new Map()
  return new Map([
    [GATEWAY_PROOF_HEADER, computeGatewayProof({ url, challenge }, token)],
    [GATEWAY_SIGNATURE_HEADER, signGatewayChallenge({ url, challenge }, key.privateKey)],
  ])
}

/** Computed on request: the console, `/health` and the CLI show the same. */
function statusView({ config, version, spine, reporters }: FacesDependencies, url: () => string): () => StatusView {
  const { bus, guard, ledger } = spine
  const startedAt = formatIsoTime(systemClock.now())
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
  return (token) => isSameHash(hashAccessToken(token), wanted)
}

function counted(authenticate: Authenticator, refused: RequestRefusalCounter): Authenticator {
  return (headers, remoteAddress, options) => {
    const known = authenticate(headers, remoteAddress, options)
    if (!known.ok) refused.count(known.fault.status === 401 ? 'unauthenticated' : 'credential')
    return known
  }
}

/** The counters of the bus and of the process. */
function createMetrics(
  { bus, queue, guard, ledger }: GuardedBus,
  refused: RequestRefusalCounter,
  status: () => StatusView,
): HealthEndpointOptions['metrics'] {
  let own: { readonly metrics: () => Promise<string> } | undefined
  return async () => {
    // Loaded with the first scrape, like the metrics of the bus.
    const { createNodeMetrics } = await import('../web/node-metrics.ts')
    own ??= createNodeMetrics({
      refused,
      queues: () => ({ locks: queue().waiting, approvals: guard.approvals.list({ state: 'requested' }).length }),
      ledgerSize: () => ledger.size(),
      services: () => status().services,
    })
    const { text, contentType } = await bus.metrics()
    return { text: `${text}${await own.metrics()}`, contentType }
  }
}

/** A caller with a credential is a principal here, because peers have a listener of their own. */
function asPrincipal(known: ReturnType<Authenticator>): Result<FacePrincipal, AuthenticationRefusal> {
  if (!known.ok)
    return fail(known.fault.status === 401 ? { ...known.fault, challenge: 'Bearer realm="hearthbus"' } : known.fault)
  if (known.value.kind !== 'principal') throw new Error('only principals have credentials')
  return ok(known.value)
}

/**
 * Refuses a flood of requests before they become calls: the guard limits calls, but every call, even an invalid one, is
 * recorded, and the disk is finite. Twice the guard's limit passes, so that the guard refuses first.
 */
function createFloodgate(config: Config, refused: RequestRefusalCounter): (caller: string) => string | undefined {
  const { limits } = toGuardConfig(config)
  const { perMinute, burst } = limits.calls
  const twice = { perMinute: perMinute * 2, burst: burst * 2 }
  const flood = createGuardLimiter({ ...limits, calls: twice }, systemClock.monotonic)
  return (caller) => {
    const verdict = flood.arrive(caller)
    if (!verdict.ok) refused.count('rate')
    return verdict.ok ? undefined : `Too many requests; try again in ${Math.ceil(verdict.retryAfterMs / 1_000)} s.`
  }
}
