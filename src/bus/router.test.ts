import { describe, expect, it } from 'vitest'
import { answering, callOf, echo, node, offered } from '../../test/bus-village.ts'
import type { NodeOptions } from '../../test/bus-village.ts'
import type { CapabilityBus } from './bus.ts'
import type { Offer } from './capability.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { describeOwnCapability } from './peer.ts'
import { scoreProviderByLatencyAndLoad } from './routing-strategy.ts'
import { RunningCallTicket } from './call-ticket.ts'

/** Node `a`, which may offer `llm.chat` itself, and peers that do. */
function village(
  { here, there, facts = {} }: { here: boolean; there: readonly string[]; facts?: Partial<Offer> },
  options: NodeOptions = {},
): { bus: CapabilityBus; at: (nodeId: string) => CapabilityEntry } {
  const bus = node('a', options)
  if (here) bus.registerCapability(answering({ name: 'llm.chat', ...facts }, echo))
  for (const nodeId of there) {
    const capabilities = [describeOwnCapability(offered({ name: 'llm.chat', ...facts }))]
    bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
  }
  return {
    bus,
    at: (nodeId) => {
      const entry = bus.registry.named('llm.chat').find((each) => each.nodeId === nodeId)
      if (entry === undefined) throw new Error(`${nodeId} does not offer it`)
      return entry
    },
  }
}

function answered(
  bus: CapabilityBus,
  entry: CapabilityEntry,
  { latencyMs, times = 10 }: { latencyMs: number; times?: number },
): void {
  const outcome = { ok: true, value: { data: null } } as const
  for (let count = 0; count < times; count++)
    bus.health.record(entry, { outcome, latencyMs, nowMs: 0, isProbe: false, isCallersDoing: false })
}

function failed(bus: CapabilityBus, entry: CapabilityEntry, times: number, nowMs = 0): void {
  const outcome = { ok: false, fault: { kind: 'internal', message: 'no' } } as const
  for (let count = 0; count < times; count++)
    bus.health.record(entry, { outcome, latencyMs: 1, nowMs, isProbe: false, isCallersDoing: false })
}

function busied(bus: CapabilityBus, entry: CapabilityEntry, retryAfterMs: number): void {
  const outcome = { ok: false, fault: { kind: 'busy', message: 'later', retryAfterMs } } as const
  bus.health.record(entry, { outcome, latencyMs: 1, nowMs: 0, isProbe: false, isCallersDoing: false })
}

function routes(bus: CapabilityBus, times = 200, nowMs = 0): Readonly<Record<string, number>> {
  const shares: Record<string, number> = {}
  for (let count = 0; count < times; count++) {
    const nodeId = bus.router.route(callOf('llm.chat'), nowMs)?.nodeId ?? 'nobody'
    shares[nodeId] = (shares[nodeId] ?? 0) + 1
  }
  return shares
}

describe.each(['peak-ewma', 'spec'] as const)('router with the %s strategy', (strategy) => {
  const options = { config: { strategy } }

  // test_router_prefers_local_when_underloaded
  it('router prefers local when underloaded', () => {
    const { bus, at } = village({ here: true, there: ['b', 'c'], facts: { maxConcurrent: 10 } }, options)
    at('a').inFlight = 7
    expect(routes(bus)).toEqual({ a: 200 })
  })

  // test_router_prefers_remote_when_local_overloaded
  it('router prefers remote when local overloaded', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { maxConcurrent: 10 } }, options)
    answered(bus, at('a'), { latencyMs: 200 })
    answered(bus, at('b'), { latencyMs: 150 })
    at('a').inFlight = 8
    expect(routes(bus)).toEqual({ b: 200 })
  })

  // test_router_skips_quarantined
  it('router skips quarantined', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] }, options)
    failed(bus, at('b'), 5)
    expect(routes(bus)).toEqual({ c: 200 })
  })

  it('skips a node that has been silent for a minute', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] }, options)
    at('c').lastSeenMs = 30_000
    expect(routes(bus, 200, 60_001)).toEqual({ c: 200 })
  })

  it('gives exactly one call after a quarantine to the quarantined provider', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] }, { config: { strategy, freshnessSeconds: 3_600 } })
    answered(bus, at('c'), { latencyMs: 1 })
    failed(bus, at('b'), 5)
    expect(bus.router.route(callOf('llm.chat'), 60_000)?.nodeId).toBe('b')
    at('b').health.startProbe()
    expect(routes(bus, 200, 60_000)).toEqual({ c: 200 })
  })
})

