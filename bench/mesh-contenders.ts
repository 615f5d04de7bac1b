/** Mesh contenders: who is compared, and the two processes of each. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startNats } from '../test/nats-process.ts'
import type { Load, Seen } from './far-end/mesh-near-client.ts'
import type { Ends, Wire } from './mesh-ends.ts'

export interface Contender {
  readonly name: string
  readonly load: (load: Load) => Promise<Figures>
  readonly stop: () => Promise<void>
}

export interface Figures extends Pick<Seen, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  /** Processor time per call, which a neighbour on the same machine does not change. */
  readonly callerMicros: number
  readonly providerMicros: number
}

const NEAR = fileURLToPath(new URL('far-end/mesh-near-client.ts', import.meta.url))
const FAR = fileURLToPath(new URL('far-end/mesh-far-server.ts', import.meta.url))

const DIRECT: ReadonlySet<Wire> = new Set(['ours-http', 'moleculer-tcp', 'echo-tcp', 'echo-tls'])

type Setting = Omit<Ends, 'url'>

/** By name; those over NATS only where there is a server. The last one is what the others are measured by. */
export function contendersFor(hasNats: boolean): ReadonlyMap<string, Setting> {
  const ends = (wire: Wire, more: Partial<Setting> = {}): Setting => ({
    wire,
    signatures: 'session',
    ledger: false,
    ...more,
  })
  const direct: [string, Setting][] = [
    ['HTTPS, session MAC', ends('ours-http')],
    ['HTTPS, unsigned', ends('ours-http', { signatures: 'none' })],
    ['HTTPS, both ledgers', ends('ours-http', { ledger: true })],
    ['Moleculer TCP', ends('moleculer-tcp')],
    ['bare TLS echo', ends('echo-tls')],
    ['bare TCP echo', ends('echo-tcp')],
  ]
  if (!hasNats) return new Map(direct)
  return new Map([
    ...direct,
    ['NATS, session MAC', ends('ours-nats')],
    ['NATS, unsigned', ends('ours-nats', { signatures: 'none' })],
    ['NATS, both ledgers', ends('ours-nats', { ledger: true })],
    ['Moleculer NATS', ends('moleculer-nats')],
    ['raw NATS, nc.request', ends('request')],
    ['raw NATS, one reply subject', ends('raw')],
  ])
}

/**
 * `MESH_BENCH_PROFILE` names a folder for processor profiles of both processes, `MESH_BENCH_NODE` flags such as
 * --trace-gc.
 */
export async function startContender(name: string, setting: Setting): Promise<Contender> {
  // A server each: our nodes have the same keys in every row, and would hear each other's calls.
  const broker = DIRECT.has(setting.wire) ? undefined : await startNats()
  const ends: Ends = { ...setting, url: broker?.url ?? '' }
  const far = launch(FAR, [JSON.stringify(ends)])
  const address = await heard<object>(far)
  const near = launch(NEAR, [JSON.stringify(ends), JSON.stringify(address)])
  await heard(near)
  return {
    name,
    load: async (load) => {
      const before = await asked<{ cpuMicros: number }>(far, 'cpu')
      const seen = await asked<Seen>(near, load)
      const after = await asked<{ cpuMicros: number }>(far, 'cpu')
      const { perSecond, p50Ms, p99Ms, calls } = seen
      return {
        perSecond,
        p50Ms,
        p99Ms,
        callerMicros: seen.cpuMicros / calls,
        providerMicros: (after.cpuMicros - before.cpuMicros) / calls,
      }
    },
    stop: async () => {
      for (const child of [near, far]) {
        child.send('stop')
        await once(child, 'exit')
      }
      await broker?.stop()
    },
  }
}

function launch(path: string, words: readonly string[]): ChildProcess {
  const folder = process.env['MESH_BENCH_PROFILE']
  const profiled = folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${folder}`]
  const flags = process.env['MESH_BENCH_NODE']?.split(' ').filter((flag) => flag !== '') ?? []
  const env = { ...process.env, MESH_BENCH_RUN: String(process.pid) }
  return fork(path, words, { execArgv: [...flags, ...profiled], env, serialization: 'json' })
}

async function heard<Answer>(child: ChildProcess): Promise<Answer> {
  const done = new AbortController()
  const gone = once(child, 'exit', { signal: done.signal }).then(([code]) => {
    throw new Error(`a process of the bench ended: ${code}`)
  })
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal: done.signal }), gone])) as [Answer]
    return answer
  } finally {
    gone.catch(() => undefined)
    done.abort()
  }
}

function asked<Answer>(child: ChildProcess, question: object | string): Promise<Answer> {
  const answer = heard<Answer>(child)
  child.send(question)
  return answer
}
