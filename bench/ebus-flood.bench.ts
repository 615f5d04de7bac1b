/**
 * What a flood costs: an adapter that sends 30 MB as fast as it can, and the longest turn of the gateway's event loop
 * meanwhile, in processor time: what else runs on the machine is not our doing. `/health` waits for one turn.
 *
 * Does I/O.
 */
import { Worker } from 'node:worker_threads'
import { ebusConfigSchema } from '../src/config/ebus.ts'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { silentLogger } from '../src/core/logger.ts'
import { createEbus } from '../src/ebus/ebus.ts'
import { encodeAdapterMessage } from '../src/ebus/wire/enhanced.ts'
import { ebusMigrations } from '../src/ebus/values-store.ts'

const FLOOD_BYTES = 30_000_000
const CHUNK_BYTES = 65_536
const SETTLE_MS = 1_000

/** SYN, and a broadcast of the outside temperature as a regulator sends it each half minute. */
const TELEGRAM = [0xaa, 0x10, 0xfe, 0xb5, 0x16, 0x03, 0x01, 0x60, 0x05, 0x9a]

const FLOODS: Readonly<Record<string, (chunk: Uint8Array) => void>> = {
  'telegrams without a pause': (chunk) => {
    const symbols = TELEGRAM.flatMap((data) => [...encodeAdapterMessage({ event: 'received', data })])
    for (const [at] of chunk.entries()) chunk[at] = symbols[at % symbols.length] ?? 0
  },
  noise: (chunk) => {
    chunk.set(chunk.map(() => Math.floor(Math.random() * 256)))
  },
  'broken pairs': (chunk) => void chunk.fill(0xaa),
}

/** The adapter has a thread of its own, so that its work is not counted. */
const ADAPTER = `
const { createServer } = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const server = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.resume()
  parentPort.once('message', () => {
    let left = workerData.bytes
    const pump = () => {
      while (left > 0) {
        left -= workerData.chunk.length
        if (!socket.write(workerData.chunk)) return socket.once('drain', pump)
      }
      parentPort.postMessage('sent')
    }
    pump()
  })
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

async function longestTurn(
  fill: (chunk: Uint8Array) => void,
): Promise<{ readonly turnMs: number; readonly cpuMs: number }> {
  const chunk = new Uint8Array(CHUNK_BYTES)
  fill(chunk)
  const adapter = new Worker(ADAPTER, { eval: true, workerData: { chunk, bytes: FLOOD_BYTES } })
  const message = (): Promise<unknown> => new Promise((resolve) => adapter.once('message', resolve))
  const port = Number(await message())
  const service = createEbus({
    config: ebusConfigSchema.parse({ buses: [{ adapter: `enh:127.0.0.1:${port}`, source: 49 }] }),
    bus: { announceResource: () => undefined },
    database: new Database({ path: ':memory:', migrations: [ebusMigrations] }),
    clock: systemClock,
    logger: silentLogger,
    version: 'bench',
    dataRoot: '/nowhere',
  })
  await service.start?.()
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const cpuUs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  const sent = message()
  let longestUs = 0
  let isOn = true
  let last = cpuUs()
  const started = last
  const turn = (): void => {
    const now = cpuUs()
    longestUs = Math.max(longestUs, now - last)
    last = now
    if (isOn) setImmediate(turn)
  }
  setImmediate(turn)
  adapter.postMessage('go')
  await sent
  isOn = false
  await service.stop?.()
  await adapter.terminate()
  return { turnMs: longestUs / 1_000, cpuMs: (last - started) / 1_000 }
}

for (const [flood, fill] of Object.entries(FLOODS)) {
  const { turnMs, cpuMs } = await longestTurn(fill)
  process.stdout.write(`${flood}: longest turn ${turnMs.toFixed(1)} ms of ${Math.round(cpuMs)} ms of processor time\n`)
}
process.exit(0)