describe('the spec strategy', () => {
  const options = { config: { strategy: 'spec' as const, preferLocal: false } }

  // test_router_breaks_ties_by_latency_then_reliability
  it('router breaks ties by latency then reliability', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd'] }, options)
    // 100 × (1 + 0) + 0 = 100, and 80 × (1 + 2/8) + 0 = 100: the same score, so the lower latency wins.
    answered(bus, at('b'), { latencyMs: 100 })
    answered(bus, at('c'), { latencyMs: 80 })
    at('c').inFlight = 2
    // 500 × 1 for the unknown one.
    expect(['b', 'c', 'd'].map((nodeId) => scoreProviderByLatencyAndLoad(at(nodeId)))).toEqual([100, 100, 500])
    expect(routes(bus)).toEqual({ c: 200 })
  })

  it('prefers the more reliable of two providers with the same score and latency', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] }, options)
    // 400 + 0.25 × 1000 = 650, and 400 × (1 + 5/8) = 650.
    answered(bus, at('b'), { latencyMs: 400, times: 3 })
    failed(bus, at('b'), 1)
    answered(bus, at('c'), { latencyMs: 400, times: 4 })
    at('c').inFlight = 5
    expect(['b', 'c'].map((nodeId) => scoreProviderByLatencyAndLoad(at(nodeId)))).toEqual([650, 650])
    expect(routes(bus)).toEqual({ c: 200 })
  })

  it('scores providers as spec 2 § 5.4 says', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { maxConcurrent: 4 } }, options)
    expect(scoreProviderByLatencyAndLoad(at('a'))).toBe(450)
    answered(bus, at('b'), { latencyMs: 40, times: 8 })
    failed(bus, at('b'), 2)
    at('b').inFlight = 1
    expect(scoreProviderByLatencyAndLoad(at('b'))).toBeCloseTo(40 * 1.25 + 200)
  })
})

