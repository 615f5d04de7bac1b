import { describe, expect, it } from 'vitest'
import { answering, introduce, ME, node, reply, streaming } from '../../test/bus-village.ts'
import { seeded } from '../../test/seeded-random.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { Call, Outcome } from './call.ts'

/**
 * A hundred thousand calls and streams, here and on another node, with callers that leave, deadlines that pass and
 * handlers that answer, throw, stop when told or ignore it: in the end every slot is free.
 */
describe('slots of providers', () => {
  it('are all free after 100,000 calls with every kind of ending', async () => {
    const random = seeded(2_026)
    const clock = manualClock()
    const buses = ['a', 'b'].map((nodeId) => node(nodeId, { clock, random }))
    const waiting: (() => void)[] = []
    const pause = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))

    const handle = async (call: Call): Promise<Outcome> => {
      const fate = random()
      if (fate < 0.2) return reply(null)
      if (fate < 0.3) throw new Error('boom')
      if (fate < 0.6) await pause()
      else if (!call.signal.aborted)
        await Promise.race([new Promise((resolve) => call.signal.addEventListener('abort', resolve)), pause()])
      if (fate > 0.9) throw new Error('boom, late')
      // Seldom, as whoever says so is left alone, and calls that are not made end in one way only.
      return fate > 0.88 ? { ok: false, fault: { kind: 'busy', message: 'later', retryAfterMs: 5 } } : reply(null)
    }
    for (const bus of buses) {
      bus.registerCapability(answering({ name: 'x.call', maxConcurrent: 60, timeoutSeconds: 1 }, handle))
      bus.registerCapability(
        streaming({ name: 'x.stream', maxConcurrent: 60, timeoutSeconds: 1 }, async function* (call) {
          for (let frame = 0; frame < 5; frame++) {
            yield { event: 'token', data: frame }
            if (random() < 0.3) await handle(call)
          }
          return reply(null)
        }),
      )
    }
    introduce(...buses)

    const settle = async (bus: (typeof buses)[number]): Promise<void> => {
      const controller = new AbortController()
      const leaves = random()
      const signal = leaves < 0.5 ? controller.signal : undefined
      const options = { ...ME, signal, timeoutMs: random() < 0.3 ? 50 : undefined }
      if (leaves < 0.25) queueMicrotask(() => controller.abort())
      else if (leaves < 0.5) waiting.push(() => controller.abort())
      if (random() < 0.8) {
        await bus.call('x.call', [1, 0], {}, options)
        return
      }
      const stream = bus.stream('x.stream', [1, 0], {}, options)
      const wanted = Math.floor(random() * 7)
      for (let taken = 0; taken < wanted; taken++) if ((await stream.next()).done === true) break
      if (random() < 0.7) stream.cancel()
      await stream.outcome
    }

    let ended = 0
    const pending = new Set<Promise<void>>()
    const stir = async (): Promise<void> => {
      for (const resume of waiting.splice(0, Math.ceil(waiting.length * random()))) resume()
      clock.advance(random() * 60)
      for (const bus of buses) bus.tick()
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let round = 0; round < 1_000; round++) {
      introduce(...(round % 50 === 0 ? buses : []))
      for (let call = 0; call < 100; call++) {
        const bus = buses[call % 2]
        if (bus === undefined) continue
        const one = settle(bus).finally(() => {
          ended++
          pending.delete(one)
        })
        pending.add(one)
      }
      await stir()
    }
    while (pending.size > 0 || waiting.length > 0) await stir()
    for (let turn = 0; turn < 200; turn++) await stir()

    expect(ended).toBe(100_000)
    // Every way of ending was taken often, or this would prove little.
    const endings = { ok: 0, timeout: 0, internal_error: 0, capacity_exceeded: 0 }
    for (const { ok, errors } of buses.flatMap((bus) => bus.stats().capabilities)) {
      endings.ok += ok
      for (const code of ['timeout', 'internal_error', 'capacity_exceeded'] as const) endings[code] += errors[code] ?? 0
    }
    expect(Math.min(...Object.values(endings))).toBeGreaterThan(1_000)
    expect(Math.min(...buses.map((bus) => bus.stats().cutOff))).toBeGreaterThan(100)
    expect(buses.map((bus) => bus.stats().inFlight)).toEqual([0, 0])
    const entries = buses.flatMap((bus) => bus.registry.all())
    expect(entries.map(({ inFlight, waiting: queue }) => [inFlight, queue.size])).toEqual(entries.map(() => [0, 0]))
    expect(buses.flatMap((bus) => bus.stats().capabilities.map(({ activeStreams }) => activeStreams))).toEqual([
      0, 0, 0, 0,
    ])
  })
})
