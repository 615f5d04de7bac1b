/**
 * Mesh house: real gateways in processes of their own that become a community the way people make one, with commands.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { listenLocally } from './local-port.ts'
import type { JsonObject } from '../src/core/json.ts'
import { CLI, createHome, inTime } from './gateway-process.ts'
import type { Home } from './gateway-process.ts'
import type { Network } from './mesh-network.ts'
import { notePoll, running } from './pending-waits.ts'

/** `mesh-node.ts`, built. */
const NODE = fileURLToPath(new URL('../.built/mesh-node.js', import.meta.url))
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/hearthbus', import.meta.url))

export interface MeshNode {
  readonly name: string
  readonly home: Home
  readonly url: string
  readonly nodeId: string
  readonly pid: number
  readonly namespace: string | undefined
  readonly say: (command: JsonObject & { readonly do: string }) => Promise<Record<string, unknown>>
  /** Like Ctrl-C. */
  readonly stop: () => Promise<void>
  /** Like a power cut. */
  readonly kill: () => Promise<void>
  readonly log: () => string
}

/** What its owner is told under `/api`: an agent hears nothing of what others asked. */
export function askAsOwner({ url, home }: Pick<MeshNode, 'url' | 'home'>, path: string): Promise<Response> {
  const owner = readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
  return fetch(`${url}${path}`, { headers: { authorization: `Bearer ${owner}` } })
}

export interface NodeSettings {
  /** Lines of the `mesh` section, indented by two. */
  readonly mesh?: string
  /** Sections of their own. */
  readonly yaml?: string
  /** What the ledger is called. */
  readonly origin?: string
  readonly host?: string
  readonly port?: number
  /** Run inside this network namespace. */
  readonly namespace?: string | undefined
  /** Each node gets a namespace of its own in it. */
  readonly network?: Network | undefined
}

export function meshHome(
  name: string,
  { mesh = '', yaml = '', origin, host = '127.0.0.1', port = 0 }: NodeSettings = {},
): Home {
  const home = createHome()
  writeFileSync(
    home.config,
    [
      'logLevel: warn',
      `node: { name: ${name} }`,
      'listen: { port: 0 }',
      'guard: { callsPerMinute: 1000000, writesPerMinute: 100000 }',
      `ledger: { checkpointSeconds: 1${origin === undefined ? '' : `, origin: ${origin}`} }`,
      'mesh:',
      '  enabled: true',
      `  host: ${host}`,
      `  port: ${port}`,
      '  mdns: false',
      '  rate: { callsPerSecond: 100000, callsPerSecondPerCapability: 100000 }',
      mesh,
      yaml,
      '',
    ].join('\n'),
  )
  return home
}

export async function startNode(name: string, home: Home, { namespace }: NodeSettings = {}): Promise<MeshNode> {
  const [command, prefix] =
    namespace === undefined ? [process.execPath, []] : ['ip', ['netns', 'exec', namespace, process.execPath]]
  // What listens on the loopback of another namespace is reached through a socket in the file system, which all share.
  const door = namespace === undefined ? [] : [join(home.data, 'door.sock')]
  const child = spawn(command, [...prefix, NODE, home.data, home.config, ...door], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const said = { name, log: () => log }
  running.add(said)
  // Closed, not only gone: what it said last has been read, too.
  const ended = once(child, 'close').finally(() => running.delete(said))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> => {
    const line = await lines.next()
    if (line.done === true) {
      // What it had to say goes another way, and may come later than the end.
      await ended
      throw new Error(`${name} ended:\n${log}`)
    }
    return JSON.parse(line.value) as Record<string, unknown>
  }
  const ready = await inTime(next(), () => `${name} has not started, and said:\n${log}`)
  const [socket] = door
  const relay = socket === undefined ? undefined : await openRelay(socket)
  return {
    name,
    home,
    namespace,
    url: relay?.url ?? String(ready['url']),
    nodeId: String(ready['nodeId']),
    pid: child.pid ?? -1,
    say: async (said) => {
      child.stdin.write(`${JSON.stringify(said)}\n`)
      return next()
    },
    stop: async () => {
      relay?.close()
      await signalled(child, 'SIGTERM', ended)
    },
    kill: async () => {
      relay?.close()
      await signalled(child, 'SIGKILL', ended)
    },
    log: () => log,
  }
}

/** The same node once more, where it was. */
export function startAgain({ name, home, namespace }: MeshNode): Promise<MeshNode> {
  return startNode(name, home, { namespace })
}

async function openRelay(path: string): Promise<{ readonly url: string; readonly close: () => void }> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(path)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far).pipe(near)
  })
  const port = await listenLocally(server)
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A command as a person types it, in JSON. Throws with what it said if it fails. */
export function cli(home: Home, ...words: readonly string[]): Record<string, unknown> {
  return cliIn(undefined, home, ...words)
}

