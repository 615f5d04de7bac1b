/**
 * Mesh node: a real gateway in a process of its own, with a service whose capabilities tests can count, slow down and
 * add to while it runs.
 *
 *   node test/mesh-node.ts <data directory> <configuration> [<socket>]
 *
 * Commands come as lines of JSON on stdin, answers go to stdout. Through the socket, if there is one, its listener for
 * agents and people is reached from another network namespace.
 *
 * Does I/O.
 */
import { once } from 'node:events'
import { appendFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { Capability, Service } from '../src/bus/capability.ts'
import { loadConfig } from '../src/config/config-store.ts'
import { createLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import { startGateway } from '../src/main.ts'
import { answering, streaming } from './bus-village.ts'

const [, , dataRoot = '', configPath = '', door] = process.argv
const config = loadConfig(configPath, process.env, homedir())
if (!config.ok) throw new Error(JSON.stringify(config.fault))
const { name } = config.value.config.node
const log = (line: string): void => appendFileSync(join(dataRoot, 'executions.log'), `${line}\n`)
let produced = 0

/** As after a sleep of the machine: monotonic time goes on, and nothing happened meanwhile. */
let leaptMs = 0
const trueNow = performance.now.bind(performance)
performance.now = () => trueNow() + leaptMs

const object = { type: 'object' } as const
const capabilities: readonly Capability[] = [
  answering({ name: 'test.echo', requestSchema: object, face: { kind: 'tool' } }, async (call) => said(call)),
  answering({ name: 'test.where', anywhere: false, face: { kind: 'tool' } }, async (call) => said(call)),
  answering({ name: `test.only.${name}`, face: { kind: 'tool' } }, async (call) => said(call)),
  // Done twice it would be noticed: every execution leaves a line.
  answering({ name: 'test.count', effect: 'records', idempotent: false, maxConcurrent: 64 }, async (call) => {
    log(`count ${idIn(call)}`)
    await sleep(Number(call.body['ms'] ?? 0))
    return said(call)
  }),
  // Its own deadline is short, so whoever misses it is to blame.
  answering({ name: 'test.quick', timeoutSeconds: 1 }, async (call) => said(call)),
  answering({ name: 'test.write', effect: 'writes', idempotent: false, trustRequired: 'trusted' }, async (call) =>
    said(call),
  ),
  answering({ name: 'test.sleep', timeoutSeconds: 60 }, async (call) => {
    log(`sleeping ${idIn(call)}`)
    try {
      await sleep(Number(call.body['ms'] ?? 0), undefined, { signal: call.signal })
    } catch {
      log(`cancelled ${idIn(call)}`)
    }
    return said(call)
  }),
  streaming({ name: 'test.frames', timeoutSeconds: 60 }, async function* (call) {
    const filler = 'x'.repeat(Number(call.body['bytes'] ?? 0))
    produced = 0
    for (let number = 0; number < Number(call.body['frames'] ?? 3); number++) {
      produced++
      yield { event: 'chunk', data: { number, filler } }
    }
    return said(call)
  }),
]

const service: Service = {
  name: 'test',
  prefixes: ['test'],
  capabilities: () => capabilities,
  start: async () => undefined,
  stop: async () => undefined,
  health: () => ({ status: 'ok', details: {} }),
}

const started = await startGateway({
  config: config.value.config,
  dataRoot,
  version: '0.0.0-test',
  logger: createLogger(config.value.config.logLevel),
  listen: true,
  services: () => [service],
})
if (!started.ok) throw new Error(started.fault.message)
const gateway = started.value
if (door !== undefined) {
  rmSync(door, { force: true })
  const { port = 0 } = URL.parse(gateway.url ?? '') ?? {}
  const server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  server.listen(door)
  await once(server, 'listening')
}
answer({ ready: true, url: gateway.url ?? null, nodeId: gateway.nodeId })

process.on('SIGTERM', () => {
  void gateway.stop().then(() => process.exit(0))
})

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as { readonly do: string; readonly name?: string; readonly ms?: number }
  if (command.do === 'leap') leaptMs += command.ms ?? 0
  if (command.do === 'add')
    gateway.bus.registerCapability(
      answering({ name: `test.${command.name}`, face: { kind: 'tool' } }, async (call) => said(call)),
      service,
    )
  answer({
    do: command.do,
    inFlight: gateway.bus.stats().inFlight,
    peers: gateway.bus.stats().peers,
    quarantines: gateway.bus.stats().quarantines,
    produced,
    rssMegabytes: process.memoryUsage().rss / 1_048_576,
    mesh: gateway.mesh?.() ?? null,
    verified: gateway.ledger.state().kind === 'sound',
  })
}

function said({ body, caller, traceId, sessionId }: Call): Outcome {
  return ok({ data: { node: name, body, caller: caller.id, traceId, session: sessionId ?? null } })
}

function answer(facts: object): void {
  process.stdout.write(`${JSON.stringify(facts)}\n`)
}

function idIn({ body }: Call): string {
  return JSON.stringify(body['id'] ?? null)
}