describe('the peak-ewma strategy', () => {
  const far = { config: { preferLocal: false } }

  it('tries a provider without samples before a known one', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] }, far)
    answered(bus, at('b'), { latencyMs: 10 })
    expect(routes(bus)).toEqual({ c: 200 })
  })

  it('distributes calls evenly among equal providers', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd', 'e'] }, far)
    for (const nodeId of ['b', 'c', 'd', 'e']) answered(bus, at(nodeId), { latencyMs: 10 })
    const shares = routes(bus, 1_000)
    for (const nodeId of ['b', 'c', 'd', 'e']) expect(Math.abs((shares[nodeId] ?? 0) - 250)).toBeLessThan(50)
  })

  it('does not take a provider that fails fast for a fast one', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd'] }, far)
    for (const nodeId of ['c', 'd']) answered(bus, at(nodeId), { latencyMs: 300 })
    answered(bus, at('b'), { latencyMs: 1 })
    failed(bus, at('b'), 1)
    expect(routes(bus)['b']).toBeUndefined()
  })

  it('leaves its own provider when another is much faster, and returns later', () => {
    const { bus, at } = village({ here: true, there: ['b'] })
    answered(bus, at('a'), { latencyMs: 900 })
    answered(bus, at('b'), { latencyMs: 10 })
    expect(routes(bus)).toEqual({ b: 200 })
    expect(routes(bus, 200, 40_000)).toEqual({ a: 200 })
  })

  it('leaves its own provider when it fails', () => {
    const { bus, at } = village({ here: true, there: ['b'] })
    failed(bus, at('a'), 2)
    answered(bus, at('b'), { latencyMs: 100 })
    expect(routes(bus)).toEqual({ b: 200 })
  })

  it('does not prefer its own provider while it fails, however fast it is', () => {
    const { bus, at } = village({ here: true, there: ['b'] })
    answered(bus, at('b'), { latencyMs: 1, times: 20 })
    // Too few for a quarantine, and never five in a row.
    for (let times = 0; times < 2; times++) {
      failed(bus, at('a'), 3)
      answered(bus, at('a'), { latencyMs: 1, times: 1 })
    }
    expect(at('a').health.isEjected()).toBe(false)
    Object.assign(at('a').latency, { latencyMs: 1, answers: 20, atMs: 0 })
    expect(at('a').health.successRate).toBeLessThan(0.5)
    const shares = routes(bus)
    expect(shares['b']).toBeGreaterThan(50)
  })

  it('does not prefer its own provider above its load threshold, however fast it is', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { maxConcurrent: 10 } })
    for (const nodeId of ['a', 'b']) answered(bus, at(nodeId), { latencyMs: 0.1, times: 20 })
    at('a').inFlight = 7
    expect(routes(bus)).toEqual({ a: 200 })
    at('a').inFlight = 8
    expect(routes(bus)['b']).toBeGreaterThan(150)
  })

  it('does not prefer its own provider if the owner disables that', () => {
    const { bus, at } = village({ here: true, there: ['b'] }, { config: { preferLocal: false } })
    for (const nodeId of ['a', 'b']) answered(bus, at(nodeId), { latencyMs: 10, times: 20 })
    expect(routes(bus)['b']).toBeGreaterThan(50)
  })

  it('compares several of many providers, and none with itself', () => {
    const there = Array.from({ length: 64 }, (_, n) => `n${n}`)
    const { bus, at } = village({ here: false, there })
    for (const nodeId of there) answered(bus, at(nodeId), { latencyMs: nodeId === 'n7' ? 1_000 : 1 })
    expect(routes(bus, 2_000)['n7']).toBe(undefined)
  })

  it('finds the only free one of many providers', () => {
    const there = Array.from({ length: 100 }, (_, n) => `n${n}`)
    const { bus, at } = village({ here: false, there, facts: { maxConcurrent: 1 } })
    for (const nodeId of there) at(nodeId).inFlight = nodeId === 'n42' ? 0 : 1
    expect(routes(bus)).toEqual({ n42: 200 })
  })

  it('finds the requested node among many, with its current providers', () => {
    const there = Array.from({ length: 64 }, (_, n) => `n${n}`)
    const { bus, at } = village({ here: false, there })
    const asked = (nodeId: string): string | undefined =>
      bus.router.route(callOf('llm.chat', { node: nodeId }), 0)?.nodeId
    expect([asked('n9'), asked('n63'), asked('nobody')]).toEqual(['n9', 'n63', undefined])
    bus.onPeerRemoved('n9')
    expect(asked('n9')).toBe(undefined)
    at('n10').inFlight = 8
    expect(asked('n10')).toBe(undefined)
  })

  it('never treats its own provider as stale', () => {
    const { bus } = village({ here: true, there: [] })
    expect(bus.router.route(callOf('llm.chat'), 600_000)?.nodeId).toBe('a')
  })

  it('does not queue at a provider in quarantine', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'], facts: { maxConcurrent: 1 } })
    failed(bus, at('b'), 5)
    for (const nodeId of ['b', 'c']) at(nodeId).inFlight = 1
    at('c').waiting.size = 5
    expect(bus.router.queueFor(callOf('llm.chat'), 0)?.nodeId).toBe('c')
  })

  it('ignores the ticket of a call for another capability', () => {
    const { bus } = village({ here: true, there: [] })
    bus.registerCapability(answering({ name: 'x.other' }, echo))
    const call = callOf('llm.chat')
    const contract = bus.router.resolve(call, 0)
    const ticket = new RunningCallTicket({ contract, startedMs: 0, deadlineMs: 1_000, isHurried: false })
    expect(bus.router.route({ ...call, ticket, capability: 'x.other' }, 0)?.offer.name).toBe('x.other')
    expect(bus.router.route({ ...call, ticket }, 0)?.offer.name).toBe('llm.chat')
  })

  it('readmits the provider whose quarantine ends first when the others have left', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd', 'e'] })
    failed(bus, at('c'), 5, 0)
    failed(bus, at('b'), 5, 10_000)
    for (const nodeId of ['d', 'e']) bus.onPeerRemoved(nodeId)
    expect(bus.router.route(callOf('llm.chat'), 20_000)?.nodeId).toBe('c')
    expect([at('b').health.isEjected(), at('c').health.isEjected()]).toEqual([true, false])
  })

  it('does not readmit a provider whose probe is running', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] })
    failed(bus, at('b'), 5)
    bus.onPeerRemoved('c')
    at('b').health.startProbe()
    expect(bus.router.route(callOf('llm.chat'), 0)).toBe(undefined)
    at('b').health.probeEndedOpenly()
    expect(bus.router.route(callOf('llm.chat'), 0)?.nodeId).toBe('b')
  })

  it('explains for each provider why it gets no calls', () => {
    const { bus, at } = village({ here: true, there: ['b', 'c', 'd'], facts: { maxConcurrent: 1 } })
    at('b').inFlight = 1
    failed(bus, at('c'), 5)
    at('d').lastSeenMs = -60_001
    expect(['a', 'b', 'c', 'd'].map((nodeId) => bus.router.blockedBy(at(nodeId), 0))).toEqual([
      undefined,
      'busy',
      'quarantined',
      'stale',
    ])
  })
})

