/**
 * How long a big house stands still while its devices come back: an access point restarts, sixty devices with forty-five
 * tools are gone and there again, and twenty clients read the list of tools whenever they hear that it changed. The
 * longest turn of the event loop, against writing down that list once and against the same with nobody who reads it.
 *
 * Before that, what each list of the virtual house takes of a model's room, in tokens.
 *
 * HEARTHBUS_BENCH_DEVICES (60) and HEARTHBUS_BENCH_MODELS (20) make it smaller.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { buildMcpCatalogue } from '../src/mcp/catalogue.ts'
import type { McpCatalogueCriteria } from '../src/mcp/catalogue.ts'
import { connectHttp, createHome, startGatewayProcess } from '../test/gateway-process.ts'
import { say, startDeviceGateway } from './device-gateway.ts'
import { Peer, until } from './devices.ts'
import { countListTokens } from './token-count.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const DEVICES = Number(process.env['HEARTHBUS_BENCH_DEVICES'] ?? 60)
const MODELS = Number(process.env['HEARTHBUS_BENCH_MODELS'] ?? 20)
const KNOBS = 44
const ROUNDS = 5
/** For the last announcement and the reading that it makes for. */
const CALM_MS = 1_500
const VIEW: McpCatalogueCriteria = {
  principal: { role: 'agent' },
  profileName: 'all',
  profiles: [{ include: ['*'], exclude: [] }],
  style: 'dots',
}

await printTokens()

const { gateway, call, online, stop } = await startDeviceGateway(
  `mqtt: { enabled: false }, waitingPerAddress: ${DEVICES}`,
)
const [devices, models] = [new Peer('devices'), new Peer('models')]
try {
  const { ota = '' } = await call('devices.enrolment.list', {})
  devices.onCode = (code) => void call('devices.enrolment.approve', { code, transport: 'websocket' })
  await devices.ask('enrol', ota, DEVICES, 1, KNOBS)
  await until(async () => (await online()) === DEVICES)
  const alone = await turns()
  const bytes = await models.ask<number>('follow', `${gateway.url}/mcp`, MODELS)
  const once = writing()
  const followed = await turns()
  const read = await models.ask<number>('lists')
  say(`${tools()} tools, ${(bytes / 1_048_576).toFixed(1)} MiB of list, ${MODELS} clients that read it ${read} times`)
  say(`writing it down once       ${once.toFixed(0)} ms`)
  say(`longest turn, nobody reads ${row(alone, once)}`)
  say(`longest turn, all read     ${row(followed, once)}`)
} finally {
  devices.end()
  models.end()
  await stop()
}

/** The demo with everything that it has, once its devices are there. */
async function printTokens(): Promise<void> {
  const home = createHome()
  const demo = await startGatewayProcess(home, ['--demo'])
  try {
    const whole = await connectHttp(demo.url, 'modern', '/mcp')
    await until(async () => (await whole.listTools()).tools.some(({ name }) => name.startsWith('device.')))
    await whole.close()
    for (const profile of ['', '/home', '/voice', '/read', '/homeseer', '/ebus', '/devices', '/runtime']) {
      const client = await connectHttp(demo.url, 'modern', `/mcp${profile}`)
      const { tools } = await client.listTools()
      const { all, inputSides } = countListTokens(tools)
      say(
        `/mcp${profile.padEnd(12)} ${String(tools.length).padStart(4)} tools ${String(inputSides).padStart(7)} tokens of input sides ${String(all).padStart(7)} in all`,
      )
      await client.close()
    }
  } finally {
    await demo.kill()
    home.remove()
  }
}

/** The longest of each round. The first is the one in which everything is new. */
async function turns(): Promise<readonly number[]> {
  const longest: number[] = []
  const delay = monitorEventLoopDelay({ resolution: 1 })
  for (let round = 0; round < ROUNDS; round++) {
    delay.reset()
    delay.enable()
    await devices.ask('sleep')
    await until(async () => (await online()) === 0)
    await devices.ask('wake')
    await until(async () => (await online()) === DEVICES)
    await new Promise((resolve) => setTimeout(resolve, CALM_MS))
    delay.disable()
    longest.push(delay.max / 1_000_000)
  }
  return longest
}

function row(longest: readonly number[], once: number): string {
  const median = longest.toSorted((left, right) => left - right)[Math.floor(longest.length / 2)] ?? Number.NaN
  return `${median.toFixed(0)} ms in the median of ${ROUNDS} rounds, ×${(median / once).toFixed(1)}; at first ${longest[0]?.toFixed(0)} ms`
}

/** As it would be if nothing were kept. */
function writing(): number {
  const all = buildMcpCatalogue(
    gateway.bus.offers().map((offer) => ({ ...offer })),
    VIEW,
  )
  const began = performance.now()
  JSON.stringify(all.list('tools/list'))
  return performance.now() - began
}

function tools(): number {
  return gateway.bus.offers().filter(({ face }) => face.kind === 'tool').length
}
