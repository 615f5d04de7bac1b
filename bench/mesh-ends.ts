/**
 * Mesh ends: the caller and the provider of one echo, for every wire that is compared. Each runs in a process of its
 * own, whoever made it, so that all contenders have the same two cores and nobody's heap burdens another.
 *
 *   ours        validation, routing, health, admission, trace and tally on both nodes; `ledger` adds lock, guard and a
 *               durable audit on both
 *   Moleculer   validator, metrics, circuit breaker, bulkhead and request timeout on both nodes
 *   raw         one NATS subscription for all answers and nothing else; `request` is the client's own nc.request
 *   echo        a bare socket
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import moleculerPackage from 'moleculer'
import type { ServiceBroker as Broker } from 'moleculer'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import type { CapabilityBus } from '../src/bus/bus.ts'
import type { RemoteProviderClient } from '../src/bus/peer.ts'
import { openGuardedBus } from '../src/call/guarded-bus.ts'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { silentLogger } from '../src/core/logger.ts'
import { guardMigrations } from '../src/guard/guard-secret-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'
import { answering, echo, manifestOf, ME, node } from '../test/bus-village.ts'
import { GUARD_CONFIG, TEST_VOTING } from '../test/guard-house.ts'
import { until } from '../test/mesh-house.ts'
import { meshSide } from '../test/mesh-pair.ts'
import { echoCaller, startEcho } from './mesh-echo.ts'

export type Wire =
  | 'ours-http'
  | 'ours-nats'
  | 'moleculer-tcp'
  | 'moleculer-nats'
  | 'raw'
  | 'request'
  | 'echo-tcp'
  | 'echo-tls'

/** What both processes are told. */
export interface Ends {
  readonly wire: Wire
  /** Of the NATS server, if there is one. */
  readonly url: string
  readonly signatures: 'session' | 'none'
  readonly ledger: boolean
}

export interface Body {
  readonly text: string
}

export type CallOnce = (body: Body) => Promise<unknown>

const NAME = 'bench.echo'
const AT_ONCE = 10_000
const HEARTBEAT_MS = 5_000
const ECHO_SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string', maxLength: 10_000 } },
  required: ['text'],
  additionalProperties: false,
} as const
const OFFER = answering(
  { name: NAME, maxConcurrent: AT_ONCE, requestSchema: ECHO_SCHEMA, responseSchema: ECHO_SCHEMA },
  echo,
)

/** The provider. What it resolves to is what the caller has to know. */
export async function startFar(ends: Ends): Promise<object> {
  const { wire, url } = ends
  if (wire === 'ours-http' || wire === 'ours-nats') {
    const provider = await meshSide('provider', transportOf(wire), url, optionsOf(ends))
    provider.bus.registerCapability(OFFER)
    return provider.address
  }
  if (wire === 'echo-tcp' || wire === 'echo-tls') return startEcho(wire === 'echo-tls')
  if (wire === 'raw' || wire === 'request') {
    const connection = await connect({ servers: url })
    connection.subscribe(NAME, { callback: (_, message) => void message.respond(message.data) })
    await connection.flush()
    return {}
  }
  const broker = moleculer(`far-${process.pid}`, ends)
  broker.createService({
    name: 'bench',
    actions: {
      echo: {
        params: { text: { type: 'string', max: 10_000 }, $$strict: true },
        handler: async (context: { readonly params: Body }) => context.params,
      },
    },
  })
  await broker.start()
  return {}
}