describe('a capability bound to its node', () => {
  const bound = { anywhere: false, effect: 'writes' } as const

  it('stays on this node, however busy it is', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { ...bound, maxConcurrent: 1 } })
    at('a').inFlight = 1
    expect(bus.router.route(callOf('llm.chat'), 0)).toBeUndefined()
    expect(bus.router.explain(callOf('llm.chat'), 0)).toMatchObject({ kind: 'busy' })
  })

  it('is not routed to one of several other nodes without a node name', () => {
    const { bus } = village({ here: false, there: ['b', 'c'], facts: bound })
    expect(bus.router.route(callOf('llm.chat'), 0)).toBeUndefined()
    expect(bus.router.explain(callOf('llm.chat'), 0)).toMatchObject({
      kind: 'conflict',
      code: 'ambiguous_node',
      details: { alt_nodes: ['b', 'c'] },
    })
    expect(bus.router.route(callOf('llm.chat', { node: 'c' }), 0)?.nodeId).toBe('c')
  })

  it('does not queue at one of several full nodes without a node name', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'], facts: { ...bound, maxConcurrent: 1 } })
    for (const nodeId of ['b', 'c']) at(nodeId).inFlight = 1
    expect(bus.router.queueFor(callOf('llm.chat'), 0)).toBeUndefined()
    expect(bus.router.queueFor(callOf('llm.chat', { node: 'c' }), 0)?.nodeId).toBe('c')
    expect(bus.router.queueFor(callOf('llm.nobody'), 0)).toBeUndefined()
  })

  it('is routed to the only other node without a node name', () => {
    const { bus } = village({ here: false, there: ['b'], facts: bound })
    expect(bus.router.route(callOf('llm.chat'), 0)?.nodeId).toBe('b')
  })

  it('is not routed to one of several nodes even for reading', () => {
    const { bus } = village({ here: false, there: ['b', 'c'], facts: { anywhere: false, effect: 'reads' } })
    expect(bus.router.route(callOf('llm.chat'), 0)).toBe(undefined)
    expect(bus.router.explain(callOf('llm.chat'), 0)).toMatchObject({
      kind: 'conflict',
      code: 'ambiguous_node',
      details: { alt_nodes: ['b', 'c'] },
    })
    expect(bus.router.route(callOf('llm.chat', { node: 'c' }), 0)?.nodeId).toBe('c')
  })
})

