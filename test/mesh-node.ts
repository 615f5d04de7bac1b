/**
 * Mesh node: a real gateway in a process of its own, with a service whose capabilities tests can count, slow down and
 * add to while it runs.
 *
 *   node test/mesh-node.ts <data directory> <configuration> [<socket>]
 *
 * Commands come as lines of JSON on stdin, answers go to stdout. Through the socket, if there is one, its listener for
 * agents and people is reached from another network namespace.
 */
import { once } from 'node:events'
import { appendFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { CallStream } from '../src/bus/call-stream.ts'
import type { Capability, Offer, Service } from '../src/bus/capability.ts'
import { checkReplySchema } from '../src/bus/schema-validation.ts'
import { setAnnouncedSchemaHash, computeSchemaHash } from '../src/bus/schema-hash.ts'
import { loadConfig } from '../src/config/config-file-store.ts'
import { systemClock } from '../src/core/clock.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { createLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import { startGateway } from '../src/main.ts'
import { answering, streaming } from './bus-village.ts'
import { HURTFUL_SCHEMAS } from './hurtful-schemas.ts'

const [, , dataRoot = '', configPath = '', door] = process.argv
const config = loadConfig(configPath, process.env, homedir())
if (!config.ok) throw new Error(JSON.stringify(config.fault))
const { name } = config.value.config.node
const log = (line: string): void => appendFileSync(join(dataRoot, 'executions.log'), `${line}\n`)
let produced = 0
const MOOD_MS: Readonly<Record<string, number>> = { slow: 400, stuck: 8_000 }
let mood: 'well' | 'slow' | 'stuck' | 'broken' = 'well'
const OURSELVES = { caller: { kind: 'principal', id: 'local', role: 'agent' }, channel: 'api' } as const

/** As after a sleep of the machine: monotonic time goes on, and nothing happened meanwhile. */
let leaptMs = 0
const trueNow = performance.now.bind(performance)
performance.now = () => trueNow() + leaptMs
let skewedMs = 0
Object.assign(systemClock, { now: () => Date.now() + skewedMs, monotonic: () => performance.now() })

/**
 * The longest that the event loop was busy in one go, in time of the processor: how busy the machine is otherwise does
 * not count.
 */
let [busiestMs, spentMs] = [0, mainThreadMs()]
setInterval(() => {
  const nowMs = mainThreadMs()
  busiestMs = Math.max(busiestMs, nowMs - spentMs)
  spentMs = nowMs
}, 1).unref()

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
  // A person has to agree, on this node.
  answering(
    { name: `test.door.${name}`, effect: 'sensitive', idempotent: false, trustRequired: 'trusted' },
    async (call) => {
      log(`opened ${JSON.stringify(call.body)}`)
      return said(call)
    },
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
  answering({ name: 'test.work', maxConcurrent: 50, idempotent: false }, worked),
  answering({ name: 'test.again', maxConcurrent: 50 }, worked),
  answering({ name: 'test.narrow', maxConcurrent: 1 }, worked),
  answering({ name: 'test.model', params: { model: `of-${name}` }, matches: { model: 'equals' } }, async (call) =>
    said(call),
  ),
  // Goes on where it asked, or not at all: what it asked for is in the state that it gave away.
  answering({ name: 'test.asking', face: { kind: 'tool' } }, async (call) => {
    const { inputResponses, requestState, clientCapabilities } = call.interaction ?? {}
    if (clientCapabilities?.['elicitation'] === undefined) return ok({ data: { node: name, answer: 'cannot ask' } })
    if (inputResponses?.['who'] !== undefined && requestState === `asked by ${name}`)
      return ok({ data: { node: name, answer: inputResponses['who'] } })
    const params = {
      mode: 'form',
      message: `Who is there? (${name})`,
      requestedSchema: { type: 'object', properties: {} },
    }
    const requests = { who: { method: 'elicitation/create', params } }
    return ok({ data: null, inputRequired: { requests, state: `asked by ${name}` } })
  }),
  streaming({ name: 'test.slow', face: { kind: 'tool' } }, async function* (call) {
    yield { event: 'progress', data: { current: 1, total: 2, stage: `half way in the ${name}` } }
    yield { event: 'progress', data: { current: 2, total: 2 } }
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
  // A node of that name is a mere customer of the others.
  capabilities: () => (name === 'caller' ? [] : capabilities),
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

/** What a service of somebody's own may do, which is plain JavaScript at run time. */
const behaviours: Readonly<Record<string, (call: Call) => unknown>> = {
  well: async (call) => said(call),
  'at once': (call) => said(call),
  nothing: async () => null,
  throwing: () => {
    throw new Error('boom')
  },
  kindless: async () => ({ ok: false, fault: { message: 'no' } }),
  busy: async () => ({ ok: false, fault: { kind: 'busy', message: 'later' } }),
  offline: async () => ({ ok: false, fault: { kind: 'offline', message: 'away' } }),
  slow: async (call) => {
    await sleep(50)
    return said(call)
  },
}

let stream: CallStream | undefined
const commands: Readonly<Record<string, (said: JsonObject) => Promise<object | void> | object | void>> = {
  stats: () => undefined,
  /** Since it was last asked. */
  busiest: () => {
    const told = { busiestMs }
    busiestMs = 0
    return told
  },
  leap: ({ ms }) => {
    leaptMs += Number(ms)
  },
  /** As with a clock that was set wrongly. */
  skew: ({ ms }) => {
    skewedMs += Number(ms)
  },
  mood: ({ name: given }) => {
    mood = given as typeof mood
  },
  add: ({ name: given, prefix = 'test', schema = object }) => {
    const facts = { name: `${textOf(prefix)}.${textOf(given)}`, requestSchema: schema as Offer['requestSchema'] }
    const added = gateway.bus.registerCapability(
      answering({ ...facts, face: { kind: 'tool' } }, async (call) => said(call)),
      service,
    )
    return added.ok ? { added: true } : { added: false, code: added.fault.code ?? added.fault.kind }
  },
  /** Offers what the command says, with a handler that behaves as it says. */
  offer: ({ name: given, behaves = 'well', model, ...facts }) => {
    const offer = { name: textOf(given), requestSchema: object, face: { kind: 'tool' }, ...facts } as Partial<Offer> & {
      readonly name: string
    }
    // As a function it stays here, and shows on other nodes only in what this one refuses.
    const matches =
      model === undefined ? {} : { matches: (_: JsonObject, asked: JsonObject) => asked['model'] === model }
    const added = gateway.bus.registerCapability(
      answering({ ...offer, ...matches }, (call) => {
        log(`ran ${offer.name}`)
        return behaviours[textOf(behaves)]?.(call) as Promise<Outcome>
      }),
      service,
    )
    return added.ok ? { added: true } : { added: false, code: added.fault.code ?? added.fault.kind }
  },
  /** A call through the bus itself, as a service of this node makes it. */
  call: async ({ name: given, timeoutMs, node }) => ({
    outcome: await gateway.bus.call(
      textOf(given),
      undefined,
      {},
      {
        ...OURSELVES,
        timeoutMs: Number(timeoutMs),
        node: typeof node === 'string' ? node : undefined,
      },
    ),
  }),
  /** Announces what no honest node can: the contract of a capability is replaced behind the back of its registry. */
  hurt: ({ number, part = 'responseSchema' }) => {
    const hurtful = HURTFUL_SCHEMAS[Number(number)]
    if (hurtful === undefined) throw new RangeError('there is no such schema')
    const facts = { name: `test.hurt${Number(number)}`, face: { kind: 'tool' } as const, responseSchema: {} }
    const capability = answering(facts, async () => ok({ data: hurtful.answer() }))
    gateway.bus.registerCapability(capability, service)
    const { offer } = capability
    // Checked once as it is, its answers are never checked again.
    checkReplySchema(offer, { data: null })
    Object.assign(offer, { [textOf(part)]: hurtful.schema, accept: (body: JsonObject) => ok(body) })
    const { name: offerName, version, requestSchema, responseSchema, streamSchema } = offer
    const contract = { name: offerName, version, requestSchema, responseSchema, streamSchema }
    setAnnouncedSchemaHash(offer, computeSchemaHash(contract))
  },
  /** Says of a capability whatever it likes. */
  claim: ({ facts }) => {
    const claimed = { face: { kind: 'tool' }, ...(facts as object) } as unknown as Parameters<typeof answering>[0]
    gateway.bus.registerCapability(answering(claimed, async (call) => said(call)))
  },
  offers: ({ name: given }) => ({
    offers: gateway.bus.registry.named(textOf(given)).map(({ nodeId, offer }) => ({
      nodeId,
      effect: offer.effect,
      title: offer.title,
      description: offer.description,
    })),
  }),
  announced: ({ name: given }) => ({ hashes: hashesOf(textOf(given)) }),
  all: async ({ name: given }) => ({ answers: await gateway.bus.callAll(textOf(given), undefined, {}, OURSELVES) }),
  /** Reads the first frame of a stream, and no more until it is told to. */
  stream: async ({ name: given, node, body }) => {
    stream = gateway.bus.stream(textOf(given), undefined, body as JsonObject, { ...OURSELVES, node: textOf(node) })
    return { first: (await stream.next()).value }
  },
  leave: async () => {
    await stream?.return()
  },
  rest: async () => {
    if (stream === undefined) throw new Error('there is no stream')
    let frames = 1
    for await (const _ of stream) frames++
    return { frames, outcome: await stream.outcome }
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as JsonObject & { readonly do: string }
  const done = await commands[command.do]?.(command)
  const { inFlight, peers, quarantines, hedges, retries } = gateway.bus.stats()
  answer({
    do: command.do,
    inFlight,
    peers,
    quarantines,
    hedges,
    retries,
    produced,
    rssMegabytes: process.memoryUsage().rss / 1_048_576,
    mesh: gateway.mesh?.() ?? null,
    verified: gateway.ledger.state().kind === 'sound',
    ...done,
  })
}
// Nobody is left to say anything: the test was cut short, and nothing is left running that would make the others slow.
process.exit(1)

function mainThreadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function textOf(value: Json | undefined): string {
  if (typeof value !== 'string') throw new TypeError('a command lacks a text')
  return value
}

function hashesOf(given: string): Readonly<Record<string, string>> {
  const entries = gateway.bus.registry.named(given)
  return Object.fromEntries(
    entries.map(({ nodeId, offer, announced }) => [nodeId, announced?.schemaHash ?? computeSchemaHash(offer)]),
  )
}

/** As somebody may be: quick, slow to answer, slower than any machine is busy, or unable to. */
async function worked(call: Call): Promise<Outcome> {
  log(`worked ${idIn(call)}`)
  if (mood === 'broken') throw new Error('nothing goes right today')
  try {
    await sleep(MOOD_MS[mood] ?? Number(call.body['ms'] ?? 0), undefined, { signal: call.signal })
  } catch {
    log(`cancelled ${idIn(call)}`)
  }
  return said(call)
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
