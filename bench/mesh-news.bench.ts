/**
 * News between nodes: how long until a capability that was added on one node can be called by an MCP client of another,
 * and until a withdrawn call is withdrawn there. Both should be within 200 ms. Three processes, each in a network
 * namespace of its own where that is permitted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connectHttp } from '../test/gateway-process.ts'
import { call, closeAll, executions, formCommunity, until } from '../test/mesh-house.ts'
import type { MeshNode, NodeSettings } from '../test/mesh-house.ts'
import { openNetwork } from '../test/mesh-network.ts'
import { NATS_SERVER, startNats } from '../test/nats-process.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const ROUNDS = 20
const WANTED_MS = 200

await measure('HTTP', async (network) => ({ settings: { network }, stop: async () => undefined }))
if (NATS_SERVER === '') process.stdout.write('*** NOT RUN over NATS: there is no nats-server here ***\n')
else
  await measure('NATS', async (network) => {
    const broker = await startNats('', network?.broker)
    const mesh = `  advertise: ['127.0.0.1:9']\n  nats: { servers: ['${broker.url}'] }`
    return { settings: { network, mesh }, stop: broker.stop }
  })

async function measure(
  name: string,
  open: (network: NodeSettings['network']) => Promise<{ settings: NodeSettings; stop: () => Promise<void> }>,
): Promise<void> {
  const network = openNetwork(name)
  const { settings, stop } = await open(network)
  const nodes = await formCommunity(['cellar', 'attic', 'shed'], settings)
  const [cellar, attic] = nodes as readonly [MeshNode, MeshNode]
  report(`${name}: added on one, called by an MCP client of another`, await news(cellar, attic))
  report(`${name}: withdrawn on one, heard by the handler on another`, await withdrawals(cellar, attic))
  await closeAll(nodes)
  await stop()
  network?.remove()
}

async function news(cellar: MeshNode, attic: MeshNode): Promise<readonly number[]> {
  const client = await connectHttp(cellar.url, 'modern')
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await attic.say({ do: 'add', name: `news${round}` })
    const startMs = performance.now()
    for (;;) {
      const answer = await client.callTool({ name: `test.news${round}` }).catch(() => undefined)
      if (answer !== undefined && answer.isError !== true) break
      await sleep(2)
    }
    times.push(performance.now() - startMs)
  }
  await client.close()
  return times
}

async function withdrawals(cellar: MeshNode, attic: MeshNode): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [id, controller] = [`round ${round}`, new AbortController()]
    const { signal } = controller
    const asked = call(cellar, 'test.sleep', { id, ms: 30_000 }, { node: attic.nodeId, signal }).catch(() => undefined)
    await until('it sleeps', () => executions(attic).includes(`sleeping "${id}"`))
    const startMs = performance.now()
    controller.abort()
    while (!executions(attic).includes(`cancelled "${id}"`)) await sleep(1)
    times.push(performance.now() - startMs)
    await asked
  }
  return times
}

function report(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((left, right) => left - right)
  const [median = 0, worst = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  const within = times.filter((ms) => ms <= WANTED_MS).length
  process.stdout.write(
    `${what}: median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms, ${within} of ${times.length} within ${WANTED_MS} ms\n`,
  )
}