describe('refusal by the router', () => {
  const nobody = callOf('llm.chat')

  it('distinguishes a name without any provider', () => {
    expect(node('a').router.explain(nobody, 0)).toMatchObject({
      kind: 'not-found',
      code: 'not_found',
      details: { reason: 'unknown' },
    })
  })

  it('lists the available versions', () => {
    const { bus } = village({ here: true, there: ['b'], facts: { version: [2, 1] } })
    expect(bus.router.explain(nobody, 0)).toMatchObject({
      kind: 'not-found',
      details: { reason: 'version', alt_capabilities: ['llm.chat@2.1'] },
    })
  })

  it('states that the requested node does not offer the capability', () => {
    const { bus } = village({ here: true, there: ['b'] })
    expect(bus.router.explain(callOf('llm.chat', { node: 'z' }), 0)).toMatchObject({
      kind: 'not-found',
      message: 'No node is called "z" here; llm.chat is offered on a, b.',
      details: { reason: 'node', alt_nodes: ['a', 'b'] },
    })
  })

  it('states that the requested node was connected earlier and is not now', () => {
    const { bus } = village({ here: true, there: ['b'] })
    const called = { nodeId: 'b', endpoint: bus, displayName: 'attic', manifest: { nodeId: 'b', capabilities: [] } }
    bus.onPeerUpdated(called)
    bus.onPeerRemoved('b')
    const away = bus.router.nodeId('attic')
    expect(away).toBe('b')
    expect(bus.router.explain(callOf('llm.chat', { node: away }), 0)).toMatchObject({
      kind: 'offline',
      code: 'partition',
      message: 'The node attic cannot be reached now. Nothing was sent.',
      details: { reason: 'away' },
    })
    expect(bus.unknownNodeMessage('attic')).toBe('The node attic cannot be reached now.')
    bus.onPeerUpdated(called)
    expect(bus.unknownNodeMessage('attic')).toBeUndefined()
  })

  it('states that the requested node is a member that was never connected', () => {
    const { bus } = village({ here: true, there: ['b'] })
    bus.expectPeers(new Map([['z', 'attic']]))
    expect(bus.unknownNodeMessage('attic')).toBe('The node attic cannot be reached now.')
    expect(bus.router.nodeId('attic')).toBe('z')
    bus.expectPeers(new Map())
    expect(bus.unknownNodeMessage('attic')).toBe('No node is called "attic" here; there is a, b.')
  })

  it('does not confuse a present node with an absent one of the same name', () => {
    const { bus } = village({ here: true, there: ['b'] })
    bus.onPeerUpdated({ nodeId: 'b', endpoint: bus, displayName: 'attic', manifest: { nodeId: 'b', capabilities: [] } })
    bus.expectPeers(new Map([['b', 'attic']]))
    expect(bus.router.nodeId('attic')).toBe('b')
    bus.expectPeers(
      new Map([
        ['b', 'barn'],
        ['z', 'attic'],
      ]),
    )
    expect(bus.router.nodeId('attic')).toBe('attic')
    expect(bus.unknownNodeMessage('attic')).toBe('Several nodes are called "attic". Name one by its id: b, z.')
    expect(bus.router.nodeId('b')).toBe('b')
  })

  it('is given for a call without remaining hops that this node cannot serve', () => {
    const { bus } = village({ here: false, there: ['b'] })
    const call = callOf('llm.chat', { hopBudget: 0 })
    expect(bus.router.route(call, 0)).toBeUndefined()
    expect(bus.router.explain(call, 0)).toMatchObject({ kind: 'not-found', details: { reason: 'node' } })
  })

  it('is given rather than sending a call back to the peer it came from', () => {
    const { bus } = village({ here: false, there: ['b'] })
    const call = callOf('llm.chat', { caller: { kind: 'peer', id: 'b', level: 'anchor' } })
    expect(bus.router.route(call, 0)).toBeUndefined()
  })

  it('states that all providers are busy, and when to retry', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { maxConcurrent: 1 } })
    answered(bus, at('a'), { latencyMs: 400 })
    for (const nodeId of ['a', 'b']) at(nodeId).inFlight = 1
    expect(bus.router.explain(nobody, 0)).toMatchObject({
      kind: 'busy',
      code: 'capacity_exceeded',
      retryAfterMs: 400,
    })
  })

  it('names other free providers to a peer whose call may not be forwarded', () => {
    const { bus, at } = village({ here: true, there: ['b', 'c'], facts: { maxConcurrent: 1 } })
    for (const nodeId of ['a', 'c']) at(nodeId).inFlight = 1
    expect(bus.router.explain(callOf('llm.chat', { hopBudget: 0 }), 0)).toMatchObject({
      kind: 'busy',
      details: { alt_nodes: ['b'] },
    })
  })

  it('is given while a busy provider has requested a pause, and not afterwards', () => {
    const { bus, at } = village({ here: false, there: ['b'] })
    busied(bus, at('b'), 700)
    expect(bus.router.explain(nobody, 0)).toMatchObject({
      kind: 'busy',
      message: 'llm.chat asked for no more calls for a while. Try again later.',
      retryAfterMs: 700,
    })
    expect(bus.router.route(nobody, 700)?.nodeId).toBe('b')
    expect(at('b').health.samples).toBe(0)
  })

  it("is avoided by using another node while this node's provider is busy", () => {
    const { bus, at } = village({ here: true, there: ['b'] })
    const inSession = callOf('llm.chat', { sessionId: 's' })
    expect([routes(bus), bus.router.route(inSession, 0)?.nodeId]).toEqual([{ a: 200 }, 'a'])
    busied(bus, at('a'), 700)
    expect([routes(bus), bus.router.route(inSession, 0)?.nodeId]).toEqual([{ b: 200 }, 'b'])
    answered(bus, at('b'), { latencyMs: 200 })
    expect(routes(bus, 200, 20_000)).toEqual({ a: 200 })
  })

  it('is not given for a node-bound capability of this node after it reported busy', () => {
    const { bus, at } = village({ here: true, there: ['b'], facts: { anywhere: false } })
    busied(bus, at('a'), 700)
    expect(routes(bus)).toEqual({ a: 200 })
  })

  it('states that all providers are in quarantine', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] })
    failed(bus, at('b'), 5)
    bus.onPeerRemoved('c')
    expect(bus.router.explain(nobody, 20_000)).toMatchObject({
      kind: 'offline',
      code: 'quarantined',
      retryAfterMs: 40_000,
      details: { reason: 'quarantined' },
    })
  })

  it('states that every provider is stale', () => {
    const { bus } = village({ here: false, there: ['b'] })
    expect(bus.router.explain(nobody, 60_001)).toMatchObject({ kind: 'offline', details: { reason: 'stale' } })
  })

  it.each([
    ['member', 'unknown', false],
    ['member', 'member', true],
    ['trusted', 'member', false],
    ['trusted', 'anchor', true],
    ['anchor', 'trusted', false],
    ['self', 'anchor', false],
  ] as const)('permits a capability with trust level %s to a peer of level %s: %s', (trustRequired, level, allowed) => {
    const { bus } = village({ here: true, there: [], facts: { trustRequired } })
    const call = callOf('llm.chat', { caller: { kind: 'peer', id: 'p', level } })
    expect(bus.router.route(call, 0) !== undefined).toBe(allowed)
    expect(bus.router.route(callOf('llm.chat'), 0)).toBeDefined()
    const refused = { kind: 'not-permitted', code: 'unauthorized', reasons: [{ rule: 'trust-required' }] }
    expect(allowed ? refused : bus.router.explain(call, 0)).toMatchObject(refused)
  })
})

