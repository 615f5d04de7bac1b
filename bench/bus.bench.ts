/**
 * Bus bench: one local call with everything on, against Moleculer with what corresponds to it on.
 *
 *   ours        JSON Schema validation both ways, deadline, signal, in-flight limit, health, trace, tally for metrics
 *   Moleculer   parameter validation, request timeout, bulkhead, circuit breaker, metrics
 *
 * Rounds are interleaved, so that whatever else the machine does falls on all of them; the figure is the median round.
 */
import { pathToFileURL } from 'node:url'
import { ServiceBroker } from 'moleculer'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import { CapabilityBus } from '../src/bus/bus.ts'
import type { Offer } from '../src/bus/capability.ts'
import { defaultFamilyEnvelope } from '../src/bus/default-family-envelope.ts'
import { validateRequest } from '../src/bus/schema-validation.ts'
import { systemClock } from '../src/core/clock.ts'

const ROUNDS = 9
const CALLS_PER_ROUND = 50_000
const FULL_MOLECULER = 'moleculer, everything on'

interface Contender {
  readonly name: string
  readonly call: () => Promise<unknown>
  readonly stop: () => Promise<void> | void
}

export async function run(): Promise<void> {
  const contenders = [
    ours(),
    await moleculer(FULL_MOLECULER, true),
    await moleculer('moleculer, validator only', false),
  ]
  const sequential = await interleaved(contenders, awaited)
  const concurrent = await interleaved(contenders, inBatches)
  const base = contenders.findIndex(({ name }) => name === FULL_MOLECULER)
  const rows = contenders.map(({ name }, index) => ({
    bus: name,
    'one at a time, calls/s': perSecond(sequential[index] ?? 0),
    'ratio ': ratio(sequential, index, base),
    '64 at once, calls/s': perSecond(concurrent[index] ?? 0),
    ratio: ratio(concurrent, index, base),
  }))
  console.table(rows)
  process.stdout.write(
    `ratio: against Moleculer with everything on; ${ROUNDS} interleaved rounds of ${CALLS_PER_ROUND} calls, median.\n`,
  )
  process.stdout.write(`streamed frames, one consumer: ${perSecond(await framesPerSecond())} frames/s\n`)
  for (const contender of contenders) await contender.stop()
}

const OFFER: Offer = {
  name: 'math.add',
  version: [1, 0],
  stability: 'stable',
  requestSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  responseSchema: { type: 'number' },
  streamSchema: undefined,
  params: {},
  maxConcurrent: 1_000,
  trustRequired: 'member',
  timeoutSeconds: 30,
  idempotent: true,
  title: 'Add',
  description: 'Adds two numbers.',
  effect: 'reads',
  lock: undefined,
  family: defaultFamilyEnvelope,
  face: { kind: 'tool' },
}
const CALLER = { caller: { kind: 'principal', id: 'bench', role: 'agent' }, channel: 'api' } as const

function newBus(): CapabilityBus {
  return new CapabilityBus({
    nodeId: 'bench',
    config: DEFAULT_BUS_CONFIG,
    clock: systemClock,
    // The chain reduced to its validate stage: lock, guard and ledger are measured elsewhere.
    admit: (call, offer, proceed) => {
      if (offer === undefined) return proceed(call)
      const body = validateRequest(offer, call.body)
      if (!body.ok) return Promise.resolve(body)
      return proceed(body.value === call.body ? call : { ...call, body: body.value })
    },
  })
}

function ours(): Contender {
  const bus = newBus()
  bus.registerCapability({
    offer: OFFER,
    handle: async (call) => ({ ok: true, value: { data: Number(call.body['a']) + Number(call.body['b']) } }),
  })
  return {
    name: 'hearthbus, everything on',
    call: () => bus.call('math.add', [1, 0], { a: 1, b: 2 }, CALLER),
    stop: () => bus.close(),
  }
}

async function moleculer(name: string, everything: boolean): Promise<Contender> {
  const broker = new ServiceBroker({
    logger: false,
    validator: true,
    metrics: everything,
    requestTimeout: everything ? 30_000 : 0,
    circuitBreaker: { enabled: everything },
    bulkhead: { enabled: everything, concurrency: 1_000 },
  })
  broker.createService({
    name: 'math',
    actions: {
      add: {
        params: { a: 'number', b: 'number', $$strict: true },
        handler: async (context: { readonly params: { readonly a: number; readonly b: number } }) =>
          context.params.a + context.params.b,
      },
    },
  })
  await broker.start()
  return { name, call: () => broker.call('math.add', { a: 1, b: 2 }), stop: () => broker.stop() }
}

async function awaited({ call }: Contender): Promise<void> {
  for (let made = 0; made < CALLS_PER_ROUND; made++) await call()
}

async function inBatches({ call }: Contender): Promise<void> {
  for (let made = 0; made < CALLS_PER_ROUND; made += 64) await Promise.all(Array.from({ length: 64 }, call))
}

/** Calls per second of the median round, in the order of the contenders. */
async function interleaved(
  contenders: readonly Contender[],
  round: (contender: Contender) => Promise<void>,
): Promise<readonly number[]> {
  const times = contenders.map((): number[] => [])
  for (const contender of contenders) await round(contender)
  for (let turn = 0; turn < ROUNDS; turn++)
    for (const [index, contender] of contenders.entries()) {
      const startedMs = performance.now()
      await round(contender)
      times[index]?.push(performance.now() - startedMs)
    }
  return times.map((each) => {
    const median = each.toSorted((left, right) => left - right)[Math.floor(each.length / 2)] ?? Infinity
    return (CALLS_PER_ROUND / median) * 1_000
  })
}

async function framesPerSecond(): Promise<number> {
  const bus = newBus()
  const streamSchema = { type: 'object', properties: { event: { const: 'token' }, data: { type: 'integer' } } }
  bus.registerCapability({
    offer: { ...OFFER, name: 'count.up', requestSchema: {}, responseSchema: {}, streamSchema },
    handleStream: async function* () {
      for (let frame = 0; frame < 200_000; frame++) yield { event: 'token', data: frame }
      return { ok: true, value: { data: null } }
    },
  })
  const startedMs = performance.now()
  let frames = 0
  for await (const frame of bus.stream('count.up', [1, 0], {}, CALLER)) frames += frame.event === 'token' ? 1 : 0
  return (frames / (performance.now() - startedMs)) * 1_000
}

function perSecond(count: number): string {
  return Math.round(count).toLocaleString('en')
}

function ratio(figures: readonly number[], index: number, base: number): string {
  return `${((figures[index] ?? 0) / (figures[base] ?? 1)).toFixed(2)} ×`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run()
