/**
 * Bus: the integration point. Services register with it, faces and peers call through it, and every call takes the one
 * way in that it was given at construction (spec 2 § 3.7).
 *
 *   call · stream · handleCall ─▶ ticket (deadline, signal) ─▶ admit( … proceed ─▶ dispatch … ) ─▶ trace, tally
 *
 * Pure: clock, chance, the chain and the way to other nodes come from outside; the timer behind it is timer-wheel.ts.
 */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { NextHandler } from './call-pipeline.ts'
import type { BusOptions } from './bus-options.ts'
import {
  limitHopBudget,
  LocallyStartedCall,
  deriveNestedCallOptions,
  noteNestedDecision,
  openCallTicket,
  createPeerCallHandlerContext,
  checkRequestedCallTimeout,
  toRouteRequest,
} from './call-factory.ts'
import type { CallOptions, CallRequest } from './call-factory.ts'
import { CallStream } from './call-stream.ts'
import type { Call, NestedCallRunner, Outcome } from './call.ts'
import type { Capability, CapabilityName, Offer, Service, CapabilityVersion } from './capability.ts'
import { TimerWheel, TimerWheelDriver } from './timer-wheel.ts'
import type { NamespaceOwner } from './offer-validation.ts'
import { CallDispatcher } from './call-dispatcher.ts'
import type { RouteRequest } from './route-request-matching.ts'
import { canServeParams } from './route-request-matching.ts'
import { addNodeToFault } from './remote-fault.ts'
import { HealthTracker } from './health.ts'
import { NodeDirectory } from './node-directory.ts'
import type { StreamFrameEmitter, PeerRecord } from './peer.ts'
import { createProviderInternalFault } from './provider-attempt-start.ts'
import type { BusLogger } from './provider-attempt-start.ts'
import { CapabilityRegistry } from './registry.ts'
import { RunningCallTicket, TraceIdSource, setReplyOrigin, requireCallTicket } from './call-ticket.ts'
import type { RegistryDiff } from './registry.ts'
import type { RegistryEvent } from './registry-events.ts'
import { CapabilityRouter } from './router.ts'
import { StickySessionSweeper } from './sticky-sessions.ts'
import { CallCounters, UNKNOWN_CAPABILITY_LABEL, TraceBuffer } from './trace.ts'
import { computeBusStats, toProviderView, countInFlight } from './topology.ts'
import type { BusStats, PeerView, TopologySnapshot } from './topology.ts'
import type { CallTraceRecord } from './trace.ts'

export type { CallOptions }

export interface NodeOutcome {
  readonly nodeId: string
  readonly outcome: Outcome
}

/** A call from another node that is running here. */
export interface InboundPeerCallHandle {
  readonly outcome: Promise<Outcome>
  readonly withdraw: (why: string) => void
}

const ALL_LIMIT = 8
const ALL_TIMEOUT_MS = 5_000
const SILENT: BusLogger = { warn: () => undefined, error: () => undefined }
const OURSELVES: NamespaceOwner = { name: 'local', prefixes: [''] }

export class CapabilityBus {
  readonly nodeId: string
  readonly registry: CapabilityRegistry
  readonly router: CapabilityRouter
  readonly health: HealthTracker
  readonly trace: TraceBuffer
  readonly tally = new CallCounters()
  readonly #options: BusOptions
  readonly #clock: Clock
  readonly #traceIds: TraceIdSource
  readonly #log: BusLogger
  readonly #timer: TimerWheelDriver
  readonly #sweeper: StickySessionSweeper
  readonly #dispatcher: CallDispatcher
  readonly #proceed: NextHandler
  readonly #nestedCalls: NestedCallRunner
  readonly #nodes: NodeDirectory
  #metrics: { readonly metrics: () => Promise<string>; readonly contentType: string } | undefined
  readonly #resourceListeners = new Set<(uri: string) => void>()

