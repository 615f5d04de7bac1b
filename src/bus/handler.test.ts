import { describe, expect, it } from 'vitest'
import { answering, collect, ME, node, reply, settled, streaming } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { systemClock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'
import type { CapabilityBus } from './bus.ts'
import type { Call, StreamFrame, Outcome } from './call.ts'
import type { Offer, UnaryHandler } from './capability.ts'

/** What plain JavaScript can give back where an outcome is promised. */
const GARBAGE: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['nothing', undefined],
  ['a text', 'done'],
  ['an empty object', {}],
  ['an object whose ok is not a boolean', { ok: 1, value: { data: 1 } }],
  ['a success without a value', { ok: true }],
  ['a success with null', { ok: true, value: null }],
  ['a success without data', { ok: true, value: {} }],
  ['content that is not a list', { ok: true, value: { data: 1, content: {} } }],
  ['content without a type', { ok: true, value: { data: 1, content: [{}] } }],
  ['usage that is not an object', { ok: true, value: { data: 1, usage: 5 } }],
  ['a request for input without requests', { ok: true, value: { data: 1, inputRequired: {} } }],
  ['an origin that is not an object', { ok: true, value: { data: 1, from: 'here' } }],
  ['a device that is not a text', { ok: true, value: { data: 1, from: { device: 7 } } }],
  ['a failure without a fault', { ok: false }],
  ['a fault without a kind', { ok: false, fault: { message: 'no' } }],
  ['a fault of a kind that there is not', { ok: false, fault: { kind: 'whatever', message: 'no' } }],
  ['a fault without a message', { ok: false, fault: { kind: 'failed' } }],
  ['a code that is not a text', { ok: false, fault: { kind: 'failed', message: 'no', code: 5 } }],
  ['a time that is none', { ok: false, fault: { kind: 'busy', message: 'no', retryAfterMs: NaN } }],
  ['reasons without rules', { ok: false, fault: { kind: 'not-permitted', message: 'no', reasons: [{}] } }],
  ['details that are a list', { ok: false, fault: { kind: 'failed', message: 'no', details: [] } }],
  ['details that JSON cannot say', { ok: false, fault: { kind: 'failed', message: 'no', details: { big: 5n } } }],
  ['details that contain themselves', { ok: false, fault: { kind: 'failed', message: 'no', details: cyclic() } }],
  ['content that contains itself', { ok: true, value: { data: 1, content: [{ type: 'text', text: cyclic() }] } }],
  ['a state that is not a text', { ok: true, value: { data: 1, inputRequired: { requests: {}, state: 5 } } }],
  [
    'something that throws when it is looked at',
    {
      get ok(): boolean {
        throw new Error('do not look')
      },
    },
  ],
]

function cyclic(): object {
  const value: Record<string, unknown> = {}
  value['itself'] = value
  return value
}

const MISTAKE = { ok: false, fault: { kind: 'internal', code: 'internal_error', begun: true } } as const

function bound(handle: UnaryHandler, facts: Partial<Offer> = {}): CapabilityBus {
  const bus = node('a')
  bus.registerCapability(answering({ name: 'x.y', maxConcurrent: 1, ...facts }, handle))
  return bus
}

function answerOf(handle: () => unknown): Promise<Outcome> {
  return bound(handle as UnaryHandler).call('x.y', [1, 0], {}, ME)
}

function slots(bus: CapabilityBus): number {
  return bus.registry.named('x.y')[0]?.inFlight ?? -1
}

