/**
 * Mesh contenders: our two transports with everything on (session MAC, envelope, routing, health), Moleculer, and NATS
 * with nothing on top, all echoing the same body in another process.
 *
 * Does I/O.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connect } from '@nats-io/transport-node'
import moleculerPackage from 'moleculer'
import type { ServiceBroker as Broker } from 'moleculer'
import type { CapabilityBus } from '../src/bus/bus.ts'
import { systemClock } from '../src/core/clock.ts'
import { answering, echo, manifestOf, ME, node } from '../test/bus-village.ts'
import { meshSide } from '../test/mesh-pair.ts'
import { until } from '../test/mesh-house.ts'

export interface Contender {
  readonly name: string
  readonly call: (body: { readonly [key: string]: string }) => Promise<unknown>
  readonly stop: () => Promise<void>
}

const FAR = fileURLToPath(new URL('far-end/mesh-far-server.ts', import.meta.url))
const OFFER = answering({ name: 'bench.echo', maxConcurrent: 10_000 }, echo)

/** Runs in the far process. */
export async function echoProvider(kind: 'http' | 'nats', url: string): Promise<void> {
  const provider = await meshSide('provider', kind, url)
  provider.bus.registerCapability(OFFER)
  process.stdout.write(`${JSON.stringify(provider.address)}\n`)
}

export async function ours(kind: 'http' | 'nats', url: string): Promise<Contender> {
  const far = farEnd(kind, url)
  const address = JSON.parse(await far.line) as object
  const caller = await meshSide('caller', kind, url)
  const offering = node(caller.providerId, { clock: systemClock })
  offering.registerCapability(OFFER)
  caller.bus.onPeerAdded({ ...manifestOf(offering), endpoint: address })
  await until('it answers', async () => (await callOn(caller.bus, {})).ok)
  return {
    name: `ours over ${kind === 'http' ? 'HTTPS' : 'NATS'}`,
    call: async (body) => {
      const outcome = await callOn(caller.bus, body)
      if (!outcome.ok) throw new Error(outcome.fault.message)
    },
    stop: async () => {
      await caller.close()
      await far.stop()
    },
  }
}

/** One subscription for all answers, as ours has it, and nothing else. */
export async function rawNats(url: string): Promise<Contender> {
  const far = farEnd('raw', url)
  await far.line
  const connection = await connect({ servers: url })
  const waiting = new Map<string, () => void>()
  let count = 0
  connection.subscribe('bench.reply.*', {
    callback: (_, message) => {
      const id = message.subject.slice('bench.reply.'.length)
      message.json()
      waiting.get(id)?.()
      waiting.delete(id)
    },
  })
  return {
    name: 'raw NATS, one reply subject',
    call: (body) =>
      new Promise<void>((resolve) => {
        const id = (count++).toString(36)
        waiting.set(id, resolve)
        connection.publish('bench.echo', JSON.stringify(body), { reply: `bench.reply.${id}` })
      }),
    stop: async () => {
      await connection.close()
      await far.stop()
    },
  }
}

export async function natsRequest(url: string): Promise<Contender> {
  const far = farEnd('raw', url)
  await far.line
  const connection = await connect({ servers: url })
  return {
    name: 'raw NATS, nc.request',
    call: async (body) => (await connection.request('bench.echo', JSON.stringify(body), { timeout: 10_000 })).json(),
    stop: async () => {
      await connection.close()
      await far.stop()
    },
  }
}

export async function moleculerOver(kind: 'moleculer-nats' | 'moleculer-tcp', url: string): Promise<Contender> {
  const far = farEnd(kind, url)
  await far.line
  const broker = moleculer(`near-${process.pid}`, kind === 'moleculer-nats' ? url : '')
  await broker.start()
  await broker.waitForServices('bench', 20_000)
  return {
    name: `Moleculer over ${kind === 'moleculer-nats' ? 'NATS' : 'TCP'}`,
    call: (body) => broker.call('bench.echo', body),
    stop: async () => {
      await broker.stop()
      await far.stop()
    },
  }
}

/** Its NATS transporter wants the older `nats` package, which nothing else here needs. */
export const HAS_MOLECULER_NATS = isInstalled('nats')

export function moleculer(nodeID: string, natsUrl: string): Broker {
  const { ServiceBroker } = moleculerPackage
  const common = { nodeID, namespace: 'hearthbus-bench', logger: false } as const
  if (natsUrl === '') return new ServiceBroker({ ...common, transporter: 'TCP' })
  return new ServiceBroker({ ...common, transporter: { type: 'NATS', options: { url: natsUrl } } as never })
}

function isInstalled(name: string): boolean {
  try {
    return import.meta.resolve(name) !== ''
  } catch {
    return false
  }
}

function callOn(bus: CapabilityBus, body: { readonly [key: string]: string }): ReturnType<CapabilityBus['call']> {
  return bus.call('bench.echo', [1, 0], body, ME)
}

function farEnd(...words: readonly string[]): { readonly line: Promise<string>; readonly stop: () => Promise<void> } {
  const child: ChildProcess = spawn(process.execPath, [FAR, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { stdout } = child
  if (stdout === null) throw new Error('no stdout')
  return {
    line: once(stdout, 'data').then(([chunk]: Buffer[]) => String(chunk).trim()),
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
