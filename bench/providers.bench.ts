/**
 * Providers bench: what one call costs with many providers of one name. It has to stay flat: a community may be large.
 *
 *   1 · 16 · 256 · 4,096 nodes that offer one name ─▶ µs per call, answered at once by a transport that is none
 */
import { pathToFileURL } from 'node:url'
import { describeOwnCapability } from '../src/bus/peer.ts'
import { systemClock } from '../src/core/clock.ts'
import { ME, node, offered, reply } from '../test/bus-village.ts'

const COUNTS = [1, 16, 256, 4_096]
const CALLS = 20_000

export async function run(): Promise<void> {
  const rows = []
  for (const anywhere of [true, false])
    for (const providers of COUNTS) {
      const { us, answered } = await measure(providers, anywhere)
      rows.push({
        kind: anywhere ? 'anywhere' : 'of one node, named',
        providers,
        'µs per call': us.toFixed(2),
        answered,
      })
    }
  console.table(rows)
}

async function measure(providers: number, anywhere: boolean): Promise<{ us: number; answered: number }> {
  const answer = reply(1)
  const bus = node('caller', {
    clock: systemClock,
    remote: { call: () => Promise.resolve(answer), stream: () => Promise.resolve(answer) },
  })
  const capability = describeOwnCapability(offered({ name: 'x.y', maxConcurrent: 64, anywhere }))
  for (let index = 0; index < providers; index++) {
    const nodeId = `node-${index}`
    bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities: [capability] } })
  }
  const options = anywhere ? ME : { ...ME, node: `node-${providers - 1}` }
  let answered = 0
  const call = async (): Promise<void> => {
    const { ok } = await bus.call('x.y', [1, 0], {}, options)
    if (ok) answered++
  }
  for (let made = 0; made < CALLS / 4; made++) await call()
  answered = 0
  const startedMs = performance.now()
  for (let made = 0; made < CALLS; made++) await call()
  const us = ((performance.now() - startedMs) * 1_000) / CALLS
  bus.close()
  return { us, answered }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run()