describe('outcome of a handler', () => {
  it.each(GARBAGE)('is an internal error, and the slot is freed, if it is %s', async (_, given) => {
    for (const handle of [() => Promise.resolve(given), () => given]) {
      const bus = bound(handle as UnaryHandler)
      expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject(MISTAKE)
      expect(slots(bus)).toBe(0)
    }
  })

  it('may be returned synchronously', async () => {
    const bus = bound((() => reply('at once')) as unknown as UnaryHandler)
    expect(await bus.call('x.y', [1, 0], {}, ME)).toEqual(reply('at once'))
    expect(slots(bus)).toBe(0)
  })

  it('is read once, including inherited, hidden and computed members', async () => {
    let reads = 0
    class Answer {
      get data(): Json {
        return ++reads
      }
      get replayed(): true {
        return true
      }
    }
    class Refusal {
      get kind(): 'conflict' {
        return 'conflict'
      }
      get message(): string {
        return 'not now'
      }
    }
    expect(await answerOf(() => ({ ok: true, value: new Answer() }))).toEqual({
      ok: true,
      value: { data: 1, replayed: true },
    })
    expect(await answerOf(() => ({ ok: false, fault: new Refusal() }))).toEqual({
      ok: false,
      fault: { kind: 'conflict', message: 'not now', begun: true },
    })
    // ECMA-262 § 20.5.1.1: the message of an Error is not enumerable.
    const error = Object.assign(new Error('the valve is stuck'), { kind: 'failed' })
    expect(await answerOf(() => ({ ok: false, fault: error }))).toMatchObject({
      ok: false,
      fault: { kind: 'failed', message: 'the valve is stuck', begun: true },
    })
  })

  it('is cut to the recorded length of its message and to a retry time of one day', async () => {
    const fault = { kind: 'busy', message: 'x'.repeat(100_000), retryAfterMs: Infinity }
    const outcome = await answerOf(() => ({ ok: false, fault }))
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'busy', retryAfterMs: 86_400_000 } })
    expect(outcome.ok || outcome.fault.message.length).toBe(16_384)
  })

  it.each([-5, NaN, Infinity, '7', 0.5])(
    'keeps no token count of %s, and the metrics still work',
    async (tokensOut) => {
      const bus = bound((() => ({ ok: true, value: { data: 1, usage: { tokensIn: 3, tokensOut } } })) as never)
      const outcome = await bus.call('x.y', [1, 0], {}, ME)
      expect(outcome).toEqual({ ok: true, value: { data: 1, usage: { tokensIn: 3 } } })
      expect((await bus.metrics()).text).toContain('hearthbus_llm_tokens_generated_total')
    },
  )

  it('is an internal error if it only resembles a promise', async () => {
    const thenable = new Proxy(
      {},
      {
        get: () => {
          throw new Error('not today')
        },
      },
    )
    const bus = bound((() => thenable) as unknown as UnaryHandler)
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject(MISTAKE)
    expect(slots(bus)).toBe(0)
  })

  it('with a fault counts as begun, unless it says that it did nothing', async () => {
    const fault = { kind: 'offline', message: 'away' } as const
    expect(await bound(async () => ({ ok: false, fault })).call('x.y', [1, 0], {}, ME)).toEqual({
      ok: false,
      fault: { ...fault, begun: true },
    })
    const passedOn: Outcome = { ok: false, fault: { ...fault, begun: false } }
    // What a handler heard from another capability is no word about itself.
    expect(await bound(async () => passedOn).call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { begun: true } })
    const untouched: Outcome = { ok: false, fault: { ...fault, untouched: true } }
    expect(await bound(async () => untouched).call('x.y', [1, 0], {}, ME)).toEqual({
      ok: false,
      fault: { ...fault, begun: false },
    })
  })
})

describe('stream of a handler', () => {
  async function streamed(handle: unknown, clock = manualClock()): Promise<readonly [Outcome, number]> {
    const bus = node('a', { clock })
    const stream = handle as Parameters<typeof streaming>[1]
    bus.registerCapability(streaming({ name: 'x.y', maxConcurrent: 1 }, stream))
    const outcome = await bus.call('x.y', [1, 0], {}, ME)
    return [outcome, slots(bus)]
  }

  it.each<[string, unknown]>([
    ['is undefined', () => undefined],
    ['is null', () => null],
    [
      'throws at once',
      () => {
        throw new Error('boom')
      },
    ],
    [
      'ends without an outcome',
      async function* () {
        yield { event: 'token', data: 1 }
      },
    ],
    ['ends with null', () => ({ next: async () => ({ done: true, value: null }) })],
    [
      'is an object with a broken next',
      () => ({
        next: () => {
          throw new Error('boom')
        },
      }),
    ],
  ])('is an internal error if it %s', async (_, handle) => {
    expect(await streamed(handle)).toMatchObject([MISTAKE, 0])
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a text', 'frame'],
    ['a frame without an event', { data: 1 }],
    ['a frame without data', { event: 'token' }],
    ['an event that is not a text', { event: 5, data: 1 }],
    ['data that JSON cannot say', { event: 'token', data: 5n }],
    ['data that contain themselves', { event: 'token', data: cyclic() }],
    ['data that are a function', { event: 'token', data: () => 1 }],
  ])('fails and is closed if it yields %s as a frame', async (_, frame) => {
    let closed = false
    const handle = async function* () {
      try {
        yield frame
        return reply(null)
      } finally {
        closed = true
      }
    }
    expect(await streamed(handle)).toMatchObject([{ ok: false, fault: { kind: 'failed', begun: true } }, 0])
    await settled()
    expect(closed).toBe(true)
  })

  it('may be a synchronous generator', async () => {
    const bus = node('a')
    const handle = function* (): Generator<StreamFrame, Outcome, void> {
      yield { event: 'token', data: 1 }
      return reply('done')
    }
    bus.registerCapability(streaming({ name: 'x.y' }, handle as unknown as Parameters<typeof streaming>[1]))
    const stream = bus.stream('x.y', [1, 0], {}, ME)
    expect(await collect(stream)).toEqual([{ event: 'token', data: 1 }])
    expect(await stream.outcome).toMatchObject(reply('done'))
  })

  it('that never waits blocks neither its deadline nor other calls', async () => {
    const bus = node('a', { clock: systemClock })
    let ended = false
    bus.registerCapability(
      streaming({ name: 'x.y', timeoutSeconds: 1 }, async function* () {
        try {
          for (let data = 0; ; data++) yield { event: 'token', data }
        } finally {
          ended = true
        }
      }),
    )
    bus.registerCapability(answering({ name: 'x.other' }, async () => reply('me, too')))
    const leaving = new AbortController()
    let isOver = false
    const endless = bus.call('x.y', [1, 0], {}, { ...ME, signal: leaving.signal })
    void endless.finally(() => (isOver = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(await bus.call('x.other', [1, 0], {}, ME)).toEqual(reply('me, too'))
    expect(isOver).toBe(false)
    leaving.abort()
    expect(await endless).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 20 })).toMatchObject({ fault: { kind: 'timed-out' } })
    expect(ended).toBe(true)
    bus.close()
  })
})