export function cliIn(namespace: string | undefined, home: Home, ...words: readonly string[]): Record<string, unknown> {
  const run = [process.execPath, CLI, '--json', '--data', home.data, '--config', home.config, ...words]
  const [command = '', ...rest] = namespace === undefined ? run : ['ip', 'netns', 'exec', namespace, ...run]
  const { stdout, stderr, status } = spawnSync(command, rest, { encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stdout}${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>
}

/** A home of its own, and a place on the network if there is one. */
export function settle(name: string, settings: NodeSettings): { readonly home: Home; readonly namespace?: string } {
  const place = settings.network?.place(name)
  const home = meshHome(name, { ...settings, ...(place && { host: place.host }) })
  return place === undefined ? { home } : { home, namespace: place.namespace }
}

export function invite(home: Home, level = 'trusted'): string {
  return String(cli(home, 'mesh', 'invite', '--level', level)['invitation'])
}

/** Founds a community on the first and lets the others in, one after another. */
export async function formCommunity(
  names: readonly string[],
  settings: NodeSettings = {},
): Promise<readonly MeshNode[]> {
  let first: MeshNode | undefined
  const starting: Promise<MeshNode>[] = []
  for (const name of names) {
    const { home, namespace } = settle(name, settings)
    if (first === undefined) cli(home, 'mesh', 'init', '--name', 'village')
    else cliIn(namespace, home, 'mesh', 'join', invite(first.home))
    // Whoever lets the others in has to run; they start while the next one is let in.
    const started = startNode(name, home, { namespace })
    starting.push(started)
    first ??= await started
  }
  const nodes = await Promise.all(starting)
  try {
    await until('everybody knows everybody', async () => {
      const counts = await Promise.all(nodes.map((node) => node.say({ do: 'stats' })))
      return counts.every(({ peers }) => peers === names.length - 1)
    })
  } catch (error) {
    const told = await Promise.all(nodes.map(async (node) => `${await knownTo(node)}\n${node.log()}`))
    await closeAll(nodes)
    throw new Error(told.join('\n'), { cause: error })
  }
  return nodes
}

/** For whoever has to find out why they do not know each other. */
async function knownTo({ name, say }: MeshNode): Promise<string> {
  const { peers, mesh } = await say({ do: 'stats' })
  return `${name} has ${String(peers)} others on its bus, and ${JSON.stringify(mesh)}`
}

export async function closeAll(nodes: readonly MeshNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()))
  for (const { home } of nodes) home.remove()
}

export interface CallAnswer {
  readonly outcome: string
  readonly traceId: string
  /** Absent when nobody offers the tool. */
  readonly structured: { readonly data?: Record<string, unknown>; readonly error?: Record<string, unknown> }
}

/** A call through a node's own API, as its console makes it. */
export async function call(
  { url }: MeshNode,
  tool: string,
  body: object = {},
  more: {
    readonly node?: string
    readonly session?: string
    readonly timeoutMs?: number
    readonly signal?: AbortSignal
    /** As whoever holds it, instead of as whoever sits at this machine. */
    readonly token?: string
  } = {},
): Promise<CallAnswer> {
  const { signal, token, ...rest } = more
  const response = await fetch(`${url}/api/call`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ tool, arguments: body, ...rest }),
    signal: signal ?? AbortSignal.timeout(60_000),
  })
  return (await response.json()) as CallAnswer
}

export function executions({ home }: Pick<MeshNode, 'home'>): readonly string[] {
  const path = join(home.data, 'executions.log')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

/** Generous on purpose: only that it happens is asserted, not when. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const endMs = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`within ${ms} ms it did not happen that ${what}\n${logs()}`)
    notePoll()
    await sleep(50)
  }
}

function logs(): string {
  return [...running].map(({ name, log }) => `${name} said: ${log()}`).join('\n')
}

async function signalled(child: ChildProcess, signal: NodeJS.Signals, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  await ended
}
