/**
 * Devices peer: one process of the devices benches. A gateway, a bare `ws` server that only says hello, many devices,
 * or models that call them.
 *
 *   node --expose-gc devices-peer.ts gateway | bare | devices | models        commands and answers over IPC
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { WebSocket, WebSocketServer } from 'ws'
import { Database } from '../../src/core/database-store.ts'
import { rememberedDevicesMigrations } from '../../src/devices/enrol/enrol-store.ts'
import { LOG_TABLE, tableLog } from '../../test/table-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openDeviceGateway } from '../../src/devices/enrol/device-gateway-server.ts'
import type { DeviceTransport } from '../../src/devices/session/session.ts'
import type { SimulatedFleet } from '../../src/sim/devices/simulated-fleet.ts'
import { startSimulatedFleet } from '../../src/sim/devices/simulated-fleet.ts'
import type { FirmwareTool } from '../../src/sim/devices/firmware-tool.ts'

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
}

export interface Load {
  readonly seconds: number
  readonly perSecond: number
}

/** Whether the answer is the one to this very call. */
type Verdict = 'right' | 'failed' | 'crossed'

type Commands = Readonly<Record<string, (...args: never[]) => unknown>>

/** Tells which device answered and to whom, so that a reply that went astray is noticed. */
function echo(deviceId: string): FirmwareTool {
  const properties = [{ name: 'nonce', type: 'string' }] as const
  return { name: 'self.echo', description: 'Echoes.', properties, run: ({ nonce }) => `${deviceId} ${String(nonce)}` }
}

/** What a device with many settings offers beside that. */
function knobs(count: number): readonly FirmwareTool[] {
  return Array.from({ length: count }, (_none, index) => ({
    name: `self.knob_${index}.set`,
    description: `Turns knob ${index} of the device. It stays as it was turned until somebody turns it again, by hand or from here; what it does then is up to the device.`,
    properties: [
      { name: 'level', type: 'integer', min: 0, max: 100 },
      { name: 'mode', type: 'string', default: 'auto' },
    ],
    run: () => true,
  }))
}

/**
 * What is held, not what is held back: V8 keeps the pages of its young generation, and fragmented old ones, until it is
 * told that memory is short, and a process that has just been busy would count them as its devices'.
 */
