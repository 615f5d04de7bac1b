/** NATS process: a real nats-server with JetStream on a free loopback port, for as long as a test needs it. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './local-port.ts'

export const NATS_SERVER = spawnSync('sh', ['-c', 'command -v nats-server'], { encoding: 'utf8' }).stdout.trim()

/** Said loudly once per test file: a suite that is silent about what it did not do would be believed too much. */
export function warnWithoutNats(what: string): void {
  if (NATS_SERVER === '')
    process.stderr.write(
      `\n*** NOT RUN: ${what}: there is no nats-server on this machine (apt-get install nats-server) ***\n`,
    )
}

export interface NatsProcess {
  readonly url: string
  /** Like a power cut, and back again at the same address; with other users and permissions, if it is told so. */
  readonly kill: () => Promise<void>
  readonly restart: (extra?: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * `extra` goes into its configuration file: users, permissions. `place` is a network namespace and an address in it.
 */
export async function startNats(
  extra = '',
  place: { readonly namespace?: string; readonly host: string } = { host: '127.0.0.1' },
): Promise<NatsProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-nats-'))
  const port = await freePort()
  const config = join(folder, 'nats.conf')
  const write = (more: string): void =>
    writeFileSync(config, `listen: "${place.host}:${port}"\njetstream { store_dir: "${folder}/js" }\n${more}\n`)
  write(extra)
  let child = await launch(config, place.namespace)
  return {
    url: `nats://${place.host}:${port}`,
    kill: () => ended(child, 'SIGKILL'),
    restart: async (more) => {
      if (more !== undefined) write(more)
      child = await launch(config, place.namespace)
    },
    stop: async () => {
      await ended(child, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function launch(config: string, namespace: string | undefined): Promise<ChildProcess> {
  const [command, inside] =
    namespace === undefined ? [NATS_SERVER, []] : ['ip', ['netns', 'exec', namespace, NATS_SERVER]]
  const child = spawn(command, [...inside, '-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('Server is ready')) resolve()
    })
    child.once('close', () => reject(new Error(`nats-server did not start:\n${said}`)))
  })
  return child
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}
