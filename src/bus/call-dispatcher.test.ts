import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { answering, collect, echo, ME, node, reply, settled, streaming, validating } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { CapabilityBus } from './bus.ts'
import type { Call, Outcome } from './call.ts'
import type { Offer } from './capability.ts'

/** A handler that does nothing until the test says what happened. */
function held(): { handle: (call: Call) => Promise<Outcome>; calls: Call[]; finish: (outcome: Outcome) => void } {
  const calls: Call[] = []
  const finishers: ((outcome: Outcome) => void)[] = []
  return {
    calls,
    handle: (call) => {
      calls.push(call)
      return new Promise((resolve) => finishers.push(resolve))
    },
    finish: (outcome) => finishers.shift()?.(outcome),
  }
}

function world(facts: Partial<Offer> = {}) {
  const clock = manualClock()
  const logged: object[] = []
  const log = { warn: () => undefined, error: (details: object) => logged.push(details) }
  const bus = node('a', { clock, log })
  const worker = held()
  bus.registerCapability(answering({ name: 'x.y', ...facts }, worker.handle))
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    bus.tick()
    await settled()
  }
  const entry = bus.registry.named('x.y')[0]
  if (entry === undefined) throw new Error('not registered')
  return { bus, clock, worker, pass, entry, logged }
}

function ask(bus: CapabilityBus, options = {}): Promise<Outcome> {
  return bus.call('x.y', [1, 0], {}, { ...ME, ...options })
}

describe('a handler that throws', () => {
  it('reports that the disk is full if that is the cause', async () => {
    const { bus } = world()
    const database = new DatabaseSync(':memory:')
    database.exec('CREATE TABLE note (text TEXT); PRAGMA max_page_count = 2')
    const full = (): never => {
      database.prepare('INSERT INTO note VALUES (?)').run('x'.repeat(100_000))
      throw new Error('it was written')
    }
    bus.registerCapability(answering({ name: 'x.full' }, full))
    expect(await bus.call('x.full', [1, 0], {}, ME)).toMatchObject({
      ok: false,
      fault: {
        kind: 'internal',
        message: expect.stringMatching(/^x\.full failed because .* could not be recorded \(is the disk full\?\)\./),
      },
    })
    database.close()
  })

  // test_in_flight_decrements_on_handler_exception
  it.each([
    [
      'at once',
      () => {
        throw new Error('secret detail')
      },
    ],
    ['later', () => Promise.reject(new Error('secret detail'))],
  ])('in flight decrements on handler exception, thrown %s', async (_, handle) => {
    const { bus, logged } = world()
    bus.registerCapability(answering({ name: 'x.boom' }, handle))
    const outcome = await bus.call('x.boom', [1, 0], {}, ME)
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'internal', code: 'internal_error' } })
    expect(JSON.stringify(outcome)).not.toContain('secret')
    expect(logged).toMatchObject([{ err: { message: 'secret detail' }, capability: 'x.boom' }])
    expect(bus.registry.named('x.boom')[0]).toMatchObject({ inFlight: 0, health: { samples: 1, successRate: 0 } })
  })

  it('is treated like one that returns nothing', async () => {
    const { bus, logged } = world()
    bus.registerCapability(answering({ name: 'x.nothing' }, () => Promise.resolve(undefined as never)))
    expect(await bus.call('x.nothing', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'internal' } })
    expect(logged).toHaveLength(1)
    expect(bus.stats().inFlight).toBe(0)
  })

  it('counts as a failure of the provider, as a returned fault does', async () => {
    const { bus, entry, worker } = world()
    const outcome = ask(bus)
    worker.finish({ ok: false, fault: { kind: 'failed', message: 'the device said no' } })
    await outcome
    expect(entry.health.successRate).toBe(0)
    expect(bus.recentTraces()[0]?.result).toBe('failed')
  })

  it('is traced like any other call', async () => {
    const { bus } = world()
    bus.registerCapability(answering({ name: 'x.boom' }, () => Promise.reject(new Error('no'))))
    await bus.call('x.boom', [1, 0], {}, ME)
    expect(bus.recentTraces()).toMatchObject([{ capability: 'x.boom', result: 'internal_error', toNode: 'a' }])
  })
})

