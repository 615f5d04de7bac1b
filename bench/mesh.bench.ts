/**
 * What a call to another node costs: calls per second and latency at 1, 64 and 256 in flight, against Moleculer and
 * against NATS with nothing on top, in one run; how well calls are spread; what a registry of a thousand nodes costs.
 *
 * Does I/O.
 */
import { generateKeyPairSync } from 'node:crypto'
import { announce } from '../src/bus/peer.ts'
import { foundCommunity, withMember } from '../src/mesh/identity/community.ts'
import type { Community } from '../src/mesh/identity/community.ts'
import { nodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import { issueManifest, slim } from '../src/mesh/identity/node-manifest.ts'
import { PeerBook } from '../src/mesh/peer-book.ts'
import { node, offered } from '../test/bus-village.ts'
import { NATS_SERVER, startNats } from '../test/nats-process.ts'
import { HAS_MOLECULER_NATS, moleculerOver, natsRequest, ours, rawNats } from './mesh-contenders.ts'
import type { Contender } from './mesh-contenders.ts'
import { simulate } from './mesh-routing.ts'

const WARM_UP_MS = 1_000
const MEASURED_MS = 2_000
const ROUNDS = 2
const IN_FLIGHT = [1, 64, 256]
const BODY = { text: 'x'.repeat(90) }

interface Figures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

await remoteCalls()
routing()
registry()

async function remoteCalls(): Promise<void> {
  const broker = NATS_SERVER === '' ? undefined : await startNats()
  if (broker === undefined)
    process.stdout.write('\n*** NOT RUN: everything over NATS: there is no nats-server here ***\n')
  if (!HAS_MOLECULER_NATS)
    process.stdout.write('\n*** NOT RUN: Moleculer over NATS: the `nats` package that it wants is not installed ***\n')
  const contenders: Contender[] = [await ours('http', ''), await moleculerOver('moleculer-tcp', '')]
  if (broker !== undefined)
    contenders.push(
      await ours('nats', broker.url),
      ...(HAS_MOLECULER_NATS ? [await moleculerOver('moleculer-nats', broker.url)] : []),
      await natsRequest(broker.url),
      await rawNats(broker.url),
    )
  for (const contender of contenders) await load(contender, 16, WARM_UP_MS)
  for (const inFlight of IN_FLIGHT) {
    const best = new Map<Contender, Figures>()
    // Interleaved, and the best of each: a neighbour who is busy for a second hits nobody's figure.
    for (let round = 0; round < ROUNDS; round++)
      for (const contender of contenders) {
        const figures = await load(contender, inFlight, MEASURED_MS)
        if (figures.perSecond > (best.get(contender)?.perSecond ?? 0)) best.set(contender, figures)
      }
    print(inFlight, best)
  }
  for (const contender of contenders) await contender.stop()
  await broker?.stop()
}

async function load({ call }: Contender, inFlight: number, ms: number): Promise<Figures> {
  const took: number[] = []
  const endMs = performance.now() + ms
  const startedMs = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const beginMs = performance.now()
      await call(BODY)
      took.push(performance.now() - beginMs)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const seconds = (performance.now() - startedMs) / 1_000
  const sorted = Float64Array.from(took).sort()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { perSecond: took.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
}

function print(inFlight: number, best: ReadonlyMap<Contender, Figures>): void {
  const reference = [...best.values()].at(-1)?.perSecond ?? Number.NaN
  process.stdout.write(`\n${inFlight} in flight\n`)
  for (const [{ name }, { perSecond, p50Ms, p99Ms }] of best)
    process.stdout.write(
      `  ${name.padEnd(28)} ${perSecond.toFixed(0).padStart(7)}/s  ×${(perSecond / reference).toFixed(2)} of the last   p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms\n`,
    )
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
  const capabilities = ['test.echo', 'llm.chat', 'embed.text'].map((name) => announce(offered({ name })))
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
  const beats = others.map((identity) => slim(manifestBy(identity, 2)))
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const bus = node(us.id)
  const book = new PeerBook(us.id, bus)
  for (const capability of capabilities) if (capability.schemas) book.schemas.keep(capability, capability.schemas)
  const take = (documents: readonly object[]): number => {
    const startedMs = performance.now()
    for (const document of documents) {
      const heard = book.hear(document, { community, nowMs, monotonicMs: 0, source: 'bench' })
      if (heard.kind === 'heard') book.publish(heard.peer)
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
  const founded = foundCommunity({ name: 'city', root, founder: { nodeId: us.id, name: 'us' }, nowMs: context.nowMs })
  // One revision for all of them: signing a thousand is not what is measured here.
  const members = new Map(founded.members)
  for (const [index, { id }] of others.entries())
    members.set(id, {
      nodeId: id,
      name: `n${index}`,
      level: 'member',
      addedAt: '',
      addedBy: us.id,
      certificate: undefined,
    })
  const grown = withMember(founded, { nodeId: others[0]?.id ?? '', name: 'n0', level: 'member' }, context)
  return grown.ok ? { ...grown.value, members } : founded
}

function newIdentity(): NodeIdentity {
  return nodeIdentity(generateKeyPairSync('ed25519').privateKey)
}
