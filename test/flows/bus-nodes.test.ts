import { describe, expect, it } from 'vitest'
import type { CapabilityBus } from '../../src/bus/bus.ts'
import type { Call, Outcome } from '../../src/bus/call.ts'
import { manualClock } from '../manual-clock.ts'
import { answering, introduce, manifestOf, ME, node, reply, settled, streaming } from '../bus-village.ts'
import type { NodeOptions } from '../bus-village.ts'

function nodes(names: string, options: NodeOptions = {}): readonly CapabilityBus[] {
  return names.split(' ').map((nodeId) => node(nodeId, options))
}

function nth(buses: readonly CapabilityBus[], index: number): CapabilityBus {
  const bus = buses[index]
  if (bus === undefined) throw new RangeError(`there is no node ${index}`)
  return bus
}

describe('nodes in one process', () => {
  // test_three_nodes_load_balance
  it('three nodes load balance', async () => {
    const buses = nodes('caller b c d')
    const served: Record<string, number> = { b: 0, c: 0, d: 0 }
    const open: (() => void)[] = []
    for (const bus of buses.slice(1))
      bus.registerCapability(
        answering({ name: 'llm.chat', maxConcurrent: 50 }, () => {
          served[bus.nodeId] = (served[bus.nodeId] ?? 0) + 1
          return new Promise((resolve) => open.push(() => resolve(reply(null))))
        }),
      )
    introduce(...buses)
    const calls: Promise<Outcome>[] = []
    for (let call = 0; call < 100; call++) {
      calls.push(nth(buses, 0).call('llm.chat', [1, 0], {}, ME))
      await settled()
      // Twelve in flight at any time, answered in the order they came.
      if (open.length >= 12) open.shift()?.()
    }
    while (open.length > 0) open.shift()?.()
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true)
    for (const count of Object.values(served)) expect(Math.abs(count - 100 / 3)).toBeLessThan(10)
  })

  it('two equal providers share a hundred calls made one after another', async () => {
    const buses = nodes('caller b c')
    for (const bus of buses.slice(1))
      bus.registerCapability(answering({ name: 'llm.chat' }, () => Promise.resolve(reply(1))))
    introduce(...buses)
    for (let call = 0; call < 100; call++) await nth(buses, 0).call('llm.chat', [1, 0], {}, ME)
    const toB = nth(buses, 0)
      .recentTraces(100)
      .filter(({ toNode }) => toNode === 'b').length
    expect(Math.abs(toB - 50)).toBeLessThan(15)
  })

  // test_quarantine_after_chaos
  it('quarantine after chaos', async () => {
    const clock = manualClock()
    const buses = nodes('caller b c d', { clock })
    let isBroken = false
    for (const bus of buses.slice(1))
      bus.registerCapability(
        answering({ name: 'llm.chat', idempotent: false, maxConcurrent: 100 }, async () => {
          await settled()
          if (bus.nodeId === 'b' && isBroken) throw new Error('chaos')
          return reply(bus.nodeId)
        }),
      )
    introduce(...buses)
    const caller = nth(buses, 0)
    const ask = async (times: number): Promise<readonly unknown[]> => {
      const asked = Array.from({ length: times }, () => caller.call('llm.chat', [1, 0], {}, ME))
      const outcomes = await Promise.all(asked)
      return outcomes.map((outcome) => (outcome.ok ? outcome.value.data : outcome.fault.kind))
    }
    for (let round = 0; round < 3; round++) expect(new Set(await ask(30))).toEqual(new Set(['b', 'c', 'd']))
    const entry = caller.registry.named('llm.chat').find(({ nodeId }) => nodeId === 'b')

    isBroken = true
    const chaos = await ask(30)
    expect(chaos.filter((result) => result === 'internal').length).toBeGreaterThanOrEqual(5)
    expect(caller.stats().quarantines).toBe(1)
    expect(entry?.health.isEjected()).toBe(true)
    expect(new Set(await ask(30))).toEqual(new Set(['c', 'd']))

    // The quarantine ends with one probe. It fails, and everybody else is served meanwhile.
    clock.advance(60_000)
    introduce(...buses)
    expect((await ask(30)).filter((result) => result === 'internal')).toHaveLength(1)
    expect(caller.stats().quarantines).toBe(2)

    isBroken = false
    clock.advance(120_000)
    introduce(...buses)
    expect((await ask(1))[0]).toBe('b')
    expect(entry?.health).toMatchObject({ samples: 1, successRate: 1 })
    expect(await ask(60)).toContain('b')
  })

  it('a deadline shrinks at every hop, and its end aborts the last handler', async () => {
    const clock = manualClock()
    const buses = nodes('a b c', { clock })
    const seen: Call[] = []
    nth(buses, 2).registerCapability(
      answering({ name: 'deep.work', timeoutSeconds: 60 }, (call) => {
        seen.push(call)
        return new Promise((resolve) => {
          call.signal.addEventListener('abort', () =>
            resolve({ ok: false, fault: { kind: 'timed-out', message: 'stopped at the last node' } }),
          )
        })
      }),
    )
    nth(buses, 1).registerCapability(
      answering({ name: 'middle.work', timeoutSeconds: 20 }, async (call) => {
        seen.push(call)
        clock.advance(3_000)
        const timeoutMs = call.deadlineMs - clock.monotonic()
        return nth(buses, 1).call('deep.work', [1, 0], {}, { ...ME, timeoutMs, signal: call.signal })
      }),
    )
    introduce(...buses)
    const asked = nth(buses, 0).call('middle.work', [1, 0], {}, { ...ME, timeoutMs: 10_000 })
    await settled()
    expect(seen.map((call) => call.deadlineMs)).toEqual([10_000, 10_000])
    clock.advance(7_000)
    for (const bus of buses) bus.tick()
    expect(await asked).toMatchObject({ fault: { kind: 'timed-out', message: 'stopped at the last node' } })
    expect(buses.map((bus) => bus.stats().inFlight)).toEqual([0, 0, 0])
  })

  it('a call that nodes forward in a circle ends', async () => {
    const buses = nodes('a b c')
    // Each believes that the next one offers it, and nobody does.
    const offer = answering({ name: 'hot.potato' }, () => Promise.resolve(reply(null)))
    const [a, b, c] = [nth(buses, 0), nth(buses, 1), nth(buses, 2)]
    for (const [from, to] of [
      [a, b],
      [b, c],
      [c, a],
    ] as const) {
      to.registerCapability(offer)
      from.onPeerAdded(manifestOf(to))
    }
    for (const bus of buses) bus.deregister('hot.potato', [1, 0])
    const outcome = await a.call('hot.potato', [1, 0], {}, { ...ME, hopBudget: 1_000 })
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'not-found', details: { reason: 'node' } } })
    const handled = buses.reduce((sum, bus) => sum + bus.recentTraces(100).length, 0)
    expect(handled).toBeLessThanOrEqual(6)
  })

  it('a peer’s call is served locally, and forwarded only if its hop budget allows it', async () => {
    const buses = nodes('a b c')
    nth(buses, 2).registerCapability(answering({ name: 'x.y' }, () => Promise.resolve(reply('from c'))))
    introduce(nth(buses, 1), nth(buses, 2))
    const offer = answering({ name: 'x.y' }, () => Promise.resolve(reply('never')))
    nth(buses, 1).registerCapability(offer)
    nth(buses, 0).onPeerAdded(manifestOf(nth(buses, 1)))
    nth(buses, 1).deregister('x.y', [1, 0])
    const ask = (hopBudget: number): Promise<Outcome> => nth(buses, 0).call('x.y', [1, 0], {}, { ...ME, hopBudget })
    expect(await ask(1)).toMatchObject({ fault: { kind: 'not-found' } })
    // The node that is named is the one whose key answered.
    expect(await ask(2)).toMatchObject({ ...reply('from c'), value: { from: { node: 'b' } } })
  })

  it('a slow consumer on one node pauses the producer on another', async () => {
    const buses = nodes('a b')
    let made = 0
    nth(buses, 1).registerCapability(
      streaming({ name: 'flood.all' }, async function* () {
        for (; made < 1_000_000;) yield { event: 'drop', data: ++made }
        return reply(null)
      }),
    )
    introduce(...buses)
    const stream = nth(buses, 0).stream('flood.all', [1, 0], {}, ME)
    for (let taken = 1; taken <= 50; taken++) {
      expect(await stream.next()).toMatchObject({ value: { data: taken } })
      await settled()
      expect(made - taken).toBeLessThanOrEqual(2)
    }
    await stream.return()
    await settled()
    expect(made).toBeLessThan(60)
    expect(buses.map((bus) => bus.stats().inFlight)).toEqual([0, 0])
  })

  it('closing a stream on one node ends its producer on another', async () => {
    const buses = nodes('a b')
    let letGo = false
    nth(buses, 1).registerCapability(
      streaming({ name: 'wait.long' }, async function* (call) {
        try {
          yield { event: 'ready', data: null }
          if (!call.signal.aborted) await new Promise((resolve) => call.signal.addEventListener('abort', resolve))
          return reply(null)
        } finally {
          letGo = true
        }
      }),
    )
    introduce(...buses)
    for await (const frame of nth(buses, 0).stream('wait.long', [1, 0], {}, ME)) if (frame.event === 'ready') break
    expect(letGo).toBe(true)
    expect(buses.map((bus) => bus.stats().inFlight)).toEqual([0, 0])
  })

  it('a provider enforces its concurrency limit across callers on several nodes', async () => {
    const clock = manualClock()
    const buses = nodes('provider p q r', { clock })
    let running = 0
    let most = 0
    const open: (() => void)[] = []
    nth(buses, 0).registerCapability(
      answering({ name: 'scarce.thing', maxConcurrent: 2 }, async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => open.push(resolve))
        running--
        return reply(null)
      }),
    )
    introduce(...buses)
    // Each caller thinks that it may send two; the provider takes two in all.
    const asked = [1, 2, 3].flatMap((index) =>
      [0, 1].map(() => nth(buses, index).call('scarce.thing', [1, 0], {}, { ...ME, timeoutMs: 900 })),
    )
    for (let turn = 0; turn < 10; turn++) {
      await settled()
      open.shift()?.()
    }
    expect((await Promise.all(asked)).every(({ ok }) => ok)).toBe(true)
    expect(most).toBe(2)
    expect(buses.map((bus) => bus.stats().inFlight)).toEqual([0, 0, 0, 0])
  })
})
