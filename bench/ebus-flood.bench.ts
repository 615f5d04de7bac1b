/**
 * What a flood costs others: an adapter sends 30 MB as fast as they are taken, and meanwhile somebody asks `/health`
 * every few milliseconds, over a connection of their own, as a monitor does. By the clock, with the gateway in a
 * process of its own; the longest turn of its event loop beside it, as `/metrics` tells it.
 *
 * A flood that holds the sender back lasts as long as the gateway wants, so it is watched for at most some seconds.
 *
 *   npm run bench -- ebus-flood             all floods
 *   node bench/ebus-flood.bench.ts noise    those whose name has it
 */
import { once } from 'node:events'
import { get } from 'node:http'
import { Worker } from 'node:worker_threads'
import { encodeAdapterMessage } from '../src/ebus/wire/enhanced-protocol.ts'
import { createHome, startGatewayProcess } from '../test/gateway-process.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const FLOOD_BYTES = 30_000_000
const CHUNK_BYTES = 65_536
const WATCHED_MS = 4_000
const SETTLE_MS = 1_500
const ASK_EVERY_MS = 5

/** SYN, and a broadcast of the outside temperature as a regulator sends it each half minute. */
const TELEGRAM = [0xaa, 0x10, 0xfe, 0xb5, 0x16, 0x03, 0x01, 0x60, 0x05, 0x9a]
const enhanced = (symbols: readonly number[]): number[] =>
  symbols.flatMap((data) => [...encodeAdapterMessage({ event: 'received', data })])

interface Flood {
  readonly name: string
  readonly scheme: 'enh' | 'tcp' | 'udp' | 'ebusd'
  readonly bytes: Uint8Array
  /** Every connection is closed behind so many bytes. */
  readonly closeAfter?: number
}

function repeated(pattern: readonly number[]): Uint8Array {
  return Uint8Array.from(
    { length: CHUNK_BYTES - (CHUNK_BYTES % pattern.length) },
    (_, at) => pattern[at % pattern.length] ?? 0,
  )
}

const noise = Uint8Array.from({ length: CHUNK_BYTES }, () => Math.floor(Math.random() * 256))
const text = (line: string): Uint8Array => repeated([...Buffer.from(line)])
const FLOODS: readonly Flood[] = [
  { name: 'nothing, for comparison', scheme: 'enh', bytes: new Uint8Array() },
  { name: 'telegrams without a pause', scheme: 'enh', bytes: repeated(enhanced(TELEGRAM)) },
  { name: 'noise', scheme: 'enh', bytes: noise },
  { name: 'broken pairs', scheme: 'enh', bytes: repeated([0xaa]) },
  { name: 'SYN without end', scheme: 'enh', bytes: repeated(enhanced([0xaa])) },
  { name: 'one telegram without end', scheme: 'enh', bytes: repeated(enhanced([0x10])) },
  { name: 'info replies', scheme: 'enh', bytes: repeated([...encodeAdapterMessage({ event: 'info', data: 0xff })]) },
  { name: 'resets', scheme: 'enh', bytes: repeated([...encodeAdapterMessage({ event: 'resetted', data: 1 })]) },
  {
    name: 'grants nobody asked for',
    scheme: 'enh',
    bytes: repeated([...encodeAdapterMessage({ event: 'started', data: 0x31 })]),
  },
  { name: 'errors', scheme: 'enh', bytes: repeated([...encodeAdapterMessage({ event: 'error-ebus', data: 0 })]) },
  { name: 'connections', scheme: 'enh', bytes: repeated(enhanced(TELEGRAM)), closeAfter: CHUNK_BYTES },
  { name: 'plain telegrams', scheme: 'tcp', bytes: repeated(TELEGRAM) },
  { name: 'plain noise', scheme: 'tcp', bytes: noise },
  { name: 'datagrams', scheme: 'udp', bytes: repeated(TELEGRAM).subarray(0, 1_000) },
  { name: 'ebusd telegrams', scheme: 'ebusd', bytes: text('10feb516030160059a\n') },
  { name: 'ebusd empty lines', scheme: 'ebusd', bytes: text('\n') },
  { name: 'ebusd one line', scheme: 'ebusd', bytes: text('10feb51603') },
]

