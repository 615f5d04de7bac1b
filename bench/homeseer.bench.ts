/**
 * What it costs to know a HomeSeer of 2,500 devices: reading it, finding a name in it, and hearing of a change.
 * Names are measured against the same rules without an index.
 *
 * Does I/O.
 */
import { systemClock } from '../src/core/clock.ts'
import { CatalogClient } from '../src/homeseer/catalog/catalog-client.ts'
import { normalise, tokensOf } from '../src/homeseer/resolve/normalise.ts'
import { resolveDevices } from '../src/homeseer/resolve/resolve.ts'
import { ResolverClient } from '../src/homeseer/resolve/resolver-client.ts'
import { overlapScore } from '../src/homeseer/resolve/score.ts'
import { openLink } from '../src/homeseer/wire/link-client.ts'
import { startHomeseerSimulator } from '../src/sim/homeseer/homeseer-server.ts'

const SENSORS = 2_500
const ROUNDS = 50
const PUSHES = 200

const simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0, sensors: SENSORS })
simulator.faults.settleMs = 0
const link = openLink({
  json: {
    baseUrl: `http://127.0.0.1:${simulator.httpPort}`,
    credentials: { user: 'default', password: 'default' },
    authentication: 'basic',
    timeoutMs: 30_000,
    readRetries: 0,
    readRetryBackoffMs: 100,
    maxReplyBytes: 64_000_000,
  },
  ascii: { host: '127.0.0.1', port: simulator.asciiPort, pingMs: 60_000, patienceMs: 5_000 },
  webhookKey: undefined,
  mirror: { pollMs: 600_000, resyncMs: 600_000 },
  clock: systemClock,
})
const catalog = new CatalogClient({ ...link, clock: systemClock, listsHoldMs: 600_000, controlsHoldMs: 600_000 })
const learned: readonly never[] = []
const names = new ResolverClient({ catalog, configured: [], learned: () => learned })

const startedMs = performance.now()
const current = await names.current()
if (!current.ok) throw new Error(`the simulated HomeSeer cannot be read: ${current.fault.kind}`)
const { resolver } = current.value
report('first look: two questions, house, names', [performance.now() - startedMs])

for (const query of ['turn on the kitchen lamp please', 'temperature sensor 1001', 'sensor', 'e']) {
  const indexed = measure(() => resolveDevices(resolver, query).candidates.length)
  const plain = measure(() => withoutIndex(query))
  report(`resolve "${query}"`, indexed, `${(median(plain) / median(indexed)).toFixed(1)} × faster than without index`)
}

const waits: number[] = []
for (let push = 0; push < PUSHES; push++) {
  const value = 1_000 + push
  const heard = link.mirror.waitFor(10_000, (entry) => entry.live.value === value, { timeoutMs: 5_000 })
  const sentMs = performance.now()
  simulator.move(10_000, value)
  if ((await heard) === undefined) throw new Error('a push was lost')
  waits.push(performance.now() - sentMs)
}
report('push: hardware moves ▸ mirror knows', waits)

link.close()
await simulator.stop()

/** The rules of `score.ts`, alias by alias. */
function withoutIndex(query: string): number {
  const asked = normalise(query)
  const words = tokensOf(asked)
  let found = 0
  for (const normal of resolver.deviceNames.normals) {
    const theirs = tokensOf(normal)
    const shared = words.filter((word) => theirs.includes(word)).length
    const overlap = overlapScore(shared, words.length, theirs.length)
    if (overlap > 0 || normal.includes(asked) || asked.startsWith(normal)) found++
  }
  return found
}

function measure(work: () => unknown): readonly number[] {
  for (let round = 0; round < ROUNDS; round++) work()
  return Array.from({ length: ROUNDS }, () => {
    const fromMs = performance.now()
    work()
    return performance.now() - fromMs
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}

function report(name: string, values: readonly number[], remark = ''): void {
  const worst = values.toSorted((left, right) => left - right)[Math.floor(values.length * 0.95)] ?? 0
  const figures = `median ${median(values).toFixed(2)} ms, 95 % ${worst.toFixed(2)} ms`
  process.stdout.write(`${name.padEnd(48)} ${figures.padEnd(38)} ${remark}\n`)
}