describe('time limit of a call', () => {
  function counting(facts: Partial<Offer> = {}): {
    bus: CapabilityBus
    ran: Call[]
    clock: ReturnType<typeof manualClock>
  } {
    const clock = manualClock()
    const ran: Call[] = []
    const bus = node('a', { clock })
    bus.registerCapability(
      answering({ name: 'x.y', effect: 'writes', idempotent: false, ...facts }, async (call) => {
        ran.push(call)
        return reply(null)
      }),
    )
    return { bus, ran, clock }
  }

  it.each<[string, unknown, string]>([
    ['is not a number', NaN, 'invalid-arguments'],
    ['is a text', '1000', 'invalid-arguments'],
    ['is null', null, 'invalid-arguments'],
    ['is an object', {}, 'invalid-arguments'],
    ['is a bigint', 1_000n, 'invalid-arguments'],
    ['is -0', -0, 'timed-out'],
    ['is negative', -1, 'timed-out'],
    ['is 0', 0, 'timed-out'],
    ['is shorter than the wire format can express', 0.0001, 'timed-out'],
    ['is -Infinity', -Infinity, 'timed-out'],
  ])('is refused and recorded, and no handler runs, if it %s', async (_, given, kind) => {
    const { bus, ran } = counting()
    const timeoutMs = given as number
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs })).toMatchObject({ fault: { kind, begun: false } })
    expect(await bus.stream('x.y', [1, 0], {}, { ...ME, timeoutMs }).outcome).toMatchObject({ fault: { kind } })
    expect([ran.length, bus.recentTraces().length]).toEqual([0, 2])
  })

  it('is at most the limit of the contract', async () => {
    for (const timeoutMs of [1, 31_000, Infinity, undefined]) {
      const { bus, ran, clock } = counting({ timeoutSeconds: 30 })
      await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs })
      expect(ran[0]?.deadlineMs).toBe(clock.monotonic() + Math.min(timeoutMs ?? Infinity, 30_000))
    }
  })

  it('that has passed on arrival from another node is refused', async () => {
    const { bus, ran, clock } = counting({ trustRequired: 'member' })
    clock.advance(1_000)
    const caller = { kind: 'peer', id: 'p', level: 'trusted' } as const
    const base = { capability: 'x.y', versionReq: [1, 0], body: {}, caller, channel: 'mesh', traceId: 't' } as const
    const rest = { isStream: false, hopBudget: 0, rehearsal: false, heldLocks: [] } as const
    for (const deadlineMs of [NaN, clock.monotonic() - 5, clock.monotonic()])
      expect(await bus.serve({ ...base, ...rest, deadlineMs }).outcome).toMatchObject({
        ok: false,
        fault: { begun: false },
      })
    expect(ran).toEqual([])
    expect(await bus.serve({ ...base, ...rest, deadlineMs: clock.monotonic() + 1 }).outcome).toMatchObject({ ok: true })
  })

  it('that has passed before its timer fired runs no handler', async () => {
    const clock = manualClock()
    const ran: Call[] = []
    const bus = node('a', {
      clock,
      admit: (call, _, proceed) => {
        // Nobody ticks: the timer behind the wheel is late.
        clock.advance(50)
        return proceed(call)
      },
    })
    bus.registerCapability(answering({ name: 'x.y', effect: 'writes' }, async (call) => (ran.push(call), reply(1))))
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 50 })).toMatchObject({
      fault: { kind: 'timed-out', begun: false, message: expect.stringContaining('Nothing was done') },
    })
    expect(ran).toEqual([])
  })

  it('that passes in the queue runs no handler, even if the slot is freed before the timer fires', async () => {
    const clock = manualClock()
    const finish: (() => void)[] = []
    const bus = node('a', { clock })
    bus.registerCapability(
      answering(
        { name: 'x.y', effect: 'writes', maxConcurrent: 1 },
        () => new Promise((resolve) => finish.push(() => resolve(reply(1)))),
      ),
    )
    const first = bus.call('x.y', [1, 0], {}, ME)
    const second = bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 100 })
    await settled()
    clock.advance(100)
    finish[0]?.()
    await first
    expect(await second).toMatchObject({ fault: { kind: 'timed-out', begun: false } })
    expect([finish.length, slots(bus)]).toEqual([1, 0])
  })
})