  constructor(options: BusOptions) {
    const { nodeId, config, clock, random = Math.random } = options
    this.nodeId = nodeId
    this.#options = options
    this.#clock = clock
    this.#traceIds = new TraceIdSource(clock)
    this.#nodes = new NodeDirectory(nodeId, options.nodeName)
    this.#log = options.log ?? SILENT
    this.#timer = new TimerWheelDriver(new TimerWheel(), clock)
    this.registry = new CapabilityRegistry(nodeId, options.families)
    this.router = new CapabilityRouter({ registry: this.registry, nodes: this.#nodes, config, random })
    this.health = new HealthTracker(this.registry)
    this.trace = new TraceBuffer(nodeId, clock)
    this.#dispatcher = new CallDispatcher({
      config,
      random,
      router: this.router,
      health: this.health,
      timer: this.#timer,
      tally: this.tally,
      remote: options.remote,
      log: this.#log,
    })
    this.#sweeper = new StickySessionSweeper(this.router.sticky, (sweeper, dueMs) => this.#timer.set(sweeper, dueMs))
    this.#sweeper.ring(clock.monotonic())
    this.#proceed = (call) => this.#dispatcher.dispatch(call)
    this.#nestedCalls = {
      call: async (parent, name, body, given = {}) => {
        const options = deriveNestedCallOptions(parent, given, clock.monotonic())
        const outcome = await this.call(name, given.version, body, options)
        noteNestedDecision(parent, outcome)
        return outcome
      },
      stream: (parent, name, body, given = {}) =>
        this.stream(name, given.version, body, deriveNestedCallOptions(parent, given, clock.monotonic())),
    }
  }

  get communityId(): string | undefined {
    return this.#options.communityId?.()
  }

  /** Registers all capabilities of the service or none. The caller starts and stops the service. */
  registerService(service: Service): Result<void, Fault> {
    const before = new Set(this.registry.allLocal())
    for (const capability of service.capabilities()) {
      const result = this.registerCapability(capability, service)
      if (result.ok) continue
      for (const entry of this.registry.allLocal())
        if (!before.has(entry)) this.deregister(entry.offer.name, entry.offer.version, entry.instanceId)
      return result
    }
    return ok(undefined)
  }

  /** A capability without an owner is the program's own code, which may use any name. */
  registerCapability(capability: Capability, owner: NamespaceOwner = OURSELVES): Result<void, Fault> {
    return this.registry.registerLocal(capability, owner, this.#clock.monotonic())
  }

  deregister(name: CapabilityName, version: CapabilityVersion, instance?: string): void {
    this.registry.deregisterLocal(name, version, instance)
  }

  /** Never rejects. Without `versionReq` the version is the one that `offer(name)` shows. */
  call(
    name: CapabilityName,
    versionReq: CapabilityVersion | undefined,
    body: JsonObject,
    given: CallOptions,
  ): Promise<Outcome> {
    const call = this.#begin({ name, versionReq, body, isStream: false }, given)
    return this.#through(call, given.signal, this.#proceed)
  }

  stream(
    name: CapabilityName,
    versionReq: CapabilityVersion | undefined,
    body: JsonObject,
    given: CallOptions,
  ): CallStream {
    const call = this.#begin({ name, versionReq, body, isStream: true }, given)
    return new CallStream(
      (emit) => this.#throughStreaming(call, given.signal, emit),
      () => requireCallTicket(call).end('cancelled'),
    )
  }

  /**
   * Calls every node that offers it, at most `ALL_LIMIT`, under one trace; returns every node's answer, errors
   * included.
   */
  callAll(
    name: CapabilityName,
    versionReq: CapabilityVersion | undefined,
    body: JsonObject,
    options: CallOptions,
  ): Promise<readonly NodeOutcome[]> {
    const version = versionReq ?? this.registry.offer(name)?.version ?? [0, 0]
    const able = this.registry.find(name, version).filter(({ offer }) => canServeParams(offer, body))
    const nodes = [...new Set(able.map((entry) => entry.nodeId))].slice(0, ALL_LIMIT)
    const each = { timeoutMs: ALL_TIMEOUT_MS, traceId: newUlid(this.#clock.now()), ...options }
    return Promise.all(
      nodes.map(async (node) => ({ nodeId: node, outcome: await this.call(name, version, body, { ...each, node }) })),
    )
  }

  /**
   * Serves a call that a transport received, verified and decoded. It is forwarded only while `call.hopBudget` lasts.
   * With `emit` the answer is streamed.
   */
  handleCall(inbound: Call, emit?: StreamFrameEmitter): Promise<Outcome> {
    const call = this.#receive(inbound, emit !== undefined)
    if (emit === undefined) return this.#through(call, inbound.signal, this.#proceed)
    return this.#throughStreaming(call, inbound.signal, emit)
  }

  /**
   * The same for a transport that reports itself when the caller has disconnected, so that no abort signal is needed
   * per call.
   */
  serve(inbound: Omit<Call, 'signal'>): InboundPeerCallHandle {
    const call = this.#receive(inbound, false)
    const outcome = this.#through(call, undefined, this.#proceed)
    return { outcome, withdraw: (why) => requireCallTicket(call).end('cancelled', new DOMException(why, 'AbortError')) }
  }

  /** What faces list: one per name, this node's own first; or only what one node offers. */
  offers(node?: string): readonly Offer[] {
    return node === undefined ? this.registry.offers() : this.registry.offersOf(this.#nodes.idOf(node))
  }

  /** The names of the nodes that offer it, this node first. */
  nodesOffering(name: CapabilityName): readonly string[] {
    return this.#nodes.namesOf(new Set(this.registry.named(name).map(({ nodeId }) => nodeId)))
  }

  /** Why no node of that id or name can be called; `undefined` where one is connected. */
  unknownNodeMessage(idOrName: string): string | undefined {
    return this.#nodes.unknownNodeMessage(idOrName)
  }

  /** The name that people gave a node, where it is known. */
  nodeName(nodeId: string): string | undefined {
    return this.#nodes.nameOf(nodeId)
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

  /** Sets the members of this node's community, by id, with their names; also those that are not connected. */
  expectPeers(names: ReadonlyMap<string, string>): void {
    this.#nodes.expect(names)
  }

  onPeerAdded(peer: PeerRecord): RegistryDiff {
    const nowMs = this.#clock.monotonic()
    this.#nodes.see(peer, nowMs)
    const diff = this.registry.updateFromPeer(peer, nowMs)
    this.#nodes.refuse(peer.nodeId, [...(peer.refused ?? []), ...diff.refused])
    return diff
  }

  onPeerUpdated(peer: PeerRecord): RegistryDiff {
    return this.onPeerAdded(peer)
  }

  onPeerRemoved(nodeId: string): void {
    this.#nodes.forget(nodeId)
    this.registry.removePeer(nodeId)
  }

  /** The other nodes on this bus, and which of their offers were refused. */
  peerViews(): readonly PeerView[] {
    return this.#nodes.views(this.#clock.monotonic())
  }

  topologySnapshot(): TopologySnapshot {
    const nowMs = this.#clock.monotonic()
    const sessions = this.router.sticky.sessions()
    const all = this.registry.all().map((entry) => toProviderView(entry, sessions.get(entry) ?? 0, nowMs))
    return {
      ourNodeId: this.nodeId,
      communityId: this.communityId,
      peers: this.#nodes.views(nowMs),
      capabilitiesLocal: all.filter((entry) => entry.isLocal),
      capabilitiesRemote: all.filter((entry) => !entry.isLocal),
      inFlightTotal: countInFlight(this.registry),
      disagreements: this.registry.disagreements(),
    }
  }

  /** Calls that have ended, newest first. */
  recentTraces(count = 50): readonly CallTraceRecord[] {
    return this.trace.recent(count)
  }

  /** Calls that are running, oldest first: a call that hangs is in no other list. */
  runningTraces(): readonly CallTraceRecord[] {
    const tickets = [...this.#timer.alarms()].filter((alarm) => alarm instanceof RunningCallTicket)
    return this.trace.running(tickets)
  }

  stats(): BusStats {
    const { registry, tally, trace, router } = this
    return computeBusStats({ registry, tally, trace, peers: this.#nodes.size, sessions: router.sticky.size })
  }

  /** In the text format of Prometheus. */
  async metrics(): Promise<{ readonly text: string; readonly contentType: string }> {
    // Loaded when metrics are requested for the first time: a node that is never scraped does without prom-client.
    const { createBusMetrics } = await import('./metrics.ts')
    this.#metrics ??= createBusMetrics(this)
    return { text: await this.#metrics.metrics(), contentType: this.#metrics.contentType }
  }

  /** Fires the timers that are due; for a bus with a clock of its own. With the system clock this happens by itself. */
  tick(): void {
    this.#timer.turn()
  }

  /** Cancels every running call and ends every subscription. */
  close(): void {
    // Every call has a deadline, so the timer wheel knows all of them.
    for (const alarm of this.#timer.alarms())
      if (alarm instanceof RunningCallTicket) alarm.end('cancelled', new DOMException('the node stops', 'AbortError'))
    this.registry.events.close()
    this.#timer.clear(this.#sweeper)
  }

  /** A call that begins here, resolved to its contract. */
  #begin(wanted: CallRequest, given: CallOptions): Call {
    const options = given.node === undefined ? given : { ...given, node: this.#nodes.idOf(given.node) }
    const nowMs = this.#clock.monotonic()
    const sole = this.router.soleContract(wanted.name)
    const routeRequest = sole === undefined ? toRouteRequest(wanted, options) : undefined
    const contract = sole ?? (routeRequest && this.router.resolve(routeRequest, nowMs))
    const ticket = openCallTicket(contract, nowMs, options.timeoutMs)
    const refusal =
      checkRequestedCallTimeout(wanted.name, options.timeoutMs) ??
      (routeRequest && contract && this.router.ambiguity(routeRequest, contract, nowMs))
    return new LocallyStartedCall(wanted, ticket, {
      options,
      refusal,
      traceIds: this.#traceIds,
      nestedCalls: this.#nestedCalls,
    })
  }

  #receive(inbound: Omit<Call, 'signal'>, isStream: boolean): Call {
    const nowMs = this.#clock.monotonic()
    const leftMs = inbound.deadlineMs - nowMs
    const routeRequest: RouteRequest = { ...inbound, hopBudget: limitHopBudget(inbound.hopBudget) }
    const contract = this.router.resolve(routeRequest, nowMs)
    const ticket = openCallTicket(contract, nowMs, leftMs)
    const refusal =
      inbound.refusal ??
      checkRequestedCallTimeout(inbound.capability, leftMs) ??
      (contract && this.router.ambiguity(routeRequest, contract, nowMs))
    return createPeerCallHandlerContext(inbound, ticket, { isStream, refusal, nestedCalls: this.#nestedCalls })
  }

  async #throughStreaming(call: Call, parent: AbortSignal | undefined, emit: StreamFrameEmitter): Promise<Outcome> {
    const tally = this.tally.of(requireCallTicket(call).contract?.offer.name ?? UNKNOWN_CAPABILITY_LABEL)
    tally.activeStreams++
    const outcome = await this.#through(call, parent, (admitted) => this.#dispatcher.dispatch(admitted, emit))
    tally.activeStreams--
    return outcome
  }

  async #through(call: Call, parent: AbortSignal | undefined, proceed: NextHandler): Promise<Outcome> {
    const ticket = requireCallTicket(call)
    const offer = ticket.contract?.offer
    this.trace.onCallStart(call, ticket)
    this.#timer.set(ticket, ticket.deadlineMs)
    if (parent !== undefined) ticket.follow(parent)
    let outcome: Outcome
    try {
      outcome = await this.#options.admit(call, offer, proceed)
    } catch (error) {
      this.#log.error({ err: error, capability: call.capability, traceId: call.traceId }, 'the chain threw')
      outcome = fail(createProviderInternalFault(call, error))
    }
    this.#timer.clear(ticket)
    ticket.release()
    ticket.totalMs = this.#clock.monotonic() - ticket.startedMs
    this.tally.of(offer?.name ?? UNKNOWN_CAPABILITY_LABEL).count(outcome, ticket.totalMs)
    this.tally.countRefusal(outcome)
    this.trace.onCallEnd(call, ticket, outcome)
    const { entry, hasBegun } = ticket
    if (!outcome.ok) {
      const fault = outcome.fault.begun === hasBegun ? outcome.fault : { ...outcome.fault, begun: hasBegun }
      return fail(entry?.isLocal === false ? this.#addNodeToFault(fault, entry.nodeId) : fault)
    }
    if (entry === undefined) return outcome
    const tokens = outcome.value.usage?.tokensOut
    if (tokens !== undefined) this.tally.countTokens(entry.offer.params, tokens)
    return entry.isLocal ? outcome : ok(setReplyOrigin(outcome.value, entry.nodeId))
  }

  #addNodeToFault(fault: Fault, id: string): Fault {
    return addNodeToFault(fault, { id, name: this.#nodes.nameOf(id) ?? id })
  }
}