/** The adapter has a thread of its own. What it is sent it forgets. */
const ADAPTER = `
const { createServer } = require('node:net')
const { createSocket } = require('node:dgram')
const { parentPort, workerData: { scheme, bytes, total, closeAfter } } = require('node:worker_threads')
let left = total
let isOn = false
let hasEnded = false
const sockets = new Set()
const end = () => { if (!hasEnded) parentPort.postMessage('sent'); hasEnded = true }
const flood = (socket) => {
  if (bytes.length === 0) return
  let mayStill = closeAfter ?? Infinity
  const pump = () => {
    while (left > 0 && !socket.destroyed) {
      if (mayStill <= 0) return socket.end()
      left -= bytes.length
      mayStill -= bytes.length
      if (!socket.write(bytes)) return void socket.once('drain', pump)
    }
    if (left <= 0) end()
  }
  pump()
}
const server = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.resume()
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  if (isOn) flood(socket)
})
const datagrams = createSocket('udp4')
let peer
datagrams.on('message', (_, from) => (peer = from))
const shower = () => {
  if (left <= 0) return end()
  for (let turn = 0; turn < 64; turn++) {
    left -= bytes.length
    datagrams.send(bytes, peer.port, peer.address)
  }
  setImmediate(shower)
}
parentPort.once('message', () => {
  isOn = true
  if (scheme === 'udp') shower()
  else for (const socket of sockets) flood(socket)
})
if (scheme === 'udp') datagrams.bind(0, '127.0.0.1', () => parentPort.postMessage(datagrams.address().port))
else server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

function ask(url: string): Promise<number> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume()
      response.once('end', () => resolve(performance.now() - began))
    }).once('error', reject)
  })
}

async function metric(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(page)?.[1])
}

async function measure({ scheme, bytes, closeAfter }: Flood): Promise<Record<string, string>> {
  const adapter = new Worker(ADAPTER, { eval: true, workerData: { scheme, bytes, closeAfter, total: FLOOD_BYTES } })
  const [port] = (await once(adapter, 'message')) as [number]
  const home = createHome(`ebus:\n  buses:\n    - adapter: ${scheme}:127.0.0.1:${port}\n      source: 49\n`)
  const gateway = await startGatewayProcess(home)
  const waits: number[] = []
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    // Taken once, the figures begin anew.
    const cpuBefore = await metric(gateway.url, 'process_cpu_seconds_total')
    const sent = { all: false }
    adapter.once('message', () => (sent.all = true))
    const began = performance.now()
    adapter.postMessage('go')
    while (!sent.all && performance.now() - began < WATCHED_MS) {
      waits.push(await ask(`${gateway.url}/health`))
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
    }
    const lastedMs = performance.now() - began
    const turnMs = 1_000 * (await metric(gateway.url, 'nodejs_eventloop_lag_max_seconds'))
    const cpuS = (await metric(gateway.url, 'process_cpu_seconds_total')) - cpuBefore
    const sorted = waits.toSorted((left, right) => left - right)
    const at = (share: number): string => (sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN).toFixed(1)
    return {
      asked: String(waits.length),
      p50: at(0.5),
      p99: at(0.99),
      longest: at(1),
      'ms, longest turn': `${turnMs.toFixed(1)} ms`,
      processor: `${Math.round((100_000 * cpuS) / lastedMs)} %`,
      lasted: `${(lastedMs / 1_000).toFixed(1)} s${sent.all ? '' : ', cut off'}`,
    }
  } finally {
    await gateway.kill()
    await adapter.terminate()
    home.remove()
  }
}

const wanted = process.argv.slice(2)
for (const flood of FLOODS) {
  const name = `${flood.scheme}: ${flood.name}`
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
  const figures = Object.entries(await measure(flood)).map(([figure, value]) => `${figure} ${value}`)
  process.stdout.write(`${name.padEnd(32)} ${figures.join('  ')}\n`)
}
process.exit(0)