/** The caller: one call at a time, as often as it is asked. */
export async function startNear(ends: Ends, address: object): Promise<CallOnce> {
  const { wire, url } = ends
  if (wire === 'ours-http' || wire === 'ours-nats') {
    const caller = await meshSide('caller', transportOf(wire), url, optionsOf(ends))
    const offering = node(caller.providerId, { clock: systemClock })
    offering.registerCapability(OFFER)
    // Again and again, as a heartbeat does it: a node that nobody has heard of for a while gets no calls.
    const introduce = (): void => void caller.bus.onPeerUpdated({ ...manifestOf(offering), endpoint: address })
    introduce()
    setInterval(introduce, HEARTBEAT_MS).unref()
    const call: CallOnce = async (body) => {
      const outcome = await caller.bus.call(NAME, [1, 0], { ...body }, ME)
      if (!outcome.ok) throw new Error(outcome.fault.message)
    }
    await until('it answers', async () => (await caller.bus.call(NAME, [1, 0], { text: '' }, ME)).ok)
    return call
  }
  if (wire === 'echo-tcp' || wire === 'echo-tls')
    return echoCaller(wire === 'echo-tls', address as Awaited<ReturnType<typeof startEcho>>)
  if (wire === 'raw') return rawCaller(url)
  if (wire === 'request') {
    const connection = await connect({ servers: url })
    return async (body) => (await connection.request(NAME, JSON.stringify(body), { timeout: 10_000 })).json()
  }
  const broker = moleculer(`near-${process.pid}`, ends)
  await broker.start()
  await broker.waitForServices('bench', 20_000)
  return (body) => broker.call('bench.echo', body)
}

/** One subscription for all answers, as ours has it, and nothing else: no deadline, no check, nobody who asks twice. */
async function rawCaller(url: string): Promise<CallOnce> {
  const connection = await connect({ servers: url })
  const waiting = new Map<string, (answer: unknown) => void>()
  let count = 0
  connection.subscribe('bench.reply.*', {
    callback: (_, message) => {
      const id = message.subject.slice('bench.reply.'.length)
      waiting.get(id)?.(message.json())
      waiting.delete(id)
    },
  })
  return (body) =>
    new Promise((resolve) => {
      const id = (count++).toString(36)
      waiting.set(id, resolve)
      connection.publish(NAME, JSON.stringify(body), { reply: `bench.reply.${id}` })
    })
}

function moleculer(nodeID: string, { wire, url }: Ends): Broker {
  const { ServiceBroker } = moleculerPackage
  return new ServiceBroker({
    nodeID,
    // Runs do not hear each other over UDP.
    namespace: `bench-${process.env['MESH_BENCH_RUN'] ?? ''}`,
    logger: false,
    validator: true,
    metrics: true,
    requestTimeout: 30_000,
    circuitBreaker: { enabled: true },
    bulkhead: { enabled: true, concurrency: AT_ONCE },
    transporter: wire === 'moleculer-tcp' ? 'TCP' : ({ type: 'NATS', options: { url } } as never),
  })
}

function transportOf(wire: Wire): 'http' | 'nats' {
  return wire === 'ours-http' ? 'http' : 'nats'
}

function optionsOf({ signatures, ledger }: Ends): Parameters<typeof meshSide>[3] {
  return { signatures, ...(ledger ? { openBus: busWithLedger } : {}) }
}

/** The five stages with a database on the disk: what a gateway has, and nothing of its families. */
async function busWithLedger(nodeId: string, remote: RemoteProviderClient | undefined): Promise<CapabilityBus> {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const origin = 'hearthbus.test/bench'
  const database = new Database({ path: join(folder, 'node.db'), migrations: [ledgerMigrations, guardMigrations] })
  const signer = createLogSigner(origin, generateKeyPairSync('ed25519').privateKey)
  const lastSignedPath = join(folder, 'signed')
  const ledger = await Ledger.open({ database, signer, clock: systemClock, origin, lastSignedPath })
  const { bus } = await openGuardedBus({
    database,
    ledger,
    clock: systemClock,
    logger: silentLogger,
    guard: { ...GUARD_CONFIG, limits: { ...GUARD_CONFIG.limits, calls: { perMinute: 1e9, burst: 1e9 } } },
    voting: TEST_VOTING,
    bus: { nodeId, config: DEFAULT_BUS_CONFIG, ...(remote === undefined ? {} : { remote }) },
  })
  return bus
}
