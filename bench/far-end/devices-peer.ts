/**
 * Devices peer: one process of the devices bench. A gateway, a bare `ws` server that only says hello, or many devices.
 *
 *   node --expose-gc devices-peer.ts gateway | bare | devices        commands and answers over IPC
 *
 * Does I/O.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { Database } from '../../src/core/database-store.ts'
import { devicesMigrations } from '../../src/devices/enrol/enrol-store.ts'
import { openDevices } from '../../src/devices/enrol/gateway-server.ts'
import type { Transport } from '../../src/devices/session/session.ts'
import type { SimulatedFleet } from '../../src/sim/devices/fleet-client.ts'
import { startDeviceFleet } from '../../src/sim/devices/fleet-client.ts'
import type { Tool } from '../../src/sim/devices/tool.ts'

export interface Memory {
  readonly rssBytes: number
  readonly heapBytes: number
}

export interface LoadResult {
  readonly calls: number
  readonly failed: number
  readonly crossed: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMsPerCall: number
  readonly pendingAfter: number
}

type Commands = Readonly<Record<string, (...args: never[]) => unknown>>

/** Tells which device answered and to whom, so that a reply that went astray is noticed. */
function echo(deviceId: string): Tool {
  const properties = [{ name: 'nonce', type: 'string' }] as const
  return { name: 'self.echo', description: 'Echoes.', properties, run: ({ nonce }) => `${deviceId} ${String(nonce)}` }
}

function memory(): Memory {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return { rssBytes: rss, heapBytes: heapUsed }
}

async function gateway(): Promise<Commands> {
  const database = new Database({ path: ':memory:', migrations: [devicesMigrations] })
  const places = 10_000
  const opened = await openDevices({
    database,
    signingKey: randomBytes(32),
    host: '127.0.0.1',
    httpPort: 0,
    mqtt: { port: 0, udpPort: 0 },
    registrar: { waitingRoom: { places, placesPerAddress: places, stayMs: 3_600_000 } },
  })
  const { fleet, registrar } = opened
  return {
    ota: () => `http://127.0.0.1:${opened.httpPort}/xiaozhi/ota/`,
    approve: (code: string, transport: Transport) => registrar.approve(code, { by: 'bench', transport }),
    ready: () => fleet.devices().filter(({ phase }) => phase === 'ready').length,
    stats: () => fleet.stats(),
    memory,
    load: (seconds: number, perSecond: number): Promise<LoadResult> => load(opened.fleet, seconds, perSecond),
    close: async () => {
      await opened.close()
      database.close()
    },
  }
}

type Fleet = Awaited<ReturnType<typeof openDevices>>['fleet']

/** Calls spread evenly over time and devices; what takes long does not hold back the next. */
async function load(fleet: Fleet, seconds: number, perSecond: number): Promise<LoadResult> {
  const ids = fleet.devices().map(({ id }) => id)
  const times: number[] = []
  const running: Promise<void>[] = []
  let failed = 0
  let crossed = 0
  const call = async (index: number) => {
    const id = ids[(index * 7) % ids.length] ?? ''
    const nonce = `n${index}`
    const started = performance.now()
    const answer = await fleet.call(id, 'self.echo', { nonce })
    times.push(performance.now() - started)
    const content = answer.ok ? answer.value.content[0] : undefined
    if (content?.type !== 'text') failed++
    else if (content.text !== `${id} ${nonce}`) crossed++
  }
  const cpuBefore = process.cpuUsage()
  const total = seconds * perSecond
  const start = performance.now()
  for (let index = 0; index < total; index++) {
    const dueMs = start + (index * 1_000) / perSecond
    if (dueMs > performance.now()) await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()))
    running.push(call(index))
  }
  await Promise.all(running)
  const cpu = process.cpuUsage(cpuBefore)
  times.sort((left, right) => left - right)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  return {
    calls: total,
    failed,
    crossed,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMsPerCall: (cpu.user + cpu.system) / 1_000 / total,
    pendingAfter: fleet.stats().pendingCalls,
  }
}

/** As little as a server can do and still be greeted by a device. */
async function bare(): Promise<Commands> {
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  let greeted = 0
  sockets.on('connection', (socket) =>
    socket.on('message', () => {
      greeted++
      socket.send('{"type":"hello","transport":"websocket","session_id":"bare"}')
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: () => `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ready: () => greeted,
    memory,
  }
}

function devices(): Commands {
  const fleets: SimulatedFleet[] = []
  const timing = { activateMs: 100, activateErrorMs: 100, reconnectMs: 500 }
  const all = () => fleets.flatMap((fleet) => fleet.devices)
  return {
    enrol: async (ota: string, count: number, first: number) => {
      const fleet = await startDeviceFleet({
        count,
        first,
        ota,
        timing,
        awake: true,
        kind: 'speaker',
        profile: 'fw-2.4',
        parallel: 100,
        settings: ({ deviceId }) => ({ tools: [echo(deviceId)] }),
        onDeviceCode: ({ deviceId }, code) => void process.send?.({ code, deviceId }),
      })
      fleets.push(fleet)
    },
    greet: async (url: string, count: number) => {
      const settings = () => ({ websocket: { url, token: 'T' } })
      fleets.push(
        await startDeviceFleet({ count, awake: true, kind: 'speaker', profile: 'fw-2.4', parallel: 100, settings }),
      )
    },
    /** Everybody hangs up and greets again, a hundred at a time. */
    regreet: async () => {
      const waiting = all()
      for (const device of waiting) device.sleep()
      const worker = async () => {
        for (let device = waiting.pop(); device !== undefined; device = waiting.pop()) await device.wake()
      }
      await Promise.all(Array.from({ length: 100 }, worker))
    },
    cut: (count: number) => {
      for (const device of all().slice(0, count)) device.cut()
    },
    stop: () => {
      for (const fleet of fleets.splice(0)) fleet.stop()
    },
  }
}

const role = process.argv[2]
const commands = role === 'gateway' ? await gateway() : role === 'bare' ? await bare() : devices()

process.on('message', (message: { readonly ask: string; readonly id: number; readonly args: never[] }) => {
  const { ask, id, args } = message
  void Promise.resolve(commands[ask]?.(...args)).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  )
})
process.send?.({ id: 0, value: 'ready' })
