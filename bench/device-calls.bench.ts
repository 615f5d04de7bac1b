/**
 * What a model's call to a device costs in the whole gateway: lock, validation, guard, ledger on the disk, bus, session.
 * The devices are in a process of their own, so the processor time counted is ours; the same calls handed straight to
 * the fleet are in `devices`.
 *
 * HEARTHBUS_BENCH_DEVICES (2,000) and HEARTHBUS_BENCH_SECONDS (60) make it smaller.
 *
 * Does I/O.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { Caller } from '../src/bus/call.ts'
import type { Service } from '../src/bus/capability.ts'
import { busFamily } from '../src/bus/family.ts'
import { defineTool } from '../src/bus/tool.ts'
import { readConfig } from '../src/config/config-file.ts'
import type { JsonObject } from '../src/core/json.ts'
import { isJsonObject } from '../src/core/json.ts'
import { createLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'
import { Peer, perDevice, perSecond, until } from './devices.ts'
import type { Memory } from './far-end/devices-peer.ts'

const COUNT = Number(process.env['HEARTHBUS_BENCH_DEVICES'] ?? 2_000)
const SECONDS = Number(process.env['HEARTHBUS_BENCH_SECONDS'] ?? 60)
const CALLS_PER_SECOND = 200
const HALF = Math.floor(COUNT / 2)
const OWNER: Caller = { kind: 'principal', id: 'owner', role: 'admin' }
const AGENT: Caller = { kind: 'principal', id: 'bench', role: 'agent' }

const dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-device-calls-'))
const gateway = await open()
const devices = new Peer('devices')
try {
  const { ota = '' } = await call('devices.enrolment.list', {}, OWNER)
  for (const [index, transport] of (['websocket', 'mqtt'] as const).entries()) {
    const before = memory()
    devices.onCode = (code) => void call('devices.enrolment.approve', { code, transport }, OWNER)
    const rate = await perSecond(HALF, async () => {
      await devices.ask('enrol', ota, HALF, 1 + index * HALF)
      await until(async () => offered().length === HALF * (index + 1))
    })
    say(
      `${transport.padEnd(16)} ${rate} devices/s from first boot to capabilities on the bus, ${perDevice(before, memory(), HALF)}`,
    )
  }
  say(`on the bus       ${gateway.bus.offers().length} capabilities`)
  // The same way through the gateway, to nobody: what is left is the device's share.
  const chain = await load(SECONDS, () => ({ name: 'bench.nothing', body: { nonce: 'n' }, isRight: () => true }))
  const names = offered()
  const echoes = await load(SECONDS, (index) => {
    const nonce = `n${index}`
    const isRight = ({ value }: JsonObject): boolean => typeof value === 'string' && value.endsWith(` ${nonce}`)
    return { name: names[(index * 7) % COUNT] ?? '', body: { nonce }, isRight }
  })
  say(`chain alone      ${chain}`)
  say(`to devices       ${echoes}`)

  const inFlight = offered().map((name) => call(name, { nonce: 'last' }, AGENT))
  await devices.ask('cut', Math.min(1_000, COUNT))
  const ended = (await Promise.all(inFlight)).length
  await until(async () => (await online()) === COUNT)
  const { inFlight: left } = gateway.bus.stats()
  say(`mass disconnect  ${ended} calls under way ended, ${left} left, all ${COUNT} back`)
} finally {
  devices.end()
  await gateway.stop()
  rmSync(dataRoot, { recursive: true })
}

/** A change that is none. */
function nothing(): Service {
  const tool = defineTool({
    name: 'bench.nothing',
    title: 'Nothing',
    description: 'Does nothing.',
    family: busFamily,
    effect: 'writes',
    input: z.strictObject({ nonce: z.string() }),
    output: z.object({}),
    maxConcurrent: 10_000,
  })
  return {
    name: 'bench',
    prefixes: ['bench'],
    capabilities: () => [tool.handledBy(async () => ok({ data: {} }))],
    start: async () => undefined,
    stop: async () => undefined,
    health: () => ({ status: 'ok', details: {} }),
  }
}

async function open(): Promise<Gateway> {
  const limits =
    'callsPerMinute: 10000000, writesPerMinute: 10000000, actuatorIntervalMs: 0, actuatorWritesPerDay: 10000000'
  const listener = `enabled: true, host: 127.0.0.1, port: 0, mqtt: { port: 0, udpPort: 0 }, waitingPerAddress: ${COUNT}`
  const config = readConfig('bench', `logLevel: error\nguard: { ${limits} }\ndevices: { ${listener} }\n`)
  if (!config.ok) throw new Error(JSON.stringify(config.fault))
  const logger = createLogger('error')
  const started = await startGateway({
    config: config.value,
    dataRoot,
    version: 'bench',
    logger,
    listen: false,
    services: () => [nothing()],
  })
  if (!started.ok) throw new Error(started.fault.message)
  return started.value
}

async function call(name: string, body: JsonObject, caller: Caller): Promise<JsonObject> {
  const outcome = await gateway.bus.call(name, undefined, body, { caller, channel: 'api' })
  if (!outcome.ok) return { fault: outcome.fault.kind }
  return isJsonObject(outcome.value.data) ? outcome.value.data : {}
}

function offered(): readonly string[] {
  return gateway.bus.offers().flatMap(({ name }) => (name.endsWith('.self.echo') ? [name] : []))
}

async function online(): Promise<number> {
  return Number((await call('devices.list', { online: true, limit: 1 }, OWNER))['total'])
}

interface Shot {
  readonly name: string
  readonly body: JsonObject
  /** Whether the answer is the one to this very call. */
  readonly isRight: (answer: JsonObject) => boolean
}

/** Spread evenly over time; what takes long does not hold back the next. */
async function load(seconds: number, shotOf: (index: number) => Shot): Promise<string> {
  const times: number[] = []
  let failed = 0
  let crossed = 0
  const one = async ({ name, body, isRight }: Shot): Promise<void> => {
    const began = performance.now()
    const answer = await call(name, body, AGENT)
    times.push(performance.now() - began)
    if (answer['fault'] !== undefined) failed++
    else if (!isRight(answer)) crossed++
  }
  const running: Promise<void>[] = []
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const total = seconds * CALLS_PER_SECOND
  for (let index = 0; index < total; index++) {
    const dueMs = start + (index * 1_000) / CALLS_PER_SECOND
    if (dueMs > performance.now()) await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()))
    running.push(one(shotOf(index)))
  }
  await Promise.all(running)
  const { user, system } = process.cpuUsage(cpuBefore)
  times.sort((left, right) => left - right)
  const at = (share: number): string => (times[Math.floor((times.length - 1) * share)] ?? Number.NaN).toFixed(2)
  const cpuMs = ((user + system) / 1_000 / total).toFixed(3)
  return `${total} calls, ${failed} failed, ${crossed} crossed, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${cpuMs} ms of CPU each`
}

function memory(): Memory {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return { rssBytes: rss, heapBytes: heapUsed }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
