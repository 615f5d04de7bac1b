/** Gateway process: the product as its users run it, in a process of its own, with a data directory of its own. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { running } from './pending-waits.ts'

/**
 * The command as an installed package has it (tools/build-test-processes.mjs made it of the present source): it starts
 * with two thirds of the processor time that the source needs, and a flow starts dozens.
 */
export const CLI = fileURLToPath(new URL('../.built/cli.js', import.meta.url))

/** The command as a clone has it. */
export const SOURCE_CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url))

export type Era = 'modern' | 'legacy'

export interface Home {
  readonly data: string
  readonly config: string
  readonly remove: () => void
}

/** An empty data directory with a configuration that listens on a free port. */
export function createHome(yaml = ''): Home {
  const data = mkdtempSync(join(tmpdir(), 'hearthbus-home-'))
  const config = join(data, 'hearthbus.yaml')
  writeFileSync(config, `logLevel: warn\nlisten:\n  port: 0\n${yaml}`)
  return { data, config, remove: () => rmSync(data, { recursive: true, force: true }) }
}

export interface Ended {
  readonly code: number | null
  /** What it wrote to stdout and stderr, as it came. */
  readonly said: string
  readonly stdout: string
}

/** One command to its end, with nothing to read from and everything that it said. */
export async function runCommand(
  { data, config }: Home,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  /** A program that runs the command, such as `setpriv` with its arguments. */
  through: readonly string[] = [],
): Promise<Ended> {
  const [program = '', ...line] = [...through, process.execPath, CLI, '--data', data, '--config', config, ...words]
  const child = spawn(program, line, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  })
  let [said, stdout] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said, stdout }
}

export interface EndedCommand {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  /** What was written to stdout, then to stderr. */
  readonly text: string
}

/** The same while this process stands still: for tests that simulate nothing in it. */
export function runCommandSync(
  { data, config }: Pick<Home, 'data' | 'config'>,
  ...words: readonly string[]
): EndedCommand {
  const line = [CLI, '--data', data, '--config', config, ...words]
  const { status, stdout, stderr } = spawnSync(process.execPath, line, { encoding: 'utf8', timeout: 120_000 })
  return { status, stdout, stderr, text: `${stdout}${stderr}` }
}

/** What it wrote to stdout; throws where it failed. */
export function readCommandSync(home: Pick<Home, 'data' | 'config'>, ...words: readonly string[]): string {
  const { status, stdout, text } = runCommandSync(home, ...words)
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${text}`)
  return stdout
}

export interface GatewayProcess {
  readonly url: string
  readonly pid: number
  /** Like Ctrl-C; resolves with the exit code. */
  readonly stop: () => Promise<number | null>
  /** Like a power cut. */
  readonly kill: () => Promise<void>
  /** What it wrote to stderr so far. */
  readonly log: () => string
}

export async function startGatewayProcess(
  home: Home,
  flags: readonly string[] = [],
  cli = CLI,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [cli, 'up', '--data', home.data, '--config', home.config, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const speaker = { name: 'the gateway', log: () => log }
  running.add(speaker)
  // Also when a test is cut short, nothing is left running that would make the others slow.
  const abandon = (): void => void child.kill('SIGKILL')
  process.once('exit', abandon)
  // Closed, not only gone: what it said last has been read, too.
  const ended = once(child, 'close').then(([code]: unknown[]) => {
    running.delete(speaker)
    process.off('exit', abandon)
    return typeof code === 'number' ? code : null
  })
  let said = ''
  const up = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('Ctrl-C stops it')) resolve()
    })
    child.once('close', (code) =>
      reject(new Error(`the gateway ended with ${code} instead of starting:\n${said}${log}`)),
    )
  })
  await inTime(up, () => `the gateway has not started, and said:\n${said}${log}`)
  const dataRoot = flags.includes('--demo') ? join(home.data, 'demo') : home.data
  const { url } = JSON.parse(readFileSync(join(dataRoot, 'gateway.json'), 'utf8')) as { url: string }
  return {
    url,
    pid: child.pid ?? -1,
    stop: () => signalled(child, 'SIGTERM', ended),
    kill: async () => {
      await signalled(child, 'SIGKILL', ended)
    },
    log: () => log,
  }
}

/** Before the test itself runs out of time, which could not say what was waited for. */
export async function inTime<Value>(awaited: Promise<Value>, otherwise: () => string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise())), 250_000)
  })
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer))
}

/** A client as an agent has it, over HTTP. */
export async function connectHttp(url: string, era: Era, path = '/mcp', token?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, negotiation(era))
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}${path}`), { requestInit: { headers } }))
  return client
}

/** The same over stdio: the client starts the gateway itself. */
export async function connectStdio(home: Home, era: Era, flags: readonly string[] = []): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, negotiation(era))
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp', '--data', home.data, '--config', home.config, ...flags],
    // The transport passes on only what it knows; without this the pin would be in somebody's home.
    env: { XDG_STATE_HOME: process.env['XDG_STATE_HOME'] ?? '' },
    stderr: 'inherit',
  })
  // It has to start first, on a machine that is busy with something else.
  await client.connect(transport, { timeout: 240_000 })
  return client
}

function negotiation(era: Era): ConstructorParameters<typeof Client>[1] {
  return { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } }
}

async function signalled<Value>(child: ChildProcess, signal: NodeJS.Signals, ended: Promise<Value>): Promise<Value> {
  child.kill(signal)
  return ended
}