describe('a fault caused by the caller', () => {
  it.each(['invalid-arguments', 'not-found', 'not-permitted', 'approval-required', 'conflict', 'unsupported'] as const)(
    '%s is not counted against the provider',
    async (kind) => {
      const { bus, entry, worker } = world()
      const outcome = ask(bus)
      worker.finish({ ok: false, fault: { kind, message: 'your fault' } })
      expect(await outcome).toMatchObject({ fault: { kind } })
      expect(entry.health.samples).toBe(0)
    },
  )
})

describe('deadline of a call', () => {
  it("is the earlier of the caller's and the capability's time limit", async () => {
    const { bus, worker } = world({ timeoutSeconds: 2 })
    void ask(bus)
    void ask(bus, { timeoutMs: 500 })
    void ask(bus, { timeoutMs: 60_000 })
    await settled()
    expect(worker.calls.map((call) => call.deadlineMs)).toEqual([2_000, 500, 2_000])
  })

  it('aborts the signal of the handler, whose own answer is then returned', async () => {
    const { bus, worker, pass } = world({ timeoutSeconds: 2 })
    const outcome = ask(bus)
    await pass(2_000)
    expect(worker.calls[0]?.signal.aborted).toBe(true)
    expect(worker.calls[0]?.signal.reason).toMatchObject({ name: 'TimeoutError' })
    worker.finish({ ok: false, fault: { kind: 'timed-out', message: 'no answer on the bus for 2 s' } })
    expect(await outcome).toMatchObject({ fault: { message: 'no answer on the bus for 2 s' } })
  })

  it('is reported as timed-out, even if the handler reports its aborted signal as cancelled', async () => {
    const { bus, worker, pass, entry } = world({ timeoutSeconds: 2 })
    const outcome = ask(bus)
    await pass(2_000)
    worker.finish({
      ok: false,
      fault: { kind: 'cancelled', code: 'CANCELLED', message: 'The caller went away.', details: { layer: 'bus' } },
    })
    expect(await outcome).toMatchObject({
      ok: false,
      fault: { kind: 'timed-out', code: 'timeout', message: 'x.y did not answer in time.', details: { layer: 'bus' } },
    })
    expect(entry.health.successRate).toBe(0)
  })

  it('ends the call even if the handler ignores its signal', async () => {
    const { bus, worker, pass, entry } = world({ timeoutSeconds: 2 })
    const outcome = ask(bus)
    await pass(2_000)
    await pass(100)
    expect(await outcome).toMatchObject({ fault: { kind: 'timed-out', code: 'timeout' } })
    expect(entry.health.successRate).toBe(0)
    expect(bus.stats().cutOff).toBe(1)
    worker.finish(reply('too late'))
  })

  it('leaves the outcome of a change unknown if the handler did not answer', async () => {
    const { bus, pass } = world({ timeoutSeconds: 2, effect: 'writes' })
    const outcome = ask(bus)
    await pass(2_000)
    await pass(100)
    expect(await outcome).toMatchObject({ fault: { kind: 'unknown-outcome', code: 'timeout' } })
  })

  it("that the caller set shorter than the capability's does not count against the provider", async () => {
    const { bus, pass, entry } = world({ timeoutSeconds: 30 })
    const outcome = ask(bus, { timeoutMs: 200 })
    await pass(200)
    await pass(100)
    expect(await outcome).toMatchObject({ fault: { kind: 'timed-out' } })
    expect(entry.health.samples).toBe(0)
  })

  it('that passes before a provider was chosen ends the call without running a handler', async () => {
    const clock = manualClock()
    const worker = held()
    const bus = node('a', {
      clock,
      admit: async (call, offer, proceed) => {
        clock.advance(31_000)
        bus.tick()
        return validating(call, offer, proceed)
      },
    })
    bus.registerCapability(answering({ name: 'x.y', effect: 'writes' }, worker.handle))
    expect(await ask(bus)).toMatchObject({ fault: { kind: 'timed-out' } })
    expect(worker.calls).toEqual([])
  })
})

