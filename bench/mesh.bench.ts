/**
 * What a call to another node costs: calls per second and latency at 1, 64 and 256 in flight, against Moleculer and
 * against NATS with nothing on top, in one run; how well calls are spread; what a registry of a thousand nodes costs.
 *
 * MESH_BENCH_ONLY='NATS;TCP' runs those whose names hold one of the words; MESH_BENCH_MS is the length of a round,
 * MESH_BENCH_IN_FLIGHT=64 how many calls are under way.
 */
import { generateKeyPairSync } from 'node:crypto'
import { describeOwnCapability } from '../src/bus/peer.ts'
import { createCommunity, admitMember } from '../src/mesh/identity/community.ts'
import type { Community } from '../src/mesh/identity/community.ts'
import { deriveNodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import { issueManifest, omitManifestCapabilities } from '../src/mesh/identity/node-manifest.ts'
import { PeerDirectory } from '../src/mesh/peer-directory.ts'
import { node, offered } from '../test/bus-village.ts'
import { NATS_SERVER } from '../test/nats-process.ts'
import { contendersFor, startContender } from './mesh-contenders.ts'
import type { Contender, Figures } from './mesh-contenders.ts'
import { simulate } from './mesh-routing.ts'

const WARM_UP_MS = 2_000
const MEASURED_MS = Number(process.env['MESH_BENCH_MS'] ?? 1_000)
/** Not counted: a process that has rested for the others' turns is cold, and its young heap takes a second to grow. */
const SETTLE_MS = 1_500
const ROUNDS = 5
const IN_FLIGHT = (process.env['MESH_BENCH_IN_FLIGHT'] ?? '1,64,256').split(',').map(Number)

await remoteCalls()
if (process.env['MESH_BENCH_ONLY'] === undefined) {
  routing()
  registry()
}

async function remoteCalls(): Promise<void> {
  const hasNats = NATS_SERVER !== ''
  if (!hasNats) process.stdout.write('\n*** NOT RUN: everything over NATS: there is no nats-server here ***\n')
  const wanted = process.env['MESH_BENCH_ONLY']?.split(';')
  const contenders: Contender[] = []
  for (const [name, setting] of contendersFor(hasNats))
    if (wanted === undefined || wanted.some((word) => name.includes(word)))
      contenders.push(await startContender(name, setting))
  for (const contender of contenders) await contender.load({ inFlight: 64, ms: WARM_UP_MS })
  for (const inFlight of IN_FLIGHT) {
    const rounds = new Map<Contender, Figures[]>(contenders.map((contender) => [contender, []]))
    // Interleaved, and the median of each: a neighbour who is busy for a second decides nobody's figure.
    for (let round = 0; round < ROUNDS; round++)
      for (const contender of contenders) {
        await contender.load({ inFlight, ms: SETTLE_MS })
        rounds.get(contender)?.push(await contender.load({ inFlight, ms: MEASURED_MS }))
      }
    print(inFlight, rounds)
  }
  for (const contender of contenders) await contender.stop()
}

function print(inFlight: number, rounds: ReadonlyMap<Contender, readonly Figures[]>): void {
  const rows = [...rounds].map(([{ name }, figures]) => ({ name, figures: medianOf(figures) }))
  const reference = rows.at(-1)?.figures.perSecond ?? Number.NaN
  process.stdout.write(
    `\n${inFlight} in flight${' '.repeat(21)}calls/s   of last   p50 ms   p99 ms   CPU µs caller, provider\n`,
  )
  for (const { name, figures } of rows) {
    const { perSecond, p50Ms, p99Ms, callerMicros, providerMicros } = figures
    const columns = [
      perSecond.toFixed(0).padStart(8),
      (perSecond / reference).toFixed(2).padStart(9),
      p50Ms.toFixed(2).padStart(8),
      p99Ms.toFixed(2).padStart(8),
      callerMicros.toFixed(1).padStart(9),
      providerMicros.toFixed(1).padStart(7),
    ]
    process.stdout.write(`  ${name.padEnd(30)}${columns.join(' ')}\n`)
  }
}

function medianOf(figures: readonly Figures[]): Figures {
  const sorted = figures.toSorted((left, right) => left.perSecond - right.perSecond)
  const median = sorted[Math.floor(sorted.length / 2)]
  if (median === undefined) throw new Error('nothing was measured')
  return median
}

function routing(): void {
  process.stdout.write('\nrouting, simulated: 10 providers, 50 callers, one provider five times slower\n')
  const ideal = simulate('ideal').p99Ms
  for (const strategy of ['ideal', 'peak-ewma', 'spec', 'random'] as const) {
    const { p50Ms, p99Ms, slowShare } = simulate(strategy)
    process.stdout.write(
      `  ${strategy.padEnd(12)} p50 ${p50Ms.toFixed(0).padStart(4)} ms  p99 ${p99Ms.toFixed(0).padStart(5)} ms  ×${(p99Ms / ideal).toFixed(2)} of ideal   slow one got ${(slowShare * 100).toFixed(1)} %\n`,
    )
  }
}

function registry(): void {
  const nowMs = Date.now()
  const [us, root] = [newIdentity(), newIdentity()]
  const others = Array.from({ length: 1_000 }, newIdentity)
  const community = communityOf(us, root, others)
  const capabilities = ['test.echo', 'llm.chat', 'embed.text'].map((name) => describeOwnCapability(offered({ name })))
  const manifestBy = (identity: NodeIdentity, sequence: number): ReturnType<typeof issueManifest> =>
    issueManifest(
      {
        displayName: 'n',
        communityId: root.id,
        endpoints: [],
        capabilities,
        inFlight: 0,
        uptimeSeconds: 1,
        sequence,
        nowMs,
      },
      identity,
    )
  const first = others.map((identity) => manifestBy(identity, 1))
  const beats = others.map((identity) => omitManifestCapabilities(manifestBy(identity, 2)))
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const bus = node(us.id)
  const directory = new PeerDirectory(us.id, bus)
  for (const capability of capabilities) if (capability.schemas) directory.schemas.store(capability, capability.schemas)
  const take = (documents: readonly object[]): number => {
    const startedMs = performance.now()
    for (const document of documents) {
      const update = directory.receive(document, { community, nowMs, monotonicMs: 0, source: 'bench' })
      if (update.kind === 'heard') directory.publish(update.peer)
    }
    return performance.now() - startedMs
  }
  const convergedMs = take(first)
  const beatMs = take(beats)
  globalThis.gc?.()
  const megabytes = (process.memoryUsage().heapUsed - before) / 1_048_576
  process.stdout.write(
    `\nregistry of 1,000 nodes with 3 capabilities each: converged in ${convergedMs.toFixed(0)} ms of work, ${megabytes.toFixed(1)} MB;` +
      ` a round of heartbeats costs ${beatMs.toFixed(0)} ms, every 10 s ${((beatMs / 10_000) * 100).toFixed(1)} % of a core (${bus.registry.all().length} entries)\n`,
  )
}

function communityOf(us: NodeIdentity, root: NodeIdentity, others: readonly NodeIdentity[]): Community {
  const context = { authority: { self: us, root }, nowMs: Date.now() }
  const founded = createCommunity({ name: 'city', root, founder: { nodeId: us.id, name: 'us' }, nowMs: context.nowMs })
  // One revision for all of them: signing a thousand is not what is measured here.
  const members = new Map(founded.members)
  for (const [index, { id }] of others.entries())
    members.set(id, {
      nodeId: id,
      name: `n${index}`,
      level: 'member',
      addedAt: '',
      addedBy: us.id,
    })
  const grown = admitMember(founded, { nodeId: others[0]?.id ?? '', name: 'n0', level: 'member' }, context)
  return grown.ok ? { ...grown.value, members } : founded
}

function newIdentity(): NodeIdentity {
  return deriveNodeIdentity(generateKeyPairSync('ed25519').privateKey)
}