describe('quarantine of providers', () => {
  it('covers at most half of the providers', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd', 'e', 'f'] })
    for (const nodeId of ['b', 'c', 'd', 'e', 'f']) failed(bus, at(nodeId), 20)
    const ejected = ['b', 'c', 'd', 'e', 'f'].filter((nodeId) => bus.health.isQuarantined(at(nodeId), 0))
    expect(ejected).toEqual(['b', 'c'])
  })

  it('never covers the only provider or one without a replacement', () => {
    const alone = village({ here: true, there: [] })
    failed(alone.bus, alone.at('a'), 50)
    expect(routes(alone.bus)).toEqual({ a: 200 })
    const bound = village({ here: false, there: ['b', 'c'], facts: { anywhere: false } })
    failed(bound.bus, bound.at('b'), 50)
    expect(bound.bus.health.isQuarantined(bound.at('b'), 0)).toBe(false)
  })

  it('never covers a provider whose params or version no other serves', () => {
    const bus = node('a')
    const meet = (nodeId: string, facts: Partial<Offer>): CapabilityEntry => {
      const capabilities = [describeOwnCapability(offered({ name: 'llm.chat', ...facts }))]
      bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
      const entry = bus.registry.named('llm.chat').at(-1)
      if (entry === undefined) throw new Error('not registered')
      return entry
    }
    const model = (name: string): Partial<Offer> => ({ params: { model: name }, matches: { model: 'equals' } })
    const big = meet('b', model('big'))
    for (const nodeId of ['c', 'd', 'e']) meet(nodeId, model('small'))
    failed(bus, big, 50)
    expect(bus.health.isQuarantined(big, 0)).toBe(false)
    // Another version is another contract: it takes no calls of this one.
    const newer = meet('f', { ...model('big'), version: [1, 1] })
    failed(bus, newer, 50)
    expect(bus.health.isQuarantined(newer, 0)).toBe(false)
    failed(bus, big, 1)
    expect(bus.health.isQuarantined(big, 0)).toBe(false)
    meet('g', model('big'))
    failed(bus, big, 1)
    expect(bus.health.isQuarantined(big, 0)).toBe(true)
  })
})

describe('recording the end of a call', () => {
  const NEUTRAL = { ok: false, fault: { kind: 'invalid-arguments', message: 'no' } } as const
  const GOOD = { ok: true, value: { data: null } } as const
  const end = (outcome: typeof NEUTRAL | typeof GOOD, facts: object = {}) =>
    ({ outcome, latencyMs: 20, nowMs: 0, isProbe: false, isCallersDoing: false, ...facts }) as const

  it('keeps an ejected provider in the contract until a probe succeeds', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] })
    bus.router.route(callOf('llm.chat'), 0)
    const [b, ejected] = [at('b'), at('b').contract?.ejected]
    expect(ejected?.size).toBe(0)
    failed(bus, b, 5)
    expect([...(ejected ?? [])]).toEqual([b])
    bus.health.record(b, end(GOOD, { nowMs: 60_000, isProbe: true }))
    expect(ejected?.size).toBe(0)
    answered(bus, b, { latencyMs: 1 })
    expect(ejected?.size).toBe(0)
  })

  it('ends a probe only with the call that is the probe', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] })
    const b = at('b')
    failed(bus, b, 5)
    b.health.startProbe()
    bus.health.record(b, end(NEUTRAL))
    expect(b.health.isProbing).toBe(true)
    bus.health.record(b, end(NEUTRAL, { isProbe: true }))
    expect(b.health.isProbing).toBe(false)
    bus.health.reset(b)
    expect(b.health.isEjected()).toBe(false)
  })

  it('raises the latency estimate of a busy provider and of one slower than its callers wait', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c'] })
    busied(bus, at('b'), 0)
    expect(at('b').latency.latencyMs).toBe(5_000)
    const gone = { ok: false, fault: { kind: 'cancelled', message: 'gone' } } as const
    bus.health.record(at('c'), { ...end(GOOD), outcome: gone, latencyMs: 700, isCallersDoing: true })
    expect(at('c').latency.latencyMs).toBe(700)
    bus.health.record(at('c'), { ...end(GOOD), outcome: gone, latencyMs: 30, isCallersDoing: true })
    expect(at('c').latency.latencyMs).toBe(700)
  })
})

