/**
 * HomeSeer with 2,500 devices: the processor time of a page of devices and of finding one by name, alone and with the
 * whole chain around it (lock, schema, ledger, guard); how long a push takes to a resource's subscriber; and how much a
 * model has to read before it can begin, per profile.
 *
 * Tokens are estimated as a quarter of the bytes, which is near enough for JSON in English.
 */
import { once } from 'node:events'
import type { Json, JsonObject } from '../src/core/json.ts'
import { buildNameResolver, resolveDevices } from '../src/homeseer/resolve/name-resolver.ts'
import {
  buildEventGraph,
  traceEventConsequences,
  buildHomeseerDeviceCatalog,
} from '../src/homeseer/catalog/device-catalog-and-event-consequences.ts'
import { decodeEventDefinitions } from '../src/homeseer/catalog/event-definition.ts'
import { decodeStatusReply } from '../src/homeseer/wire/device.ts'
import { createEventsFileContent } from '../src/sim/homeseer/simulated-events.ts'
import { encodeSimulatedStatus } from '../src/sim/homeseer/device-answer.ts'
import { createSimulatedHomeseerSystem, createSimulatedEvent } from '../src/sim/homeseer/simulated-system.ts'
import { connectHttp, startGatewayProcess } from '../test/gateway-process.ts'
import { homeseerHome, openHouse, openWorld } from '../test/homeseer-rig.ts'
import type { House, World } from '../test/homeseer-rig.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const SENSORS = 2_500
const ROUNDS = 300
/** What the owner of 2,500 devices was promised, in milliseconds of processor time. */
const TARGETS = { page: 10, resolve: 5, search: 2, consequences: 1 } as const
/** Every tenth sets off the next one; the rest are on their own. */
const EVENTS = 500
const PUSHES = 40
const QUERIES = ['hall lamp', 'turn on the kitchen lamp please', 'temperature sensor 1201', 'attic', 'kichen lmp']

const world = await openWorld({ sensors: SENSORS })
const house = await openHouse(world, { homeseer: { maxDevices: 1_000 } })
await house.call('hs4.resolve.devices', { query: 'warm up' })

process.stdout.write(`${'processor time per call, ms'.padEnd(46)}     p50     p95    mean  target\n`)
await report('devices.list, a page of 100, whole chain', TARGETS.page, (round) =>
  house.call('hs4.devices.list', { limit: 100, offset: (round % 20) * 100 }),
)
await report('devices.list, a page of 1,000, whole chain', TARGETS.page, () =>
  house.call('hs4.devices.list', { limit: 1_000 }),
)
await report('resolve.devices, whole chain', TARGETS.resolve, (round) =>
  house.call('hs4.resolve.devices', query(round)),
)
const resolver = currentResolver(world)
// Without a system call in between, the clock of a thread moves by the scheduler's tick; so many at a time.
await report(
  'resolve.devices, the search alone',
  TARGETS.search,
  async (round) => resolveDevices(resolver, phrase(round)),
  QUERIES.length * 5,
)

const { graph, relatives } = eventGraph()
await report(
  `consequences, ${EVENTS} events, ${SENSORS} devices`,
  TARGETS.consequences,
  async (round) => traceEventConsequences(graph, { refs: [10_000 + (round % EVENTS)] }, relatives),
  50,
)

process.stdout.write(`\npush to subscriber    ${(await pushLatencies(world, house)).join('   ')}\n`)
await house.stop()

process.stdout.write('\nprofile          tools      bytes of tools/list    tokens, about\n')
const home = homeseerHome(world)
const gateway = await startGatewayProcess(home)
for (const profile of ['all', 'read', 'homeseer', 'runtime']) {
  const client = await connectHttp(gateway.url, 'modern', `/mcp/${profile}`)
  const { tools } = await client.listTools()
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  process.stdout.write(
    `${profile.padEnd(12)} ${String(tools.length).padStart(9)} ${String(bytes).padStart(22)} ${String(Math.round(bytes / 4)).padStart(16)}\n`,
  )
  await client.close()
}
await gateway.stop()
await world.close()
home.remove()

