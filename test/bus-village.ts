/**
 * Bus village: nodes in one process that know each other, each with its own bus. The wire between them is a JSON text,
 * so nothing crosses that could not cross a real one.
 */
import type { CallPipeline } from '../src/bus/call-pipeline.ts'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import type { BusConfig } from '../src/bus/bus-config.ts'
import { CapabilityBus } from '../src/bus/bus.ts'
import { LocallyStartedCall, openCallTicket } from '../src/bus/call-factory.ts'
import { TraceIdSource } from '../src/bus/call-ticket.ts'
import type { CallOptions } from '../src/bus/call-factory.ts'
import type { Call, StreamFrame, NestedCallRunner, Outcome, TrustLevel } from '../src/bus/call.ts'
import type { Capability, Offer, StreamHandler, UnaryHandler } from '../src/bus/capability.ts'
import { describeOwnCapability } from '../src/bus/peer.ts'
import type { PeerManifest, PeerRecord, RemoteProviderClient } from '../src/bus/peer.ts'
import type { BusLogger } from '../src/bus/provider-attempt-start.ts'
import { validateRequest } from '../src/bus/schema-validation.ts'
import { manualClock } from './manual-clock.ts'
import { plainOffer } from './plain-offer.ts'
import type { OfferFacts } from './plain-offer.ts'
import { seeded } from './seeded-random.ts'
import type { Clock } from '../src/core/clock.ts'
import type { Json } from '../src/core/json.ts'
import { ok } from '../src/core/result.ts'

export const ME: CallOptions = { caller: { kind: 'principal', id: 'tester', role: 'agent' }, channel: 'api' }

/** The chain reduced to its validate stage. */
export const validating: CallPipeline = (call, offer, proceed) => {
  if (offer === undefined) return proceed(call)
  const body = validateRequest(offer, call.body)
  if (!body.ok) return Promise.resolve(body)
  return proceed(body.value === call.body ? call : { ...call, body: body.value })
}

/**
 * A stranger's offer: plain JSON Schema, nothing by construction. Any node's provider of it is as good as another's.
 */
export function offered(facts: OfferFacts): Offer {
  return plainOffer({ maxConcurrent: 8, idempotent: true, face: { kind: 'service' }, anywhere: true, ...facts })
}

export function answering(facts: OfferFacts, handle: UnaryHandler): Capability {
  return { offer: offered(facts), handle }
}

export function streaming(facts: OfferFacts, handleStream: StreamHandler): Capability {
  return { offer: offered({ streamSchema: {}, ...facts }), handleStream }
}

export function reply(data: Json): Outcome {
  return ok({ data })
}

export const echo: UnaryHandler = (call) => Promise.resolve(reply(call.body))

const NOWHERE: NestedCallRunner = {
  call: () => Promise.reject(new Error('this call is on no bus')),
  stream: () => {
    throw new Error('this call is on no bus')
  },
}

/** A call as the bus would hand it to its router. */
export function callOf(name: string, facts: Partial<Call> = {}): Call {
  const clock = manualClock()
  const ticket = openCallTicket(undefined, clock.monotonic())
  const parts = { options: ME, refusal: undefined, nestedCalls: NOWHERE, traceIds: new TraceIdSource(clock) }
  const made: Call = new LocallyStartedCall({ name, versionReq: [1, 0], body: {}, isStream: false }, ticket, parts)
  return { ...made, ...facts }
}

export interface NodeOptions {
  readonly clock?: Clock
  readonly config?: Partial<BusConfig>
  readonly admit?: CallPipeline
  readonly random?: () => number
  readonly log?: BusLogger
  readonly remote?: RemoteProviderClient
}

export function node(nodeId: string, options: NodeOptions = {}): CapabilityBus {
  const { clock = manualClock(), config = {}, admit = validating, random = seeded(7), log } = options
  const remote = options.remote ?? neighbours(nodeId, clock)
  return new CapabilityBus({
    nodeId,
    clock,
    admit,
    random,
    remote,
    config: { ...DEFAULT_BUS_CONFIG, ...config },
    ...(log === undefined ? {} : { log }),
  })
}

/** What `bus` would say of itself to others. */
export function manifestOf(bus: CapabilityBus): PeerRecord {
  const capabilities = bus.registry.allLocal().map((entry) => describeOwnCapability(entry.offer))
  const manifest: PeerManifest = { nodeId: bus.nodeId, capabilities }
  return { nodeId: bus.nodeId, endpoint: bus, manifest }
}

/** Everybody hears of everybody. */
export function introduce(...buses: readonly CapabilityBus[]): void {
  for (const bus of buses) for (const other of buses) if (other !== bus) bus.onPeerUpdated(manifestOf(other))
}

function neighbours(from: string, clock: Clock, level: TrustLevel = 'trusted'): RemoteProviderClient {
  const inbound = (call: Call): Call => ({
    ...call,
    body: overTheWire(call.body),
    caller: { kind: 'peer', id: from, level },
    channel: 'mesh',
    // Remaining time travels, never a moment on somebody's clock.
    deadlineMs: clock.monotonic() + (call.deadlineMs - clock.monotonic()),
    node: undefined,
    interaction: undefined,
    ticket: undefined,
  })
  return {
    call: async (entry, call) => overTheWire(await far(entry.endpoint).handleCall(inbound(call))),
    stream: async (entry, call, emit) =>
      overTheWire(await far(entry.endpoint).handleCall(inbound(call), (frame) => emit(overTheWire(frame)))),
  }
}

function far(endpoint: unknown): CapabilityBus {
  if (endpoint instanceof CapabilityBus) return endpoint
  throw new TypeError('this endpoint is not in the village')
}

function overTheWire<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

export async function collect(frames: AsyncIterable<StreamFrame>): Promise<readonly StreamFrame[]> {
  const seen: StreamFrame[] = []
  for await (const frame of frames) seen.push(frame)
  return seen
}

/** Lets everything that can go on without time passing go on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