describe('slot of a provider', () => {
  it('stays taken while a timed-out handler is still running', async () => {
    const { bus, worker, pass, entry } = world({ timeoutSeconds: 2, maxConcurrent: 1 })
    const outcome = ask(bus)
    await pass(2_000)
    await pass(100)
    await outcome
    expect(entry.inFlight).toBe(1)
    const over = worker.calls[0]?.ticket?.stillWorking
    expect(over).toBeInstanceOf(Promise)
    worker.finish(reply('at last'))
    await over
    await settled()
    expect([entry.inFlight, worker.calls[0]?.ticket?.stillWorking]).toEqual([0, undefined])
  })

  it('is freed after five seconds even if the handler never ends', async () => {
    const { bus, worker, pass, entry } = world({ timeoutSeconds: 2, maxConcurrent: 1 })
    const outcome = ask(bus)
    await pass(2_000)
    await pass(100)
    await outcome
    await pass(5_000)
    expect(entry.inFlight).toBe(0)
    worker.finish(reply('years later'))
    await settled()
    expect(entry.inFlight).toBe(0)
  })

  it('is waited for in order, for ten seconds at most', async () => {
    const { bus, worker, pass, entry } = world({ maxConcurrent: 1 })
    const [first, second, third] = [ask(bus), ask(bus), ask(bus)]
    await settled()
    expect([worker.calls.length, entry.waiting.size]).toEqual([1, 2])
    worker.finish(reply(1))
    expect(await first).toEqual(reply(1))
    await settled()
    expect([worker.calls.length, entry.inFlight, entry.waiting.size]).toEqual([2, 1, 1])
    await pass(10_000)
    expect(await third).toMatchObject({ fault: { kind: 'busy', code: 'capacity_exceeded', retryAfterMs: 100 } })
    worker.finish(reply(2))
    expect(await second).toEqual(reply(2))
    expect([entry.inFlight, entry.waiting.size]).toEqual([0, 0])
  })

  it('has a queue of at most 128 calls', async () => {
    const { bus, worker, entry } = world({ maxConcurrent: 1 })
    const outcomes = Array.from({ length: 130 }, () => ask(bus))
    expect(await outcomes.at(-1)).toMatchObject({ fault: { kind: 'busy', begun: false } })
    expect(entry.waiting.size).toBe(128)
    for (let turn = 0; turn < 129; turn++) {
      worker.finish(reply(turn))
      await settled()
    }
    expect(await Promise.all(outcomes.slice(0, 129))).toEqual(Array.from({ length: 129 }, (_, turn) => reply(turn)))
  })

  it('is not taken by a caller that left the queue', async () => {
    const { bus, worker, entry } = world({ maxConcurrent: 1 })
    const controller = new AbortController()
    const first = ask(bus)
    const second = ask(bus, { signal: controller.signal })
    await settled()
    controller.abort()
    expect(await second).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(entry.waiting.size).toBe(0)
    worker.finish(reply(1))
    await first
    expect([entry.inFlight, worker.calls.length]).toEqual([0, 1])
  })
})

describe('cancelling a call', () => {
  it("aborts the signal of the handler with the caller's reason", async () => {
    const { bus, worker, pass, entry } = world()
    const controller = new AbortController()
    const outcome = ask(bus, { signal: controller.signal })
    await settled()
    controller.abort('the client hung up')
    expect(worker.calls[0]?.signal.reason).toBe('the client hung up')
    await pass(100)
    expect(await outcome).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(entry.health.samples).toBe(0)
    worker.finish(reply(null))
    await settled()
    expect(entry.inFlight).toBe(0)
  })

  it('before it begins runs no handler', async () => {
    const { bus, worker } = world()
    expect(await ask(bus, { signal: AbortSignal.abort() })).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(worker.calls).toEqual([])
  })

  it('returns the answer of a handler that finished all the same', async () => {
    const { bus, worker } = world({ effect: 'writes' })
    const controller = new AbortController()
    const outcome = ask(bus, { signal: controller.signal })
    await settled()
    controller.abort()
    worker.finish(reply('done before I heard'))
    expect(await outcome).toEqual(reply('done before I heard'))
  })

  it('leaves no unknown outcome for a timed-out rehearsal', async () => {
    const clock = manualClock()
    const worker = held()
    const bus = node('a', { clock, admit: (call, _, proceed) => proceed({ ...call, rehearsal: true }) })
    bus.registerCapability(answering({ name: 'x.y', effect: 'writes' }, worker.handle))
    const outcome = ask(bus)
    for (const ms of [30_000, 100]) {
      clock.advance(ms)
      bus.tick()
    }
    expect(await outcome).toMatchObject({ fault: { kind: 'timed-out' } })
  })

  it('on close of the bus ends every call and every stream', async () => {
    const { bus, worker, pass } = world()
    bus.registerCapability(
      streaming({ name: 'x.stream' }, async function* (call) {
        yield { event: 'token', data: 1 }
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve))
        return reply(null)
      }),
    )
    const outcome = ask(bus)
    const stream = bus.stream('x.stream', [1, 0], {}, ME)
    const frames = collect(stream)
    await settled()
    bus.close()
    worker.finish({ ok: false, fault: { kind: 'cancelled', message: 'stopping' } })
    await pass(100)
    expect(await outcome).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(await frames).toHaveLength(1)
    expect(bus.stats().inFlight).toBe(0)
  })
})

