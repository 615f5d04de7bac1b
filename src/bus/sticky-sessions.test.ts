import { describe, expect, it } from 'vitest'
import { answering, echo, introduce, ME, node, offered } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { CapabilityBus } from './bus.ts'
import { CapabilityEntry } from './capability-entry.ts'
import { StickySessions, STICKY_SESSION_IDLE_TIMEOUT_MS } from './sticky-sessions.ts'

function entry(nodeId: string): CapabilityEntry {
  const identity = { nodeId, instanceId: 'default', isLocal: false, owner: nodeId }
  return new CapabilityEntry({ ...identity, offer: offered({ name: 'llm.chat' }), lastSeenMs: 0 })
}

function threeNodes(): {
  caller: CapabilityBus
  clock: ReturnType<typeof manualClock>
  buses: readonly CapabilityBus[]
} {
  const clock = manualClock()
  const buses = ['a', 'b', 'c'].map((nodeId) => node(nodeId, { clock }))
  for (const bus of buses.slice(1)) bus.registerCapability(answering({ name: 'llm.chat' }, echo))
  introduce(...buses)
  const [caller] = buses
  if (caller === undefined) throw new Error('no nodes')
  return { caller, clock, buses }
}

async function servedBy(caller: CapabilityBus, sessionId: string): Promise<string | undefined> {
  await caller.call('llm.chat', [1, 0], {}, { ...ME, sessionId })
  return caller.recentTraces(1)[0]?.toNode
}

describe('sticky sessions', () => {
  // test_sticky_routing_preserves_session_across_calls
  it('sticky routing preserves session across calls', async () => {
    const { caller } = threeNodes()
    for (const session of ['s1', 's2', 's3', 's4']) {
      const first = await servedBy(caller, session)
      for (let turn = 0; turn < 20; turn++) expect(await servedBy(caller, session)).toBe(first)
    }
  })

  // test_sticky_session_binds_then_unbinds_on_peer_removal
  it('sticky session binds then unbinds on peer removal', async () => {
    const { caller } = threeNodes()
    const first = await servedBy(caller, 's')
    expect(caller.stats().sessions).toBe(1)
    caller.onPeerRemoved(first ?? '')
    const second = await servedBy(caller, 's')
    expect(new Set([first, second])).toEqual(new Set(['b', 'c']))
    expect(await servedBy(caller, 's')).toBe(second)
  })

  it('move to another provider when theirs is full, and stay there', async () => {
    const { caller } = threeNodes()
    const first = await servedBy(caller, 's')
    const bound = caller.registry.named('llm.chat').find(({ nodeId }) => nodeId === first)
    if (bound !== undefined) bound.inFlight = bound.offer.maxConcurrent
    const second = await servedBy(caller, 's')
    expect(second).not.toBe(first)
    if (bound !== undefined) bound.inFlight = 0
    expect(await servedBy(caller, 's')).toBe(second)
  })

  it('are released by name, without others whose names begin alike', async () => {
    const { caller } = threeNodes()
    await servedBy(caller, 's')
    const other = await servedBy(caller, 's2')
    await servedBy(caller, 's\nllm.chat')
    caller.router.releaseSession('s')
    expect(caller.stats().sessions).toBe(2)
    caller.router.releaseSession('s\nllm.chat')
    expect(caller.stats().sessions).toBe(1)
    expect(await servedBy(caller, 's2')).toBe(other)
    caller.router.releaseSession('s2')
    expect(caller.stats().sessions).toBe(0)
  })

  it('end after ten minutes without a call, when the periodic sweep runs', async () => {
    const { caller, clock, buses } = threeNodes()
    await servedBy(caller, 's')
    clock.advance(STICKY_SESSION_IDLE_TIMEOUT_MS)
    caller.tick()
    expect(caller.stats().sessions).toBe(1)
    introduce(...buses)
    clock.advance(60_001)
    caller.tick()
    expect(caller.stats().sessions).toBe(0)
  })

  it('last for ten minutes after their last use', () => {
    const sticky = new StickySessions()
    const bound = entry('b')
    sticky.bind('s', bound, 0)
    sticky.bind('s', bound, 300_000)
    expect(sticky.bound('s', 'llm.chat', 300_000 + STICKY_SESSION_IDLE_TIMEOUT_MS)).toBe(bound)
    expect(sticky.bound('s', 'llm.chat', 300_001 + STICKY_SESSION_IDLE_TIMEOUT_MS)).toBeUndefined()
  })

  it('are swept when their provider has gone', () => {
    const sticky = new StickySessions()
    const [gone, there] = [entry('b'), entry('c')]
    sticky.bind('s', gone, 0)
    sticky.bind('t', there, 0)
    gone.removed = true
    sticky.sweep(1)
    expect([sticky.size, sticky.bound('t', 'llm.chat', 1)]).toEqual([1, there])
  })

  it('are counted per provider', () => {
    const sticky = new StickySessions()
    const [one, other] = [entry('b'), entry('c')]
    for (const session of ['s', 't', 'u']) sticky.bind(session, one, 0)
    sticky.bind('v', other, 0)
    expect([...sticky.sessions()]).toEqual([
      [one, 3],
      [other, 1],
    ])
  })

  it('are bound per capability', () => {
    const sticky = new StickySessions()
    sticky.bind('s', entry('b'), 0)
    expect(sticky.bound('s', 'embed.text', 0)).toBeUndefined()
  })

  it('are limited to 10,000, and the longest idle one is dropped first', () => {
    const sticky = new StickySessions()
    const bound = entry('b')
    for (let session = 0; session < 10_000; session++) sticky.bind(`s${session}`, bound, session)
    sticky.bind('s0', bound, 10_000)
    sticky.bind('one more', bound, 10_001)
    expect(sticky.size).toBe(10_000)
    expect(sticky.bound('s0', 'llm.chat', 10_001)).toBe(bound)
    expect(sticky.bound('s1', 'llm.chat', 10_001)).toBeUndefined()
  })
})