describe('choice among many providers', () => {
  const MANY = Array.from({ length: 40 }, (_, index) => `n${index}`)

  it('compares sixteen, and still finds the only free one anywhere', () => {
    const { bus, at } = village({ here: false, there: MANY, facts: { maxConcurrent: 1 } }, { random: () => 0 })
    bus.router.route(callOf('llm.chat'), 0)
    const entries = at('n0').contract?.entries ?? []
    const first = entries[0]
    // With chance always zero, the search begins with the first of the list.
    expect(bus.router.route(callOf('llm.chat'), 0)).toBe(first)
    for (const entry of entries) entry.inFlight = 1
    expect(bus.router.route(callOf('llm.chat'), 0)).toBeUndefined()
    const last = entries.at(-1)
    if (last !== undefined) last.inFlight = 0
    expect(bus.router.route(callOf('llm.chat'), 0)).toBe(last)
  })

  it('compares at most sixteen from its starting point', () => {
    const { bus, at } = village({ here: false, there: MANY }, { random: () => 0.999 })
    bus.router.route(callOf('llm.chat'), 0)
    const entries = at('n0').contract?.entries ?? []
    const chosen = bus.router.route(callOf('llm.chat'), 0)
    const compared = [entries.at(-1), ...entries.slice(0, 15)]
    expect(compared).toContain(chosen)
  })

  it('excludes a stale provider, also for queueing', () => {
    const { bus, at } = village({ here: false, there: ['b'], facts: { maxConcurrent: 1 } })
    const call = callOf('llm.chat')
    expect(bus.router.route(call, 60_000)).toBe(at('b'))
    expect(bus.router.route(call, 60_001)).toBeUndefined()
    at('b').inFlight = 1
    expect(bus.router.queueFor(call, 60_000)).toBe(at('b'))
    expect(bus.router.queueFor(call, 60_001)).toBeUndefined()
  })

  it('prefers a contract with an available provider', () => {
    const bus = node('a')
    const meet = (nodeId: string, facts: Partial<Offer>): void => {
      const capabilities = [describeOwnCapability(offered({ name: 'llm.chat', ...facts }))]
      bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    meet('b', { version: [1, 1] })
    meet('c', { version: [1, 0] })
    const asked = { ...callOf('llm.chat'), ticket: undefined }
    expect(bus.router.resolve(asked, 0)?.offer.version).toEqual([1, 1])
    // Of the newer one nothing was heard for more than a minute.
    for (const entry of bus.registry.named('llm.chat')) if (entry.nodeId === 'c') entry.lastSeenMs = 61_000
    expect(bus.router.resolve(asked, 61_000)?.offer.version).toEqual([1, 0])
    expect(bus.router.resolve({ ...asked, node: 'b' }, 61_000)?.offer.version).toEqual([1, 1])
    expect(bus.router.resolve({ ...asked, hopBudget: 0 }, 61_000)?.offer.version).toEqual([1, 1])
  })
})

describe('a name with several contracts', () => {
  const model = (name: string, facts: Partial<Offer> = {}): Partial<Offer> => ({
    params: { model: name },
    matches: { model: 'equals' },
    ...facts,
  })
  function meeting(...members: readonly (readonly [string, Partial<Offer>])[]): CapabilityBus {
    const bus = node('a')
    for (const [nodeId, facts] of members) {
      const capabilities = [describeOwnCapability(offered({ name: 'llm.chat', ...facts }))]
      bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    return bus
  }
  const asking = (name: string) => ({ ...callOf('llm.chat', { body: { params: { model: name } } }), ticket: undefined })

  it('resolves to the first contract that has an available provider for the params', () => {
    const newer = { version: [1, 1] } as const
    const bus = meeting(['b', model('x', newer)], ['c', model('y', newer)], ['d', model('x')])
    expect(bus.router.resolve(asking('x'), 0)?.offer.version).toEqual([1, 1])
    for (const entry of bus.registry.named('llm.chat')) if (entry.nodeId !== 'b') entry.lastSeenMs = 61_000
    expect(bus.router.resolve(asking('x'), 61_000)?.offer.version).toEqual([1, 0])
  })

  it('resolves to a contract that could serve the call, even if no provider is available', () => {
    const bus = meeting(['b', model('y', { version: [1, 1] })], ['c', model('x')])
    expect(bus.router.resolve(asking('x'), 61_000)?.offer.version).toEqual([1, 0])
  })

  it('bound to their nodes is ambiguous until a node is named', () => {
    const bound = { anywhere: false } as const
    const bus = meeting(['b', { ...bound, timeoutSeconds: 5 }], ['c', { ...bound, timeoutSeconds: 6 }])
    const call = { ...callOf('llm.chat'), ticket: undefined }
    const contract = bus.router.resolve(call, 0)
    if (contract === undefined) throw new Error('there is a contract')
    expect(bus.router.ambiguity(call, contract, 0)).toMatchObject({ kind: 'conflict', code: 'ambiguous_node' })
    expect(bus.router.ambiguity({ ...call, node: 'b' }, contract, 0)).toBeUndefined()
    expect(bus.router.route(call, 0)).toBeUndefined()
    expect(bus.router.route({ ...call, node: 'c' }, 0)?.nodeId).toBe('c')
    expect(bus.router.soleContract('llm.chat')).toBeUndefined()
  })

  it('has a sole contract only if this node alone serves it', () => {
    expect(meeting(['b', {}]).router.soleContract('llm.chat')).toBeUndefined()
    const { bus } = village({ here: true, there: [] })
    expect(bus.router.soleContract('llm.chat')?.localCount).toBe(1)
    expect(bus.router.freeAtMs(callOf('nobody.offers'), 0)).toBeUndefined()
  })
})

describe('provider of this node', () => {
  it('is compared with other nodes by latency and by their calls in flight', () => {
    const facts = { maxConcurrent: 64 }
    const { bus, at } = village({ here: true, there: ['b'], facts }, { config: { localLoadThreshold: 1 } })
    answered(bus, at('a'), { latencyMs: 100, times: 20 })
    // Nobody knows how fast the other is: the one here is taken.
    expect(routes(bus)).toEqual({ a: 200 })
    answered(bus, at('b'), { latencyMs: 1, times: 20 })
    expect(routes(bus)['b']).toBeGreaterThan(0)
    // With thirty calls each of them takes thirty times as long.
    at('b').inFlight = 30
    expect(routes(bus, 20)).toEqual({ a: 20 })
  })
})

describe('explanation of a call that cannot be served', () => {
  const why = (bus: CapabilityBus, facts: Parameters<typeof callOf>[1] = {}, nowMs = 0) =>
    bus.router.explain({ ...callOf('llm.chat'), ticket: undefined, ...facts }, nowMs)

  it('names other nodes only if the call may be forwarded', () => {
    const { bus } = village({ here: false, there: ['b', 'c'] })
    expect(why(bus, { hopBudget: 0 })).toEqual({
      kind: 'not-found',
      code: 'not_found',
      message: 'llm.chat is not offered on this node, and the call may not be forwarded.',
      details: { reason: 'node' },
    })
    expect(why(bus, { hopBudget: 0, node: 'b' })).toMatchObject({
      message: 'llm.chat is not offered on the requested node.',
      details: { reason: 'node' },
    })
    const elsewhere = why(bus, { node: 'z' })
    expect(elsewhere).toMatchObject({ kind: 'not-found', details: { reason: 'node', alt_nodes: ['b', 'c'] } })
  })

  it('names the trust level that the provider requires', () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'llm.chat', trustRequired: 'anchor' }, echo))
    const caller = { kind: 'peer', id: 'p', level: 'member' } as const
    const fault = why(bus, { caller })
    expect([fault.kind, fault.message.includes('anchor')]).toEqual(['not-permitted', true])
  })

  it('gives the time until the first quarantine ends', () => {
    const { bus, at } = village({ here: false, there: ['b', 'c', 'd', 'e'] })
    failed(bus, at('b'), 5, 0)
    failed(bus, at('c'), 5, 10_000)
    for (const nodeId of ['d', 'e']) bus.onPeerRemoved(nodeId)
    expect(why(bus, {}, 15_000)).toMatchObject({ code: 'quarantined', retryAfterMs: 45_000 })
  })

  it('names as alternatives only free providers of the same contract that any node may use', () => {
    const bus = node('a')
    const meet = (nodeId: string, facts: Partial<Offer>): void => {
      const capabilities = [describeOwnCapability(offered({ name: 'llm.chat', maxConcurrent: 1, ...facts }))]
      bus.onPeerAdded({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    bus.registerCapability(answering({ name: 'llm.chat', maxConcurrent: 1 }, echo))
    meet('free', {})
    meet('full', {})
    meet('other', { version: [2, 0] })
    for (const entry of bus.registry.named('llm.chat')) if (entry.nodeId !== 'free') entry.inFlight = 1
    expect(why(bus, { hopBudget: 0 })).toMatchObject({ kind: 'busy', details: { alt_nodes: ['free'] } })
  })
})
