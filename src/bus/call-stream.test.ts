import { describe, expect, it } from 'vitest'
import {
  answering,
  callOf,
  collect,
  echo,
  introduce,
  ME,
  node,
  reply,
  settled,
  streaming,
} from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { StreamFrame } from './call.ts'

/** Counts up for ever, and says how far it got and whether it was let go. */
function counter(facts = {}) {
  const clock = manualClock()
  const bus = node('a', { clock })
  const state = { made: 0, letGo: false }
  bus.registerCapability(
    streaming({ name: 'count.up', ...facts }, async function* () {
      try {
        for (;;) {
          state.made++
          yield { event: 'count', data: state.made }
        }
      } finally {
        state.letGo = true
      }
    }),
  )
  const entry = bus.registry.named('count.up')[0]
  return { bus, clock, state, entry }
}

describe('a streamed call', () => {
  // test_streaming_call_records_full_trace
  it('streaming call records full trace', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(
      streaming({ name: 'llm.chat', version: [1, 3], params: { model: 'm', backend: 'b' } }, async function* () {
        for (const word of ['Guten', 'Morgen']) {
          clock.advance(40)
          yield { event: 'token', data: word }
        }
        return { ok: true, value: { data: { text: 'Guten Morgen' }, usage: { tokensIn: 3, tokensOut: 2 } } }
      }),
    )
    const stream = bus.stream('llm.chat', [1, 0], {}, { ...ME, traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2D' })
    expect(await collect(stream)).toEqual([
      { event: 'token', data: 'Guten' },
      { event: 'token', data: 'Morgen' },
    ])
    expect(await stream.outcome).toMatchObject({ ok: true, value: { data: { text: 'Guten Morgen' } } })
    expect(bus.recentTraces()).toEqual([
      {
        ts: '2026-01-01T00:00:00.080Z',
        traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2D',
        capability: 'llm.chat',
        version: '1.3',
        fromNode: 'a',
        toNode: 'a',
        isLocal: true,
        result: 'ok',
        ms: 80,
        tokensIn: 3,
        tokensOut: 2,
        bytesIn: 0,
        bytesOut: 0,
        caller: 'tester',
        channel: 'api',
        attempts: 1,
        frames: 2,
        stages: { provider: 80 },
      },
    ])
    expect(bus.registry.named('llm.chat')[0]?.health).toMatchObject({ samples: 1, p50Ms: 80 })
  })

  it('produces a frame only after the previous one was consumed', async () => {
    const { bus, state } = counter()
    const stream = bus.stream('count.up', [1, 0], {}, ME)
    await settled()
    expect(state.made).toBe(1)
    await stream.next()
    await settled()
    expect(state.made).toBe(2)
    await stream.return()
  })

  it('is cancelled when its consumer leaves the loop', async () => {
    const { bus, state, entry } = counter()
    for await (const frame of bus.stream('count.up', [1, 0], {}, ME)) if (frame.data === 3) break
    expect(state.letGo).toBe(true)
    expect(entry?.inFlight).toBe(0)
    expect(entry?.health.samples).toBe(0)
    expect(bus.recentTraces()).toMatchObject([{ result: 'cancelled', frames: 3 }])
    expect(bus.stats().capabilities[0]?.activeStreams).toBe(0)
  })

  it('is cancelled at the end of a block that disposes of it', async () => {
    const { bus, entry } = counter()
    {
      await using stream = bus.stream('count.up', [1, 0], {}, ME)
      await stream.next()
    }
    expect(entry?.inFlight).toBe(0)
  })

  it('ends at its deadline when it is not read, which does not count against the provider', async () => {
    const { bus, clock, state, entry } = counter({ timeoutSeconds: 2 })
    const stream = bus.stream('count.up', [1, 0], {}, ME)
    await settled()
    for (const ms of [2_000, 100]) {
      clock.advance(ms)
      bus.tick()
    }
    expect(await stream.outcome).toMatchObject({ fault: { kind: 'timed-out' } })
    await settled()
    expect(state.letGo).toBe(true)
    expect([entry?.inFlight, entry?.health.samples]).toEqual([0, 0])
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it('ends at its deadline for its consumer when the provider hangs', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(
      streaming({ name: 'x.stuck', timeoutSeconds: 1 }, async function* () {
        yield { event: 'token', data: 1 }
        await new Promise(() => undefined)
        return reply(null)
      }),
    )
    const stream = bus.stream('x.stuck', [1, 0], {}, ME)
    const frames = collect(stream)
    await settled()
    for (const ms of [1_000, 100]) {
      clock.advance(ms)
      bus.tick()
    }
    expect(await frames).toHaveLength(1)
    expect(await stream.outcome).toMatchObject({ fault: { kind: 'timed-out' } })
    expect(bus.registry.named('x.stuck')[0]?.health.successRate).toBe(0)
    clock.advance(5_000)
    bus.tick()
    expect(bus.stats().inFlight).toBe(0)
  })

  it('does not count the time of its consumer as latency of its provider', async () => {
    const { bus, clock, entry } = counter()
    const stream = bus.stream('count.up', [1, 0], {}, ME)
    for (let taken = 0; taken < 5; taken++) {
      await stream.next()
      clock.advance(1_000)
    }
    await stream.return()
    expect(entry?.latency.latencyMs).toBeLessThan(1)
  })

  it('of a capability that does not stream has no frames, only an outcome', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const stream = bus.stream('x.y', [1, 0], { a: 1 }, ME)
    expect(await collect(stream)).toEqual([])
    expect(await stream.outcome).toMatchObject(reply({ a: 1 }))
  })

  it.each(['here', 'on another node'])('made as a unary call reports its progress on the way, %s', async (where) => {
    const [bus, other] = [node('a'), node('b')]
    const provider = where === 'here' ? bus : other
    provider.registerCapability(
      streaming({ name: 'x.slow' }, async function* () {
        yield { event: 'progress', data: { current: 1, total: 2, stage: 'half way' } }
        yield { event: 'token', data: 'not heard' }
        yield { event: 'progress', data: { current: 2 } }
        return reply('all of it')
      }),
    )
    introduce(bus, other)
    const heard: unknown[] = []
    const interaction = { progress: (...told: unknown[]) => heard.push(told) }
    expect(await bus.call('x.slow', [1, 0], {}, { ...ME, interaction })).toMatchObject(reply('all of it'))
    expect(heard).toEqual([
      [1, 2, 'half way'],
      [2, undefined, undefined],
    ])
  })

  it.each(['here', 'on another node'])('made as a unary call reports its text piece by piece, %s', async (where) => {
    const [bus, other] = [node('a'), node('b')]
    const provider = where === 'here' ? bus : other
    provider.registerCapability(
      streaming({ name: 'x.say' }, async function* () {
        yield { event: 'token', data: { text: 'Guten' } }
        yield { event: 'token', data: { text: ' Morgen' } }
        return reply('Guten Morgen')
      }),
    )
    introduce(bus, other)
    const heard: unknown[] = []
    const interaction = { progress: (...told: unknown[]) => heard.push(told) }
    await bus.call('x.say', [1, 0], {}, { ...ME, interaction })
    expect(heard).toEqual([
      [1, undefined, 'Guten'],
      [2, undefined, ' Morgen'],
    ])
  })

  it('is cancelled when the transport can deliver no more frames', async () => {
    const { bus, state, entry } = counter()
    let delivered = 0
    const inbound = callOf('count.up', { caller: { kind: 'peer', id: 'p', level: 'member' }, deadlineMs: 10_000 })
    const outcome = await bus.handleCall(inbound, () => {
      delivered++
      return delivered < 3 ? Promise.resolve() : Promise.reject(new Error('connection reset'))
    })
    expect(outcome).toMatchObject({ fault: { kind: 'cancelled' } })
    expect([state.letGo, entry?.inFlight, entry?.health.samples]).toEqual([true, 0, 0])
  })

  it('that is refused has no frames', async () => {
    const bus = node('a')
    const requestSchema = { type: 'object', required: ['text'] }
    bus.registerCapability(
      streaming({ name: 'x.y', requestSchema }, async function* (): AsyncGenerator<
        StreamFrame,
        ReturnType<typeof reply>
      > {
        yield { event: 'token', data: 1 }
        return reply(null)
      }),
    )
    const stream = bus.stream('x.y', [1, 0], {}, ME)
    expect(await collect(stream)).toEqual([])
    expect(await stream.outcome).toMatchObject({ fault: { code: 'schema_mismatch' } })
  })

  it('ends in a fault after the frames produced so far when the provider throws', async () => {
    const bus = node('a')
    bus.registerCapability(
      streaming({ name: 'x.y' }, async function* (): AsyncGenerator<StreamFrame, ReturnType<typeof reply>> {
        yield { event: 'token', data: 1 }
        throw new Error('inside')
      }),
    )
    const stream = bus.stream('x.y', [1, 0], {}, ME)
    expect(await collect(stream)).toHaveLength(1)
    expect(await stream.outcome).toMatchObject({ fault: { kind: 'internal' } })
  })
})
