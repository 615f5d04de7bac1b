/**
 * What a model's call to a device costs in the whole gateway: HTTP and MCP, lock, validation, guard, ledger on the
 * disk, bus, session. Models and devices are in processes of their own, so the processor time counted is ours; the same
 * calls handed straight to the fleet are in `devices`.
 *
 * HEARTHBUS_BENCH_DEVICES (2,000) and HEARTHBUS_BENCH_SECONDS (60) make it smaller.
 */
import { z } from 'zod'
import type { Service } from '../src/bus/capability.ts'
import { defaultFamilyEnvelope } from '../src/bus/default-family-envelope.ts'
import { DELEGATING_CHANGE_STEPS, defineChange } from '../src/bus/capability-definition.ts'
import { ok } from '../src/core/result.ts'
import type { StatusView } from '../src/web/views.ts'
import { say, startDeviceGateway } from './device-gateway.ts'
import { loadText, mib, Peer, perDevice, until } from './devices.ts'
import type { LoadResult, Memory } from './far-end/devices-peer.ts'

const COUNT = Number(process.env['HEARTHBUS_BENCH_DEVICES'] ?? 2_000)
const SECONDS = Number(process.env['HEARTHBUS_BENCH_SECONDS'] ?? 60)
const CALLS_PER_SECOND = 200
const HALF = Math.floor(COUNT / 2)
/** Clients of models, each with a connection of its own. */
const MODELS = 8

const NO_LIMITS =
  'guard: { callsPerMinute: 10000000, writesPerMinute: 10000000, actuatorIntervalMs: 0, actuatorWritesPerDay: 10000000 }'

const { gateway, call, online, stop } = await startDeviceGateway(
  `mqtt: { port: 0, udpPort: 0 }, waitingPerAddress: ${COUNT}`,
  { sections: NO_LIMITS, services: [nothing()] },
)
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
  await stop()
}

/** A change that is none. */
function nothing(): Service {
  const change = defineChange({
    name: 'bench.nothing',
    title: 'Nothing',
    description: 'Does nothing.',
    family: defaultFamilyEnvelope,
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

function offered(): readonly string[] {
  return gateway.bus.offers().flatMap(({ name }) => (name.endsWith('.self.echo') ? [name] : []))
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