describe('a call of an unknown capability', () => {
  it('still goes through the pipeline, which records the attempt', async () => {
    const seen: unknown[] = []
    const bus = node('a', {
      admit: (call, offer, proceed) => {
        seen.push([call.capability, offer])
        return proceed(call)
      },
    })
    expect(await bus.call('no.such', undefined, {}, ME)).toMatchObject({ fault: { kind: 'not-found' } })
    expect(seen).toEqual([['no.such', undefined]])
    expect(bus.recentTraces()).toMatchObject([{ capability: 'no.such', toNode: undefined, result: 'not_found' }])
  })

  it('does not add its name to the counters', async () => {
    const bus = node('a')
    for (let count = 0; count < 100; count++) await bus.call(`no.such.${count}`, undefined, {}, ME)
    expect(bus.stats().capabilities).toMatchObject([{ name: 'unknown', calls: 100, errors: { not_found: 100 } }])
  })
})

describe('a handler that exceeds its deadline', () => {
  it('is counted as cut off, and one that answers in time is not', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    bus.registerCapability(answering({ name: 'x.never', timeoutSeconds: 1 }, () => new Promise(() => undefined)))
    await bus.call('x.y', [1, 0], {}, ME)
    expect(bus.tally.cutOff).toBe(0)
    const hanging = bus.call('x.never', [1, 0], {}, ME)
    for (const ms of [1_010, 110]) {
      await settled()
      clock.advance(ms)
      bus.tick()
    }
    await hanging
    expect(bus.tally.cutOff).toBe(1)
  })
})

describe('a unary call of a streaming capability', () => {
  it('gets progress numbers and texts from the frames, and no other frame data', async () => {
    const bus = node('a')
    bus.registerCapability(
      streaming({ name: 'x.y' }, async function* () {
        yield { event: 'progress', data: { current: 1, total: 'many', stage: 7 } }
        yield { event: 'progress', data: { current: 2, total: 3, stage: 'half' } }
        yield { event: 'progress', data: { current: 'x' } }
        yield { event: 'progress', data: null }
        yield { event: 'token', data: { text: 'a word' } }
        yield { event: 'token', data: { text: 5 } }
        return reply(null)
      }),
    )
    const reported: unknown[][] = []
    const interaction = { progress: (...words: unknown[]) => void reported.push(words) }
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, interaction })).toMatchObject({ ok: true })
    expect(reported).toEqual([
      [1, undefined, undefined],
      [2, 3, 'half'],
      [1, undefined, 'a word'],
    ])
  })
})

describe('a pipeline that throws', () => {
  it('ends the call with an internal error', async () => {
    const bus = node('a', { admit: () => Promise.reject(new Error('disk full')) })
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    expect(await ask(bus)).toMatchObject({ fault: { kind: 'internal' } })
    expect(bus.recentTraces()).toMatchObject([{ result: 'internal_error' }])
  })

  it('or drops the call ticket ends the call with an internal error and logs the cause', async () => {
    const logged: { err?: Error }[] = []
    const log = { warn: () => undefined, error: (details: object) => logged.push(details) }
    const bus = node('a', { log, admit: (call, _, proceed) => proceed({ ...call, ticket: undefined }) })
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    expect(await ask(bus)).toMatchObject({ fault: { kind: 'internal' } })
    expect(logged[0]?.err?.message).toContain('without the ticket')
  })
})