async function memory(): Promise<Memory> {
  for (let each = 0; each < 3; each++) {
    await globalThis.gc?.({ type: 'major', execution: 'async', flavor: 'last-resort' })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const { rss, heapUsed } = process.memoryUsage()
  return { rssBytes: rss, heapBytes: heapUsed }
}

/** Of this process so far, whatever else the machine is busy with. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

async function gateway(): Promise<Commands> {
  // On the disk, as in a house: in memory it would count as memory of the devices.
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const database = new Database({
    path: join(folder, 'bench.db'),
    migrations: [rememberedDevicesMigrations, LOG_TABLE],
  })
  const places = 20_000
  const [, , , url] = process.argv
  const backend = { address: () => ({ kind: 'websocket', websocket: { url: url ?? '', token: '' } }) as const }
  const opened = await openDeviceGateway({
    database,
    log: tableLog(database, systemClock),
    signingKey: randomBytes(32),
    host: '127.0.0.1',
    httpPort: 0,
    mqtt: { port: 0, udpPort: 0 },
    server: { maxConnections: places },
    ...(url === undefined ? {} : { voice: { backend } }),
    registrar: { pendingDevices: { places, placesPerAddress: places, stayMs: 3_600_000 } },
  })
  const { fleet, registrar } = opened
  return {
    ota: () => `http://127.0.0.1:${opened.httpPort}/xiaozhi/ota/`,
    approve: (code: string, transport: DeviceTransport) => registrar.approve(code, { by: 'bench', transport }),
    ready: () => fleet.devices().filter(({ phase }) => phase === 'ready').length,
    stats: () => fleet.stats(),
    memory,
    cpuMs,
    load: (wanted: Load) => {
      const ids = fleet.devices().map(({ id }) => id)
      return spread(wanted, async (index) => {
        const id = ids[(index * 7) % ids.length] ?? ''
        const answer = await fleet.call(id, 'self.echo', { nonce: `n${index}` })
        const content = answer.ok ? answer.value.content[0] : undefined
        if (content?.type !== 'text') return 'failed'
        return content.text === `${id} n${index}` ? 'right' : 'crossed'
      })
    },
    close: async () => {
      await opened.close()
      database.close()
    },
  }
}

/** Spread evenly over time; what takes long does not hold back the next. */
async function spread({ seconds, perSecond }: Load, call: (index: number) => Promise<Verdict>): Promise<LoadResult> {
  const times: number[] = []
  const counts = { right: 0, failed: 0, crossed: 0 }
  const timed = async (index: number) => {
    const began = performance.now()
    counts[await call(index)]++
    times.push(performance.now() - began)
  }
  const running: Promise<void>[] = []
  const total = seconds * perSecond
  const start = performance.now()
  for (let index = 0; index < total; index++) {
    const dueMs = start + (index * 1_000) / perSecond
    const restMs = dueMs - performance.now()
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    running.push(timed(index))
  }
  await Promise.all(running)
  times.sort((left, right) => left - right)
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0
  const { failed, crossed } = counts
  return { calls: total, failed, crossed, p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** As little as a server can do and still be greeted by a device. */
async function bare(): Promise<Commands> {
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket) =>
    socket.on('message', () => socket.send('{"type":"hello","transport":"websocket","session_id":"bare"}')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: () => `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    memory,
    cpuMs,
  }
}

/** Passes frames on, and looks at nothing. */
async function pipe(): Promise<Commands> {
  const [, , , url = ''] = process.argv
  const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await new Promise((resolve) => sockets.once('listening', resolve))
  sockets.on('connection', (near) => {
    const far = new WebSocket(url, { perMessageDeflate: false })
    const early: Buffer[] = []
    far.on('open', () => {
      for (const data of early) far.send(data, { binary: false })
    })
    near.on('message', (data: Buffer, binary: boolean) => {
      if (far.readyState === far.OPEN) far.send(data, { binary })
      else early.push(data)
    })
    far.on('message', (data: Buffer, binary: boolean) => near.send(data, { binary }))
    near.on('close', () => far.terminate())
  })
  return { url: () => `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}/`, memory, cpuMs }
}

function devices(): Commands {
  const fleets: SimulatedFleet[] = []
  // Patient: a hundred of them boot at once, and other programs may want the machine, too.
  const timing = { activateMs: 100, activateErrorMs: 100, reconnectMs: 500, helloMs: 60_000 }
  const all = () => fleets.flatMap((fleet) => fleet.devices)
  const greeters: WebSocket[] = []
  return {
    enrol: async (ota: string, count: number, first: number, more = 0) => {
      const fleet = await startSimulatedFleet({
        count,
        first,
        ota,
        timing,
        awake: true,
        kind: 'speaker',
        profile: 'fw-2.4',
        parallel: 25,
        settings: ({ deviceId }) => ({ tools: [echo(deviceId), ...knobs(more)] }),
        onDeviceCode: ({ deviceId }, code) => void process.send?.({ code, deviceId }),
      })
      fleets.push(fleet)
    },
    /** Only the hello of each of the first devices, at the bare server or where they belong. No tools to ask for. */
    greet: (count: number, bareUrl?: string) =>
      inTurns(
        bareUrl === undefined ? all().slice(0, count) : Array.from({ length: count }, () => undefined),
        async (device) => {
          const told = device?.otaAnswer()?.['websocket'] as { url: string; token: string } | undefined
          const { deviceId = '02:00:00:00:00:00', clientId = 'bare' } = device?.identity ?? {}
          const headers = { 'Device-Id': deviceId, 'Client-Id': clientId, Authorization: `Bearer ${told?.token}` }
          const socket = new WebSocket(bareUrl ?? told?.url ?? '', { headers, perMessageDeflate: false })
          greeters.push(socket)
          await new Promise((resolve, reject) => {
            socket.on('open', () => socket.send('{"type":"hello","version":1,"features":{},"transport":"websocket"}'))
            socket.on('message', resolve)
            socket.on('error', reject)
          })
        },
      ),
    hangUp: () => {
      for (const socket of greeters.splice(0)) socket.terminate()
    },
    sleep: () => {
      for (const device of all()) device.sleep()
    },
    wake: () => inTurns(all(), (device) => device.wake()),
    /** Every other one, so that it hits both transports. */
    cut: (count: number) => {
      const half = all().filter((_device, index) => index % 2 === 0)
      for (const device of half.slice(0, count)) device.cut()
    },
    stop: () => {
      for (const fleet of fleets.splice(0)) fleet.stop()
    },
  }
}

/** A hundred at a time. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const waiting = items.entries()
  const worker = async () => {
    for (const [, item] of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: 100 }, worker))
}

/** Each call under way is a connection of its own, and the gateway takes no more than two thousand of them. */
const MAX_OPEN = 512

/** MCP clients as agents have them. */
function models(): Commands {
  const clients: Client[] = []
  const reasons = new Map<string, number>()
  const fail = (reason: string): Verdict => {
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    return 'failed'
  }
  const waiting: (() => void)[] = []
  let open = 0
  const call = async (index: number, shot: { tool: string; nonce: string }): Promise<Verdict> => {
    if (open >= MAX_OPEN) await new Promise<void>((resolve) => waiting.push(resolve))
    open++
    const verdict = await callNow(index, shot)
    open--
    waiting.shift()?.()
    return verdict
  }
  const callNow = async (index: number, { tool, nonce }: { tool: string; nonce: string }): Promise<Verdict> => {
    const client = clients[index % clients.length]
    const answer = await client?.callTool({ name: tool, arguments: { nonce } }).catch(String)
    if (answer === undefined || typeof answer === 'string') return fail(answer ?? 'no client')
    if (answer.isError === true) return fail(JSON.stringify(answer.content))
    const { value = nonce } = (answer.structuredContent ?? {}) as { value?: string }
    return value.endsWith(nonce) ? 'right' : 'crossed'
  }
  let lists = 0
  const connect = async (url: string, onTools?: () => void) => {
    const client = new Client(
      { name: 'bench', version: '1.0.0' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        ...(onTools && { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onTools } } }),
      },
    )
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    clients.push(client)
  }
  /** Its bytes only: what a client does with megabytes is its own affair, and it would do it on our machine. */
  const readList = async (url: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': {} }
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: ++lists,
        method: 'tools/list',
        params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', ...capabilities } },
      }),
    })
    return (await response.arrayBuffer()).byteLength
  }
  return {
    cpuMs,
    lists: () => lists,
    /** Clients that read the list of tools again whenever they hear that it changed. */
    follow: async (url: string, count: number) => {
      for (let each = 0; each < count; each++) await connect(url, () => void readList(url))
      return readList(url)
    },
    /** Why calls failed, since somebody last asked. */
    reasons: () => {
      const all = [...reasons].map(([reason, count]) => `${count} × ${reason.slice(0, 200)}`)
      reasons.clear()
      return all.slice(0, 8)
    },
    connect: async (url: string, count: number) => {
      for (let each = 0; each < count; each++) await connect(url)
    },
    load: (wanted: Load, tools: readonly string[]) =>
      spread(wanted, (index) => call(index, { tool: tools[(index * 7) % tools.length] ?? '', nonce: ` n${index}` })),
    /** One call to each, all at once; how many there were and how many got no good answer. */
    callAll: async (tools: readonly string[]) => {
      const verdicts = await Promise.all(tools.map((tool, index) => call(index, { tool, nonce: ` last${index}` })))
      return { ended: verdicts.length, failed: verdicts.filter((verdict) => verdict !== 'right').length }
    },
  }
}

const ROLES: Readonly<Record<string, () => Commands | Promise<Commands>>> = { gateway, bare, devices, models, pipe }
const commands = await (ROLES[process.argv[2] ?? ''] ?? devices)()

// Whoever asked is gone.
process.on('disconnect', () => process.exit())
process.on('message', (message: { readonly ask: string; readonly id: number; readonly args: never[] }) => {
  const { ask, id, args } = message
  void Promise.resolve(commands[ask]?.(...args)).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  )
})
process.send?.({ id: 0, value: 'ready' })
