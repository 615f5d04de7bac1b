/**
 * Mesh load: callers that call, nodes and broker that die and come back, and what has to be true afterwards. The test
 * runs it for seconds, the bench for minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { call, cli, executions, startAgain, until } from './mesh-house.ts'
import type { MeshNode } from './mesh-house.ts'
import { recordedActions } from './recorded-calls.ts'
import type { NatsProcess } from './nats-process.ts'

export interface ChaosOptions {
  readonly nodes: readonly MeshNode[]
  readonly broker: NatsProcess | undefined
  readonly ms: number
  readonly callers: number
  readonly random: () => number
}

export interface ChaosReport {
  readonly nodes: readonly MeshNode[]
  readonly calls: number
  readonly ok: number
  readonly errors: Readonly<Record<string, number>>
  readonly kills: number
  /** Executions on nodes other than the callers'. */
  readonly remote: number
  /** Ids of calls that may happen once and happened more often. */
  readonly duplicates: readonly string[]
  /** Calls that were answered as done and left no trace of it. */
  readonly missing: readonly string[]
  readonly inFlight: number
  readonly soundLedgers: number
  /** Traces of calls that another node carried out and that are not in both ledgers, as what they were. */
  readonly unlinked: readonly string[]
  /** How many there were. */
  readonly linked: number
}

const CALL_MS = 5_000

/** The first node is where the callers are, and stays; the others, and the broker, die at random. */
export async function chaos({ nodes: given, broker, ms, callers, random }: ChaosOptions): Promise<ChaosReport> {
  const nodes = [...given]
  const [home] = nodes
  if (home === undefined) throw new Error('chaos needs nodes')
  const endMs = Date.now() + ms
  const tally = { calls: 0, ok: 0, errors: {} as Record<string, number>, kills: 0 }
  const done: string[] = []
  const elsewhere: { readonly by: string; readonly traceId: string; readonly tool: string }[] = []
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; Date.now() < endMs; turn++) {
      const id = `${number}-${turn}`
      const isCount = random() < 0.5
      const tool = isCount ? 'test.count' : 'test.echo'
      const answer = await call(home, tool, { id, ms: Math.floor(random() * 30) }, { timeoutMs: CALL_MS })
      tally.calls++
      if (answer.outcome === 'ok') {
        tally.ok++
        const by = String(answer.structured.data?.['node'])
        if (by !== home.name) elsewhere.push({ by, traceId: answer.traceId, tool })
        if (isCount) done.push(JSON.stringify(id))
      } else {
        const said = answer.structured?.error?.['error']
        const code = typeof said === 'string' ? said : 'refused'
        tally.errors[code] = (tally.errors[code] ?? 0) + 1
      }
    }
  }
  const reaper = async (): Promise<void> => {
    while (Date.now() < endMs - 1_500) {
      await sleep(400 + random() * 1_200)
      tally.kills++
      if (broker !== undefined && random() < 0.25) {
        await broker.kill()
        await sleep(random() * 500)
        await broker.restart()
        continue
      }
      const at = 1 + Math.floor(random() * (nodes.length - 1))
      const victim = nodes[at]
      if (victim === undefined) continue
      await (random() < 0.5 ? victim.kill() : victim.stop())
      await sleep(random() * 500)
      nodes[at] = await startAgain(victim)
    }
  }
  await Promise.all([reaper(), ...Array.from({ length: callers }, (_, number) => caller(number))])
  await until('nothing is left in flight', async () => (await inFlight(nodes)) === 0)
  const lines = nodes.flatMap((node) => executions(node)).filter((line) => line.startsWith('count '))
  const times = new Map<string, number>()
  for (const line of lines) times.set(line.slice(6), (times.get(line.slice(6)) ?? 0) + 1)
  const ledgers = new Map(nodes.map((node) => [node.name, actionsOf(node)]))
  const unlinked = elsewhere.filter(({ by, traceId, tool }) => {
    const [near, far] = [ledgers.get(home.name)?.get(traceId), ledgers.get(by)?.get(traceId)]
    return (
      near?.includes(`${tool} ok by local`) !== true ||
      far?.includes(`${tool} ok by peer:${home.nodeId}/local`) !== true
    )
  })
  return {
    ...tally,
    nodes,
    remote: nodes.slice(1).flatMap((node) => executions(node)).length,
    duplicates: [...times].filter(([, count]) => count > 1).map(([id]) => id),
    missing: done.filter((id) => !times.has(id)),
    inFlight: await inFlight(nodes),
    soundLedgers: nodes.filter((node) => isSound(node)).length,
    unlinked: unlinked.map(({ by, traceId }) => `${traceId} by ${by}`),
    linked: elsewhere.length - unlinked.length,
  }
}

/** What a node thinks of the providers of a capability: for how long each is left alone. Absent: not heard of. */
export async function providers({ url }: MeshNode, name: string): Promise<ReadonlyMap<string, number>> {
  const { capabilitiesLocal, capabilitiesRemote } = (await (await fetch(`${url}/api/topology`)).json()) as Record<
    'capabilitiesLocal' | 'capabilitiesRemote',
    { readonly nodeId: string; readonly name: string; readonly quarantinedForMs: number }[]
  >
  const named = [...capabilitiesLocal, ...capabilitiesRemote].filter((entry) => entry.name === name)
  return new Map(named.map(({ nodeId, quarantinedForMs }) => [nodeId, quarantinedForMs]))
}

/** How many of some calls, made at once, were answered by whom; `undefined` for those that were not. */
export async function routed(from: MeshNode, tool: string, count: number): Promise<ReadonlyMap<string, number>> {
  const answers = await Promise.all(Array.from({ length: count }, () => call(from, tool)))
  const tally = new Map<string, number>()
  for (const { structured } of answers) {
    const by = String(structured?.data?.['node'])
    tally.set(by, (tally.get(by) ?? 0) + 1)
  }
  return tally
}

async function inFlight(nodes: readonly MeshNode[]): Promise<number> {
  const stats = await Promise.all(nodes.map((node) => node.say({ do: 'stats' })))
  return stats.reduce((sum, { inFlight: each }) => sum + Number(each), 0)
}

/** What the ledger itself has under each trace, read from its file as an auditor would. */
function actionsOf({ home }: MeshNode): ReadonlyMap<string, readonly string[]> {
  const actions = new Map<string, string[]>()
  for (const { trace_id: traceId, tool, outcome, principal } of recordedActions(home.data))
    actions.set(traceId, [...(actions.get(traceId) ?? []), `${tool} ${outcome} by ${principal}`])
  return actions
}

function isSound({ home }: MeshNode): boolean {
  try {
    cli(home, 'ledger', 'verify')
    return true
  } catch {
    return false
  }
}
