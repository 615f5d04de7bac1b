/**
 * Mesh pair: a caller and a provider of one community in one process, with a real wire between them. Everything of the
 * mesh but discovery, so that a test of a transport is about the transport.
 */
import type { CapabilityBus } from '../src/bus/bus.ts'
import type { Capability } from '../src/bus/capability.ts'
import type { RemoteProviderClient } from '../src/bus/peer.ts'
import { systemClock } from '../src/core/clock.ts'
import type { Fault } from '../src/core/fault.ts'
import { isJsonObject } from '../src/core/json.ts'
import type { Json } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import type { Result } from '../src/core/result.ts'
import { createControlHandler } from '../src/mesh/control-handler.ts'
import { MeshHttpClient } from '../src/mesh/http/http-client.ts'
import { startMeshHttpServer } from '../src/mesh/http/http-server.ts'
import type { MeshHttpServer } from '../src/mesh/http/http-server.ts'
import { createTlsIdentityFromNodeKey } from '../src/mesh/identity/self-signed-certificate.ts'
import { createCommunity, admitMember } from '../src/mesh/identity/community.ts'
import type { Community } from '../src/mesh/identity/community.ts'
import type { MembershipLevel } from '../src/mesh/identity/membership-record.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import { InboundCallHandler } from '../src/mesh/inbound-calls.ts'
import { NatsTransport } from '../src/mesh/nats/nats-transport.ts'
import { OutboundCallClient } from '../src/mesh/outbound-calls.ts'
import { PacketCallServer } from '../src/mesh/packets/packet-provider.ts'
import { PeerRateLimiter } from '../src/mesh/peer-rate-limiter.ts'
import type { PeerRateLimits } from '../src/mesh/peer-rate-limiter.ts'
import { ReplayCache } from '../src/mesh/replay-cache.ts'
import { IssuedSessions } from '../src/mesh/sessions.ts'
import type { PacketProofMode } from '../src/mesh/sessions.ts'
import type { PeerAddress, PeerEndpoint } from '../src/mesh/transport.ts'
import { manifestOf, node } from './bus-village.ts'
import { freePort } from './local-port.ts'
import { until } from './mesh-house.ts'
import { identityOf } from './mesh-keys.ts'
import { startNats } from './nats-process.ts'

export const MAX_BODY_BYTES = 262_144

