/**
 * Bus: the integration point. Services register with it, faces and peers call through it, and every call takes the one
 * way in that it was given at construction (spec 2 § 3.7; design.md § 2).
 *
 *   call · stream · handleCall ─▶ ticket (deadline, signal) ─▶ admit( … proceed ─▶ dispatch … ) ─▶ trace, tally
 *
 * Pure: clock, chance, the chain and the way to other nodes come from outside; the timer behind it is timer-client.ts.
 */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { ulid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Admit, Proceed } from './admit.ts'
import type { BusConfig } from './bus-config.ts'
import { CallStream } from './call-stream.ts'
import type { Call, Caller, Channel, Interaction, Outcome } from './call.ts'
import type { Capability, CapabilityName, Family, Offer, Service, Version } from './capability.ts'
import { DeadlineWheel } from './deadline-wheel.ts'
import type { Owner } from './descriptor.ts'
import { Dispatcher } from './dispatch.ts'
import { HealthTracker } from './health-tracker.ts'
import type { Emit, PeerRecord, RemoteProvider } from './peer.ts'
import type { BusLog } from './provider.ts'
import { Registry } from './registry.ts'
import type { Diff } from './registry.ts'
import type { RegistryEvent } from './registry-events.ts'
import { Router } from './router.ts'
import { Tally, UNKNOWN_CAPABILITY } from './tally.ts'
import { LiveTicket } from './ticket.ts'
import { WheelTimer } from './timer-client.ts'
import { capabilityStats, entryView, inFlightTotal } from './topology.ts'
import type { BusStats, TopologySnapshot } from './topology.ts'
import { Trace } from './trace.ts'
import type { CallTraceEvent } from './trace.ts'

export interface BusOptions {
  readonly nodeId: string
  readonly communityId?: string
  readonly config: BusConfig
  readonly clock: Clock
  readonly admit: Admit
  readonly remote?: RemoteProvider
  /** Envelopes that peers' capabilities may ask for by name. */
  readonly families?: readonly Family[]
  readonly random?: () => number
  readonly log?: BusLog
}

export interface CallOptions {
  readonly caller: Caller
  readonly channel: Channel
  readonly traceId?: string | undefined
  readonly parentSpan?: string | undefined
  readonly sessionId?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly node?: string | undefined
  readonly hopBudget?: number | undefined
  readonly heldLocks?: readonly string[] | undefined
  readonly interaction?: Interaction | undefined
}

/** A call of our own may go to one other node, which serves it itself. */
const DEFAULT_HOPS = 1
/** Whatever a peer allows, no call wanders further than this. */
const MAX_HOPS = 4
/** For names that nobody offers: the chain still writes down that somebody asked. */
const UNKNOWN_TIMEOUT_SECONDS = 30
const NO_LOCKS: readonly string[] = []
const ANY_VERSION: Version = [0, 0]
const SILENT: BusLog = { warn: () => undefined, error: () => undefined }

export class CapabilityBus {
  readonly nodeId: string
  readonly registry: Registry
  readonly router: Router
  readonly health: HealthTracker
  readonly trace: Trace
  readonly tally = new Tally()
  readonly #options: BusOptions
  readonly #clock: Clock
  readonly #log: BusLog
  readonly #timer: WheelTimer
  readonly #dispatcher: Dispatcher
  readonly #proceed: Proceed
  readonly #live = new Set<LiveTicket>()
  readonly #peers = new Map<string, { readonly record: PeerRecord; readonly seenMs: number }>()
  readonly #services = new Map<string, Service>()
  readonly #resourceListeners = new Set<(uri: string) => void>()

