/**
 * Strangers: how long `/health` of a gateway takes while a hostile member announces contracts that are meant to hurt and
 * answers with what goes with them. Never more than 100 ms, on a machine that does nothing else. Two processes.
 *
 * Beside it, how long the event loop was busy in one go, in time of the processor, which holds on a busy machine, too.
 */
import { HURTFUL_SCHEMAS } from '../test/hurtful-schemas.ts'
import { call, closeAll, formCommunity, until } from '../test/mesh-house.ts'
import type { MeshNode } from '../test/mesh-house.ts'

const WANTED_MS = 100
const PROBE_EVERY_MS = 10

const nodes = await formCommunity(['house', 'enemy'])
const [house, enemy] = nodes as readonly [MeshNode, MeshNode]
await busiest()

await measure('announced', async () => {
  for (const number of HURTFUL_SCHEMAS.keys()) await enemy.say({ do: 'hurt', number })
  await enemy.say({ do: 'add', name: 'hurt.last' })
  await until('all of it is looked at', async () => {
    const { offers } = await house.say({ do: 'offers', name: 'test.hurt.last' })
    return (offers as unknown[]).length === 1
  })
})
for (const [number, { kind, refused }] of HURTFUL_SCHEMAS.entries())
  if (refused === undefined)
    await measure(kind, async () => {
      for (let again = 0; again < 5; again++) await call(house, `test.hurt${number}`, {}, { timeoutMs: 10_000 })
    })
await closeAll(nodes)

async function measure(name: string, work: () => Promise<void>): Promise<void> {
  const times: number[] = []
  const over = new AbortController()
  const probing = (async () => {
    while (!over.signal.aborted) {
      const startMs = performance.now()
      await (await fetch(`${house.url}/health`)).text()
      times.push(performance.now() - startMs)
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
    }
  })()
  await work()
  over.abort()
  await probing
  const worst = Math.max(...times)
  const verdict = worst <= WANTED_MS ? '' : `  *** above ${WANTED_MS} ms ***`
  process.stdout.write(
    `${name}: /health ${times.length} times, worst ${worst.toFixed(0)} ms; busy for ${(await busiest()).toFixed(0)} ms of processor time at most${verdict}\n`,
  )
}

async function busiest(): Promise<number> {
  return Number((await house.say({ do: 'busiest' }))['busiestMs'])
}
