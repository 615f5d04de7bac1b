/**
 * What a model's call to a device costs in the whole gateway: HTTP and MCP, lock, validation, guard, ledger on the
 * disk, bus, session. Models and devices are in processes of their own, so the processor time counted is ours; the same
 * calls handed straight to the fleet are in `devices`.
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
import { busFamily } from '../src/bus/bus-family.ts'
import { DELEGATING_CHANGE_STEPS, defineChange } from '../src/bus/capability-definition.ts'
import { readConfig } from '../src/config/config-file.ts'
import type { JsonObject } from '../src/core/json.ts'
import { isJsonObject } from '../src/core/json.ts'
import { createLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'
import type { StatusView } from '../src/web/views.ts'
import { loadText, Peer, perDevice, until } from './devices.ts'
import type { LoadResult, Memory } from './far-end/devices-peer.ts'

const COUNT = Number(process.env['HEARTHBUS_BENCH_DEVICES'] ?? 2_000)
const SECONDS = Number(process.env['HEARTHBUS_BENCH_SECONDS'] ?? 60)
const CALLS_PER_SECOND = 200
const HALF = Math.floor(COUNT / 2)
const OWNER: Caller = { kind: 'principal', id: 'owner', role: 'admin' }
/** Clients of models, each with a connection of its own. */
const MODELS = 8

const dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-device-calls-'))
const gateway = await open()
const [devices, models] = [new Peer('devices'), new Peer('models')]
try {
  const empty = memory()
  const { ota = '' } = await call('devices.enrolment.list', {})
  for (const [index, transport] of (['websocket', 'mqtt'] as const).entries()) {
    const before = memory()
    const began = cpuMs()
    devices.onCode = (code) => void call('devices.enrolment.approve', { code, transport })
    await devices.ask('enrol', ota, HALF, 1 + index * HALF)
    await until(async () => offered().length === HALF * (index + 1))
    const each = ((cpuMs() - began) / HALF).toFixed(1)
    const how = 'of CPU each from first boot to capabilities on the bus'
    say(`${transport.padEnd(16)} ${each} ms ${how}, ${perDevice(before, memory(), HALF)}`)
  }
  say(`on the bus       ${gateway.bus.offers().length} capabilities, ${await online()} devices online`)
  await models.ask('connect', `${gateway.url}/mcp`, MODELS)
  // The same way through the gateway, to nobody: what is left is the device's share.
  say(`to nobody        ${await load(Math.ceil(SECONDS / 4), ['bench.nothing'])}`)
  const loaded = memory()
  say(`to devices       ${await load(SECONDS, offered())}`)
  say(`                 heap ${mib(memory().heapBytes - loaded.heapBytes)} MiB more than before`)

  // Three times: what one leaves behind for good, three leave three times.
  let after = memory()
  for (let round = 1; round <= 3; round++) {
    const before = after
    const inFlight = models.ask<{ ended: number; failed: number }>('callAll', offered())
    await devices.ask('cut', Math.min(1_000, COUNT))
    const { ended, failed } = await inFlight
    await models.ask('reasons')
    await until(async () => (await online()) === COUNT)
    const left = `${gateway.bus.stats().inFlight} left, ${await pendingCalls()} wait for devices`
    after = memory()
    const grown = `heap ${mib(after.heapBytes - before.heapBytes)} MiB more`
    say(
      `mass disconnect  ${ended} calls under way ended, ${failed} of them cut off, ${left}, all ${COUNT} back, ${grown}`,
    )
  }
  say(`gateway          ${mib(after.rssBytes)} MiB resident, ${mib(empty.rssBytes)} MiB when empty`)
} finally {
  devices.end()
  models.end()
  await gateway.stop()
  rmSync(dataRoot, { recursive: true })
}

/** A change that is none. */
function nothing(): Service {
  const change = defineChange({
    name: 'bench.nothing',
    title: 'Nothing',
    description: 'Does nothing.',
    family: busFamily,
    effect: 'writes',
    input: z.strictObject({ nonce: z.string() }),
    output: z.object({}),
    maxConcurrent: 10_000,
    ...DELEGATING_CHANGE_STEPS,
    assess: () => ({ effect: 'writes', reasons: [] }),
    act: () => ok({ data: {} }),
  })
  return {
    name: 'bench',
    prefixes: ['bench'],
    capabilities: () => [change],
    start: async () => undefined,
    stop: async () => undefined,
    health: () => ({ status: 'ok', details: {} }),
  }
}

async function open(): Promise<Gateway> {
  const limits =
    'callsPerMinute: 10000000, writesPerMinute: 10000000, actuatorIntervalMs: 0, actuatorWritesPerDay: 10000000'
  const devices = `enabled: true, host: 127.0.0.1, port: 0, mqtt: { port: 0, udpPort: 0 }, waitingPerAddress: ${COUNT}`
  const config = readConfig(
    'bench',
    `logLevel: error\nguard: { ${limits} }\ndevices: { ${devices} }\nlisten: { port: 0 }\n`,
  )
  if (!config.ok) throw new Error(JSON.stringify(config.fault))
  const logger = createLogger('error')
  const started = await startGateway({
    config: config.value,
    dataRoot,
    pinned: false,
    version: 'bench',
    logger,
    listen: true,
    services: () => [nothing()],
  })
  if (!started.ok) throw new Error(started.fault.message)
  return started.value
}

async function call(name: string, body: JsonObject): Promise<JsonObject> {
  const outcome = await gateway.bus.call(name, undefined, body, { caller: OWNER, channel: 'api' })
  if (!outcome.ok) return { fault: outcome.fault.kind }
  return isJsonObject(outcome.value.data) ? outcome.value.data : {}
}

function offered(): readonly string[] {
  return gateway.bus.offers().flatMap(({ name }) => (name.endsWith('.self.echo') ? [name] : []))
}

async function online(): Promise<number> {
  return Number((await call('devices.list', { online: true, limit: 1 }))['total'])
}

/** What the fleet itself still knows of. */
async function pendingCalls(): Promise<number> {
  const status = (await (await fetch(`${gateway.url}/api/status`)).json()) as Pick<StatusView, 'services'>
  return Number(status.services.find(({ name }) => name === 'devices')?.details['calls'])
}

async function load(seconds: number, tools: readonly string[]): Promise<string> {
  const [began, theirs] = [cpuMs(), await models.ask<number>('cpuMs')]
  const result = await models.ask<LoadResult>('load', { seconds, perSecond: CALLS_PER_SECOND }, tools)
  for (const reason of await models.ask<readonly string[]>('reasons')) say(`                 ${reason}`)
  const each = ((await models.ask<number>('cpuMs')) - theirs) / result.calls
  return `${loadText(result, cpuMs() - began)} (and ${each.toFixed(1)} ms of the clients’)`
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function memory(): Memory {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return { rssBytes: rss, heapBytes: heapUsed }
}

function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