  constructor(options: BusOptions) {
    const { nodeId, config, clock, random = Math.random } = options
    this.nodeId = nodeId
    this.#options = options
    this.#clock = clock
    this.#log = options.log ?? SILENT
    this.#timer = new WheelTimer(new DeadlineWheel(), clock)
    this.registry = new Registry(nodeId, options.families)
    this.router = new Router({ registry: this.registry, config, random })
    this.health = new HealthTracker(this.registry)
    this.trace = new Trace(nodeId)
    this.#dispatcher = new Dispatcher({
      config,
      random,
      router: this.router,
      health: this.health,
      timer: this.#timer,
      tally: this.tally,
      remote: options.remote,
      log: this.#log,
    })
    this.#proceed = (call) => this.#dispatcher.dispatch(call)
  }

  /** All of its capabilities or none. Starting and stopping the service is its holder's business. */
  registerService(service: Service): Result<void, Fault> {
    const registered: Offer[] = []
    for (const capability of service.capabilities()) {
      const isNew = this.registry.named(capability.offer.name).every((entry) => !entry.isLocal)
      const result = this.registerCapability(capability, service)
      if (!result.ok) {
        for (const offer of registered) this.deregister(offer.name, offer.version)
        return result
      }
      if (isNew) registered.push(capability.offer)
    }
    this.#services.set(service.name, service)
    return ok(undefined)
  }

  /** Without an owner: our own code, which may use any name. */
  registerCapability(capability: Capability, owner: Owner = OURSELVES): Result<void, Fault> {
    return this.registry.registerLocal(capability, owner, this.#clock.monotonic())
  }

  deregister(name: CapabilityName, version: Version, instance?: string): void {
    this.registry.deregisterLocal(name, version, instance)
  }

  /** Never rejects. `versionReq` of `undefined` means whatever `offer(name)` shows. */
  call(
    name: CapabilityName,
    versionReq: Version | undefined,
    body: JsonObject,
    options: CallOptions,
  ): Promise<Outcome> {
    const offer = this.registry.offer(name, versionReq, options.node)
    const ticket = this.#openTicket(offer, options.timeoutMs)
    const call = this.#buildCall({ name, versionReq, body, offer, ticket, stream: false }, options)
    return this.#through(call, ticket, { offer, parent: options.signal, proceed: this.#proceed })
  }

  stream(name: CapabilityName, versionReq: Version | undefined, body: JsonObject, options: CallOptions): CallStream {
    const offer = this.registry.offer(name, versionReq, options.node)
    const ticket = this.#openTicket(offer, options.timeoutMs)
    const call = this.#buildCall({ name, versionReq, body, offer, ticket, stream: true }, options)
    return new CallStream(
      (emit) => this.#throughStreaming(call, ticket, { offer, parent: options.signal, emit }),
      () => ticket.end('cancelled'),
    )
  }

  /**
   * A call that a transport received, verified and decoded. Served here; passed on only while `call.hopBudget` lasts.
   * With `emit` the answer is streamed.
   */
  handleCall(inbound: Call, emit?: Emit): Promise<Outcome> {
    const offer = this.registry.offer(inbound.capability, inbound.versionReq, inbound.node)
    const ticket = this.#openTicket(offer, inbound.deadlineMs - this.#clock.monotonic())
    const call: Call = {
      ...inbound,
      deadlineMs: ticket.deadlineMs,
      signal: ticket.signal,
      stream: emit !== undefined,
      hopBudget: Math.min(Math.max(0, Math.floor(inbound.hopBudget)), MAX_HOPS),
      ticket,
    }
    const parent = inbound.signal
    if (emit === undefined) return this.#through(call, ticket, { offer, parent, proceed: this.#proceed })
    return this.#throughStreaming(call, ticket, { offer, parent, emit })
  }

  /** What faces list: one per name, this node's own first. */
  offers(): readonly Offer[] {
    return this.registry.offers()
  }

  offer(name: CapabilityName): Offer | undefined {
    return this.registry.offer(name)
  }

  subscribe(): AsyncIterableIterator<RegistryEvent, undefined> {
    return this.registry.events.subscribe()
  }

  /** Something behind this resource has changed; whoever subscribed to it may read it again. */
  announceResource(uri: string): void {
    for (const listener of this.#resourceListeners) listener(uri)
  }

  onResource(listener: (uri: string) => void): () => void {
    this.#resourceListeners.add(listener)
    return () => this.#resourceListeners.delete(listener)
  }

  onPeerAdded(peer: PeerRecord): Diff {
    const nowMs = this.#clock.monotonic()
    this.#peers.set(peer.nodeId, { record: peer, seenMs: nowMs })
    return this.registry.updateFromPeer(peer, nowMs)
  }

  onPeerUpdated(peer: PeerRecord): Diff {
    return this.onPeerAdded(peer)
  }

  onPeerRemoved(nodeId: string): void {
    this.#peers.delete(nodeId)
    this.registry.removePeer(nodeId)
  }

  topologySnapshot(): TopologySnapshot {
    const nowMs = this.#clock.monotonic()
    const all = this.registry.all().map((entry) => entryView(entry, this.router.sticky, nowMs))
    return {
      ourNodeId: this.nodeId,
      communityId: this.#options.communityId,
      peers: [...this.#peers.values()].map(({ record, seenMs }) => ({
        nodeId: record.nodeId,
        displayName: record.displayName,
        source: record.source,
        capabilities: record.manifest.capabilities.length,
        seenAgoMs: nowMs - seenMs,
      })),
      capabilitiesLocal: all.filter((entry) => entry.isLocal),
      capabilitiesRemote: all.filter((entry) => !entry.isLocal),
      inFlightTotal: inFlightTotal(this.registry),
    }
  }

  recentTraces(count = 50): readonly CallTraceEvent[] {
    return this.trace.recent(count)
  }

  stats(): BusStats {
    return {
      calls: this.trace.recorded,
      inFlight: inFlightTotal(this.registry),
      offers: this.registry.offers().length,
      peers: this.#peers.size,
      sessions: this.router.sticky.size,
      retries: this.tally.retries,
      hedges: this.tally.hedges,
      quarantines: this.tally.quarantines,
      cutOff: this.tally.cutOff,
      capabilities: capabilityStats(this.tally),
    }
  }

  /** Rings what is due: for holders of a clock of their own. With the system's clock it happens by itself. */
  tick(): void {
    this.#timer.turn()
  }

  /** Withdraws every call under way and ends every subscription. */
  close(): void {
    for (const ticket of this.#live) ticket.end('cancelled', new DOMException('the node stops', 'AbortError'))
    this.registry.events.close()
    this.#timer.stop()
  }

  #openTicket(offer: Offer | undefined, wantedMs = Infinity): LiveTicket {
    const startedMs = this.#clock.monotonic()
    const limitMs = (offer?.timeoutSeconds ?? UNKNOWN_TIMEOUT_SECONDS) * 1_000
    const isHurried = !(wantedMs >= limitMs)
    return new LiveTicket({
      startedMs,
      deadlineMs: startedMs + (isHurried ? Math.max(0, wantedMs) : limitMs),
      isHurried,
    })
  }

  #buildCall(
    what: {
      readonly name: CapabilityName
      readonly versionReq: Version | undefined
      readonly body: JsonObject
      readonly offer: Offer | undefined
      readonly ticket: LiveTicket
      readonly stream: boolean
    },
    options: CallOptions,
  ): Call {
    return {
      capability: what.name,
      versionReq: what.versionReq ?? what.offer?.version ?? ANY_VERSION,
      body: what.body,
      caller: options.caller,
      channel: options.channel,
      traceId: options.traceId ?? ulid(this.#clock.now()),
      parentSpan: options.parentSpan,
      sessionId: options.sessionId,
      deadlineMs: what.ticket.deadlineMs,
      stream: what.stream,
      signal: what.ticket.signal,
      hopBudget: options.hopBudget ?? DEFAULT_HOPS,
      node: options.node,
      rehearsal: false,
      heldLocks: options.heldLocks ?? NO_LOCKS,
      interaction: options.interaction,
      ticket: what.ticket,
    }
  }

  async #throughStreaming(
    call: Call,
    ticket: LiveTicket,
    { offer, parent, emit }: { offer: Offer | undefined; parent: AbortSignal | undefined; emit: Emit },
  ): Promise<Outcome> {
    const tally = this.tally.of(offer?.name ?? UNKNOWN_CAPABILITY)
    tally.activeStreams++
    const proceed: Proceed = (admitted) => this.#dispatcher.dispatch(admitted, emit)
    const outcome = await this.#through(call, ticket, { offer, parent, proceed })
    tally.activeStreams--
    return outcome
  }

  async #through(
    call: Call,
    ticket: LiveTicket,
    way: { readonly offer: Offer | undefined; readonly parent: AbortSignal | undefined; readonly proceed: Proceed },
  ): Promise<Outcome> {
    const { offer, parent, proceed } = way
    this.#timer.set(ticket, ticket.deadlineMs)
    this.#live.add(ticket)
    if (parent !== undefined) ticket.follow(parent)
    let outcome: Outcome
    try {
      outcome = await this.#options.admit(call, offer, proceed)
    } catch (error) {
      this.#log.error({ err: error, capability: call.capability, traceId: call.traceId }, 'the chain threw')
      outcome = fail(internal(call))
    }
    this.#timer.clear(ticket)
    this.#live.delete(ticket)
    ticket.release()
    const nowMs = this.#clock.monotonic()
    this.tally.of(offer?.name ?? UNKNOWN_CAPABILITY).count(outcome, nowMs - ticket.startedMs)
    this.trace.record(call, outcome, { ticket, nowMs, endedAtMs: this.#clock.now() })
    return outcome
  }
}

const OURSELVES: Owner = { name: 'local', prefixes: [''] }

function internal(call: Call): Fault {
  return {
    kind: 'internal',
    code: 'internal_error',
    message: `${call.capability} failed because of a mistake inside. The log has it under trace ${call.traceId}.`,
  }
}