export interface MeshPair {
  readonly caller: CapabilityBus
  readonly provider: CapabilityBus
  readonly callerId: string
  readonly providerId: string
  /** Registers with the provider and lets the caller know. */
  readonly offer: (...capabilities: readonly Capability[]) => void
  /** The provider forgets its session keys, as it does when it restarts. */
  readonly forgetSessions: () => void
  /** From now on the provider answers handshakes as one does that has not heard of actors. */
  readonly ageProvider: () => void
  /** The wire breaks with calls under way, and is mended. */
  readonly cut: () => Promise<void>
  readonly mend: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Side {
  readonly identity: NodeIdentity
  readonly bus: CapabilityBus
  readonly inbound: InboundCallHandler
  readonly packets: PacketCallServer
  readonly sessions: IssuedSessions
  readonly age: () => void
}

const [callerKey, rootKey, providerKey] = [identityOf(11), identityOf(12), identityOf(13)]

export interface PairOptions {
  readonly level?: MembershipLevel
  readonly signatures?: PacketProofMode
}

export interface HttpPairOptions extends PairOptions {
  /** What the provider grants. */
  readonly rate?: PeerRateLimits
  /** Something between the two: it is told where the provider listens, and says where it listens itself. */
  readonly through?: (port: number) => Promise<number>
}

export async function httpPair({
  level = 'trusted',
  signatures = 'session',
  rate,
  through = async (port) => port,
}: HttpPairOptions = {}): Promise<MeshPair> {
  const community = pairCommunity(level)
  const client = new MeshHttpClient({
    tls: createTlsIdentityFromNodeKey(callerKey),
    maxAnswerBytes: 4 * MAX_BODY_BYTES,
  })
  let address: PeerAddress = { nodeId: providerKey.id, endpoints: [] }
  const outbound = outboundOf(community, { http: client }, signatures)
  const provider = side(providerKey, community, { signatures, rate })
  const caller = node(callerKey.id, { clock: systemClock, remote: outbound })
  const listen = (port: number): Promise<MeshHttpServer> => listenFor(provider, community, port)
  const port = await freePort()
  let server = await listen(port)
  address = { nodeId: providerKey.id, endpoints: [{ transport: 'http', host: '127.0.0.1', port: await through(port) }] }
  return pairOf(caller, provider, () => address, {
    cut: () => server.stop(),
    mend: async () => {
      server = await listen(port)
    },
    close: async () => {
      client.close()
      await server.stop()
    },
  })
}

export async function natsPair({ level = 'trusted', signatures = 'session' }: PairOptions = {}): Promise<MeshPair> {
  const community = pairCommunity(level)
  const broker = await startNats()
  const provider = side(providerKey, community, { signatures })
  const silent = side(callerKey, community)
  const [far, near] = [natsOf(provider, community, broker.url), natsOf(silent, community, broker.url)]
  await until('both are connected', () => far.isConnected && near.isConnected)
  const caller = node(callerKey.id, { clock: systemClock, remote: outboundOf(community, { nats: near }, signatures) })
  const address: PeerAddress = { nodeId: providerKey.id, endpoints: [{ transport: 'nats' }] }
  return pairOf(caller, provider, () => address, {
    cut: async () => {
      await broker.kill()
      await until('the loss is noticed', () => !near.isConnected && !far.isConnected)
    },
    mend: async () => {
      await broker.restart()
      await until('both are back', () => far.isConnected && near.isConnected)
    },
    close: async () => {
      await near.close()
      await far.close()
      await broker.stop()
    },
  })
}

export interface FarSide {
  readonly bus: CapabilityBus
  readonly providerId: string
  readonly address: PeerAddress
  readonly close: () => Promise<void>
}

export interface SideOptions {
  readonly signatures?: PacketProofMode
  /** A bus with more, or less, around it than the bench of a transport needs. */
  readonly openBus?: (nodeId: string, remote: RemoteProviderClient | undefined) => Promise<CapabilityBus>
}

async function plainBus(nodeId: string, remote: RemoteProviderClient | undefined): Promise<CapabilityBus> {
  return node(nodeId, { clock: systemClock, ...(remote === undefined ? {} : { remote }) })
}

/** One side of a pair in a process of its own; the keys are fixed, so both know the community. */
export async function meshSide(
  role: 'caller' | 'provider',
  kind: 'http' | 'nats',
  url: string,
  { openBus = plainBus, signatures = 'session' }: SideOptions = {},
): Promise<FarSide> {
  const community = pairCommunity('trusted')
  const identity = role === 'caller' ? callerKey : providerKey
  const own = side(identity, community, { bus: await openBus(identity.id, undefined), signatures })
  const nats = kind === 'nats' ? natsOf(own, community, url) : undefined
  const server = kind === 'http' && role === 'provider' ? await listenFor(own, community, 0) : undefined
  const http = new MeshHttpClient({ tls: createTlsIdentityFromNodeKey(callerKey), maxAnswerBytes: MAX_BODY_BYTES })
  if (nats !== undefined) await until('it is connected', () => nats.isConnected)
  const endpoint: PeerEndpoint =
    server === undefined ? { transport: 'nats' } : { transport: 'http', host: '127.0.0.1', port: server.port }
  return {
    bus: role === 'provider' ? own.bus : await openBus(identity.id, outboundOf(community, { http, nats }, signatures)),
    providerId: providerKey.id,
    address: { nodeId: providerKey.id, endpoints: [endpoint] },
    close: async () => {
      http.close()
      await nats?.close()
      await server?.stop()
    },
  }
}

function listenFor({ identity, inbound, packets }: Side, community: Community, port: number): Promise<MeshHttpServer> {
  return startMeshHttpServer({
    host: '127.0.0.1',
    port,
    tls: createTlsIdentityFromNodeKey(identity),
    maxBodyBytes: MAX_BODY_BYTES,
    inbound,
    packets,
    views: {
      isMember: (id) => community.members.has(id),
      manifest: () => undefined,
      community: () => community.document,
      ready: () => ({ ready: true }),
      metrics: async () => ({ text: '', contentType: 'text/plain' }),
    },
  })
}

function pairOf(
  caller: CapabilityBus,
  provider: Side,
  address: () => PeerAddress,
  wire: Pick<MeshPair, 'cut' | 'mend' | 'close'>,
): MeshPair {
  return {
    ...wire,
    caller,
    provider: provider.bus,
    callerId: callerKey.id,
    providerId: providerKey.id,
    offer: (...capabilities) => {
      for (const capability of capabilities) provider.bus.registerCapability(capability)
      caller.onPeerUpdated({ ...manifestOf(provider.bus), endpoint: address() })
    },
    forgetSessions: () => provider.sessions.forget(callerKey.id),
    ageProvider: () => provider.age(),
  }
}

function side(
  identity: NodeIdentity,
  community: Community,
  {
    bus = node(identity.id, { clock: systemClock }),
    signatures = 'session',
    rate = { callsPerSecond: 1_000_000, callsPerSecondPerCapability: 1_000_000 },
  }: { bus?: CapabilityBus; signatures?: PacketProofMode; rate?: PeerRateLimits | undefined } = {},
): Side {
  const sessions = new IssuedSessions(identity.id, systemClock, signatures)
  const gate = {
    self: identity.id,
    community: () => community,
    sessions,
    replay: new ReplayCache(systemClock.monotonic()),
    nonMemberReplay: new ReplayCache(systemClock.monotonic()),
    rate: new PeerRateLimiter(rate),
    clock: systemClock,
  }
  const control = createControlHandler({
    self: identity.id,
    sessions,
    community: () => community,
    own: () => undefined,
    schemas: () => ({}),
    exchange: () => ({}),
    join: () => Promise.reject(new Error('nobody joins here')),
    merge: () => Promise.reject(new Error('nobody merges here')),
    witness: undefined,
    gossip: undefined,
  })
  let isOld = false
  const inbound = new InboundCallHandler({
    identity,
    gate,
    bus: () => bus,
    control: (...asked) => (isOld ? control(...asked)?.then(withoutActors) : control(...asked)),
    report: (error) => {
      throw error
    },
  })
  const packets = new PacketCallServer({ identity, gate, inbound, maxBodyBytes: MAX_BODY_BYTES })
  const age = (): void => {
    isOld = true
  }
  return { identity, bus, inbound, packets, sessions, age }
}

function withoutActors(answer: Result<Json, Fault>): Result<Json, Fault> {
  if (!answer.ok || !isJsonObject(answer.value)) return answer
  const { actors: _, ...rest } = answer.value
  return ok(rest)
}

function natsOf({ identity, inbound, packets }: Side, community: Community, url: string): NatsTransport {
  return new NatsTransport({
    servers: [url],
    useNkey: false,
    identity,
    name: 'pair',
    version: '1.0.0',
    communityId: () => community.id,
    inbound,
    packets,
    maxBodyBytes: MAX_BODY_BYTES,
    clock: systemClock,
    logger: silentLogger,
  })
}

function outboundOf(
  community: Community,
  transports: ConstructorParameters<typeof OutboundCallClient>[0]['transports'],
  signatures: PacketProofMode = 'session',
): OutboundCallClient {
  const communityId = (): string => community.id
  return new OutboundCallClient({ identity: callerKey, communityId, transports, clock: systemClock, signatures })
}

function pairCommunity(level: MembershipLevel): Community {
  const nowMs = systemClock.now()
  const founder = { nodeId: providerKey.id, name: 'provider' }
  const founded = createCommunity({ name: 'pair', root: rootKey, founder, nowMs })
  const context = { authority: { self: providerKey, root: rootKey }, nowMs }
  const grown = admitMember(founded, { nodeId: callerKey.id, name: 'caller', level }, context)
  if (!grown.ok) throw new Error(grown.fault.kind)
  return grown.value
}