/**
 * Processor time of this thread, not wall time: others use this machine, too. The simulated HomeSeer lives in the same
 * thread, but has nothing to answer meanwhile.
 */
async function report(
  name: string,
  targetMs: number,
  call: (round: number) => Promise<unknown>,
  atATime = 1,
): Promise<void> {
  for (let round = 0; round < 40; round++) await call(round)
  const taken: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.threadCpuUsage()
    for (let turn = 0; turn < atATime; turn++) await call(round + turn)
    const { user, system } = process.threadCpuUsage(before)
    taken.push((user + system) / 1_000 / atATime)
  }
  const sorted = taken.toSorted((left, right) => left - right)
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  const mean = taken.reduce((sum, ms) => sum + ms, 0) / taken.length
  const figures = [at(0.5), at(0.95), mean].map((ms) => ms.toFixed(2).padStart(8)).join('')
  const verdict = at(0.95) < targetMs ? 'met' : at(0.5) < targetMs ? 'met by the median' : 'missed'
  process.stdout.write(`${name.padEnd(46)}${figures}  < ${targetMs}: ${verdict}\n`)
}

/** Sensors stand for devices here: what is followed are refs. */
function eventGraph() {
  const events = Array.from({ length: EVENTS }, (_, index) =>
    createSimulatedEvent({
      id: index + 1,
      group: 'Bench',
      name: `Event ${index + 1}`,
      triggers: [[{ ref: 10_000 + index, kind: 'any-change' }]],
      actions: [0, 1, 2, 3].map((step) => ({
        ref: 10_000 + (index % 10 === 9 ? 2_000 + index : index + 1 + step * 500),
        value: 255,
        label: 'On',
      })),
    }),
  )
  const decoded = decodeEventDefinitions(createEventsFileContent(createSimulatedHomeseerSystem(events)), [])
  if (!decoded.ok) throw new Error(decoded.fault.detail)
  return {
    graph: buildEventGraph(decoded.value.definitions),
    relatives: (ref: number) => [ref - (ref % 5), ref - (ref % 5) + 1],
  }
}

function query(round: number): JsonObject {
  return { query: phrase(round) }
}

function phrase(round: number): string {
  return QUERIES[round % QUERIES.length] ?? ''
}

function currentResolver({ simulator }: World) {
  const records = simulator.house.refs.flatMap((ref) => simulator.house.record(ref, true) ?? [])
  const status = decodeStatusReply(
    JSON.parse(encodeSimulatedStatus(records, { compress: true, zone: '+0100' })) as Json,
  )
  if (!status.ok) throw new Error(status.fault.detail)
  const built = buildHomeseerDeviceCatalog(status.value.devices, new Map())
  return buildNameResolver({ devices: built, events: [], cameras: [], aliases: [] })
}

/** A hand on the wall switch to the announcement; one at a time, so that none is gathered with another. */
async function pushLatencies({ simulator }: World, { gateway }: House): Promise<readonly string[]> {
  const settledMs = simulator.faults.settleMs
  simulator.faults.settleMs = 0
  const taken: number[] = []
  for (let push = 0; push < PUSHES; push++) {
    const heard = new EventTarget()
    const stop = gateway.bus.onResource((uri) => {
      if (uri === 'hs4://devices/status') heard.dispatchEvent(new Event('told'))
    })
    const told = once(heard, 'told')
    const startedMs = performance.now()
    simulator.move(120, push % 2 === 0 ? 255 : 0)
    await told
    taken.push(performance.now() - startedMs)
    stop()
    // The text that belongs to a pushed number is read afterwards, and that is news, too.
    await new Promise((resolve) => setTimeout(resolve, 260))
  }
  simulator.faults.settleMs = settledMs
  const sorted = taken.toSorted((left, right) => left - right)
  const at = (share: number): string => `${(sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)} ms`
  return [`median ${at(0.5)}`, `95 % ${at(0.95)}`, `worst ${at(1)}`]
}
