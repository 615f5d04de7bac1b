import { describe, expect, it } from 'vitest'
import { answering, echo, introduce, ME, node, offered, reply, settled } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { Fault } from '../core/fault.ts'
import type { CapabilityBus } from './bus.ts'
import type { Outcome } from './call.ts'
import type { Offer } from './capability.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { describeOwnCapability } from './peer.ts'

function entryAt(bus: CapabilityBus, nodeId: string): CapabilityEntry {
  const entry = bus.registry.named('x.y').find((each) => each.nodeId === nodeId)
  if (entry === undefined) throw new Error(`${nodeId} does not offer it`)
  return entry
}

/** A node and peers whose every answer the test decides. */
function village(peers: Readonly<Record<string, (call: number) => Outcome>>, facts: Partial<Offer> = {}) {
  const clock = manualClock()
  const calledNodes: string[] = []
  const bus = node('a', {
    clock,
    remote: {
      call: (entry) => {
        calledNodes.push(entry.nodeId)
        return Promise.resolve(peers[entry.nodeId]?.(calledNodes.length) ?? reply(null))
      },
      stream: () => Promise.reject(new Error('not here')),
    },
  })
  for (const nodeId of Object.keys(peers)) {
    const capabilities = [describeOwnCapability(offered({ name: 'x.y', ...facts }))]
    bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
  }
  const pass = async (ms: number): Promise<void> => {
    await settled()
    clock.advance(ms)
    bus.tick()
    await settled()
  }
  return { bus, calledNodes, clock, pass }
}

function refused(kind: Fault['kind'], facts: Partial<Fault> = {}): Outcome {
  return { ok: false, fault: { kind, message: kind, begun: false, ...facts } }
}

describe('a busy provider on another node', () => {
  it('with a limit of two serves twelve simultaneous calls', async () => {
    const [a, b] = [node('a'), node('b')]
    let [running, most] = [0, 0]
    b.registerCapability(
      answering({ name: 'x.y', maxConcurrent: 2 }, async () => {
        most = Math.max(most, ++running)
        await settled()
        running--
        return reply(null)
      }),
    )
    introduce(a, b)
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => a.call('x.y', [1, 0], {}, ME)))
    expect([outcomes.filter(({ ok }) => ok).length, most]).toEqual([12, 2])
    expect([entryAt(a, 'b').inFlight, entryAt(a, 'b').waiting.size]).toEqual([0, 0])
  })

  it('that requested a pause is waited for, but not beyond the deadline', async () => {
    const { bus, calledNodes, pass } = village({ b: () => reply('served') })
    entryAt(bus, 'b').busyUntilMs = 500
    const answer = bus.call('x.y', [1, 0], {}, ME)
    await pass(499)
    expect(calledNodes).toEqual([])
    await pass(20)
    expect(await answer).toMatchObject(reply('served'))
    entryAt(bus, 'b').busyUntilMs = 5_000
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 1_000 })).toMatchObject({
      fault: { kind: 'busy', begun: false },
    })
    entryAt(bus, 'b').busyUntilMs = 30_000
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'busy' } })
    expect(calledNodes).toHaveLength(1)
  })

  it('that requested a pause is not waited for after the caller has cancelled', async () => {
    const { bus, calledNodes, pass } = village({ b: () => reply('served') })
    entryAt(bus, 'b').busyUntilMs = 500
    const leaving = new AbortController()
    const answer = bus.call('x.y', [1, 0], {}, { ...ME, signal: leaving.signal })
    await pass(100)
    leaving.abort()
    await pass(1_000)
    expect(await answer).toMatchObject({ fault: { kind: 'cancelled', begun: false } })
    expect(calledNodes).toEqual([])
  })

  it('that already let the call wait is not waited for again', async () => {
    const { bus, calledNodes, clock } = village({
      b: () => {
        clock.advance(10_000)
        return refused('busy', { retryAfterMs: 100 })
      },
    })
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'busy' } })
    expect(calledNodes).toHaveLength(1)
  })

  it('is waited for where the queue is shortest', async () => {
    const { bus } = village({ b: () => reply(1), c: () => reply(1) }, { maxConcurrent: 2 })
    for (const nodeId of ['b', 'c']) entryAt(bus, nodeId).inFlight = 2
    const open = Array.from({ length: 6 }, () => bus.call('x.y', [1, 0], {}, ME))
    await settled()
    expect(['b', 'c'].map((nodeId) => entryAt(bus, nodeId).waiting.size)).toEqual([3, 3])
    bus.close()
    expect((await Promise.all(open)).map((outcome) => (outcome.ok ? '' : outcome.fault.kind))).toEqual(
      open.map(() => 'cancelled'),
    )
  })
})

describe('queue of a provider', () => {
  it('lets callers take turns', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    const finish: (() => void)[] = []
    bus.registerCapability(
      answering(
        { name: 'x.y', maxConcurrent: 1 },
        () => new Promise((resolve) => finish.push(() => resolve(reply(1)))),
      ),
    )
    const order: string[] = []
    const ask = (id: string): void =>
      void bus
        .call('x.y', [1, 0], {}, { caller: { kind: 'principal', id, role: 'agent' }, channel: 'api' })
        .then(() => order.push(id))
    for (const id of ['loop', 'loop', 'loop', 'loop', 'owner']) ask(id)
    for (let turn = 0; turn < 5; turn++) {
      await settled()
      finish[turn]?.()
    }
    await settled()
    expect(order).toEqual(['loop', 'loop', 'owner', 'loop', 'loop'])
  })

  it('follows a lowered and a raised limit', async () => {
    const bus = node('a')
    const finish: (() => void)[] = []
    const offerLimit = (maxConcurrent: number): void => {
      bus.registerCapability(
        answering({ name: 'x.y', maxConcurrent }, () => new Promise((resolve) => finish.push(() => resolve(reply(1))))),
      )
    }
    offerLimit(3)
    const calls = Array.from({ length: 8 }, () => bus.call('x.y', [1, 0], {}, ME))
    await settled()
    expect(finish).toHaveLength(3)
    offerLimit(1)
    finish[0]?.()
    finish[1]?.()
    await settled()
    // One runs still, which is all that the new limit allows.
    expect([entryAt(bus, 'a').inFlight, finish.length]).toEqual([1, 3])
    finish[2]?.()
    await settled()
    expect([entryAt(bus, 'a').inFlight, finish.length]).toEqual([1, 4])
    offerLimit(4)
    await settled()
    expect([entryAt(bus, 'a').inFlight, finish.length]).toEqual([4, 7])
    for (let at = 3; at < 8; at++) {
      finish[at]?.()
      await settled()
    }
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true)
  })

  it('frees the slot when the contract of the waiting call has changed', async () => {
    const bus = node('a')
    const finish: (() => void)[] = []
    const handle = (): Promise<Outcome> => new Promise((resolve) => finish.push(() => resolve(reply(1))))
    bus.registerCapability(answering({ name: 'x.y', maxConcurrent: 1 }, handle))
    const first = bus.call('x.y', [1, 0], {}, ME)
    const second = bus.call('x.y', [1, 0], {}, ME)
    await settled()
    // What waits was judged by another contract.
    bus.registerCapability(answering({ name: 'x.y', maxConcurrent: 1, effect: 'sensitive' }, handle))
    finish[0]?.()
    await first
    expect(await second).toMatchObject({ fault: { kind: 'offline', details: { reason: 'changed' } } })
    expect([entryAt(bus, 'a').inFlight, finish.length]).toEqual([0, 1])
  })
})

describe('a node that refuses a call', () => {
  it.each(['not-found', 'not-permitted', 'unsupported'] as const)(
    'with %s is tried once, and then other nodes are used',
    async (kind) => {
      const { bus, calledNodes } = village({ b: () => refused(kind), c: () => reply('served') }, { idempotent: false })
      const outcomes = []
      for (let call = 0; call < 30; call++) outcomes.push(await bus.call('x.y', [1, 0], {}, ME))
      expect(outcomes.every(({ ok }) => ok)).toBe(true)
      expect(calledNodes.filter((nodeId) => nodeId === 'b').length).toBeLessThan(3)
      expect(entryAt(bus, 'b').health.samples).toBe(0)
    },
  )

  it('for certain params is still called for others', async () => {
    const { bus, calledNodes } = village({
      b: () => refused('not-found', { details: { reason: 'params' } }),
      c: () => reply('served'),
    })
    const ask = (model: string): Promise<Outcome> => bus.call('x.y', [1, 0], { params: { model } }, ME)
    entryAt(bus, 'c').busyUntilMs = 0
    for (let call = 0; call < 40; call++) expect(await ask('one')).toMatchObject(reply('served'))
    expect(calledNodes.filter((nodeId) => nodeId === 'b')).toHaveLength(1)
    for (let call = 0; call < 40; call++) await ask('two')
    expect(calledNodes.filter((nodeId) => nodeId === 'b')).toHaveLength(2)
  })

  it('for certain params is called again after a minute, or at once if there is no other node', async () => {
    const { bus, calledNodes, clock } = village({ b: () => refused('not-found', { details: { reason: 'params' } }) })
    await bus.call('x.y', [1, 0], { params: { m: 1 } }, ME)
    await bus.call('x.y', [1, 0], { params: { m: 1 } }, ME)
    expect(calledNodes).toHaveLength(2)
    const again = village({ b: () => refused('not-found', { details: { reason: 'params' } }), c: () => reply(1) })
    for (let call = 0; call < 20; call++) await again.bus.call('x.y', [1, 0], { params: { m: 1 } }, ME)
    again.clock.advance(61_000)
    for (const nodeId of ['b', 'c']) entryAt(again.bus, nodeId).lastSeenMs = again.clock.monotonic()
    for (let call = 0; call < 20; call++) await again.bus.call('x.y', [1, 0], { params: { m: 1 } }, ME)
    expect(again.calledNodes.filter((nodeId) => nodeId === 'b')).toHaveLength(2)
    clock.advance(0)
  })

  it('uses up no retry budget', async () => {
    const { bus, calledNodes } = village({ b: () => refused('not-permitted'), c: () => reply('served') })
    const record = (): void => {
      const capabilities = [describeOwnCapability(offered({ name: 'x.y' }))]
      bus.onPeerRemoved('b')
      bus.onPeerUpdated({ nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'b', capabilities } })
    }
    for (let call = 0; call < 100; call++) {
      // A newcomer each time, whom nobody knows to refuse.
      record()
      Object.assign(entryAt(bus, 'c').latency, { latencyMs: 50, answers: 100 })
      expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject(reply('served'))
    }
    expect(calledNodes.filter((nodeId) => nodeId === 'b').length).toBeGreaterThan(60)
  })

  it('for certain params is still called if all nodes refuse them', async () => {
    const nobody = refused('not-found', { details: { reason: 'params' } })
    const { bus, calledNodes } = village({ b: () => nobody, c: () => nobody })
    for (let call = 0; call < 3; call++)
      expect(await bus.call('x.y', [1, 0], { params: { m: 1 } }, ME)).toMatchObject({ fault: { kind: 'not-found' } })
    expect(calledNodes).toHaveLength(6)
  })

  it('has at most 64 refused params remembered', async () => {
    const { bus } = village({ b: () => refused('not-found', { details: { reason: 'params' } }), c: () => reply(1) })
    for (let model = 0; model < 200; model++) {
      entryAt(bus, 'c').inFlight = 7
      await bus.call('x.y', [1, 0], { params: { model } }, ME)
    }
    expect(entryAt(bus, 'b').refusedParams?.size).toBe(64)
  })

  it('keeps recently refused params in memory and drops the oldest', async () => {
    const { bus } = village({ b: () => refused('not-found', { details: { reason: 'params' } }) })
    for (const model of [...Array.from({ length: 64 }, (_, n) => n), 0, 64])
      await bus.call('x.y', [1, 0], { params: { model } }, ME)
    const known = [...(entryAt(bus, 'b').refusedParams?.keys() ?? [])]
    expect([known.includes('{"model":0}'), known.includes('{"model":1}'), known.length]).toEqual([true, false, 64])
  })

  it('after its handler has begun ends the call without trying another node', async () => {
    for (const begun of [true, undefined]) {
      const answer: Outcome = {
        ok: false,
        fault: { kind: 'not-found', message: 'no such page', ...(begun === undefined ? {} : { begun }) },
      }
      const { bus, calledNodes } = village({ b: () => answer, c: () => answer })
      expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'not-found' } })
      expect(calledNodes).toHaveLength(1)
    }
  })

  it('like all others ends the call after nine attempts, without using retry budget', async () => {
    const nodes = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, () => refused('not-permitted')]))
    const { bus, calledNodes } = village(nodes)
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'not-permitted', begun: false } })
    expect(calledNodes).toHaveLength(9)
    expect(new Set(calledNodes).size).toBe(9)
    const waiting = bus.call('x.y', [1, 0], {}, { ...ME, node: 'n3' })
    expect(await waiting).toMatchObject({ fault: { kind: 'not-permitted' } })
    expect(calledNodes).toHaveLength(10)
  })
})

describe('a change whose handler has begun', () => {
  it.each(['busy', 'offline'] as const)('is not retried after %s, on this node or another', async (kind) => {
    let runs = 0
    const buses = ['a', 'b', 'c'].map((nodeId) => node(nodeId))
    for (const bus of buses)
      bus.registerCapability(
        answering({ name: 'x.y', effect: 'writes', idempotent: false }, async () => {
          runs++
          return { ok: false, fault: { kind, message: 'later' } }
        }),
      )
    introduce(...buses)
    const [a] = buses
    for (const nodeId of ['a', 'b', undefined])
      expect(await a?.call('x.y', [1, 0], {}, { ...ME, node: nodeId })).toMatchObject({ fault: { kind, begun: true } })
    expect(runs).toBe(3)
  })

  it('is not retried at another instance bound to the node', async () => {
    const ran: number[] = []
    const bus = node('a')
    for (const n of [1, 2])
      bus.registerCapability(
        answering({ name: 'x.y', anywhere: false, idempotent: true, params: { n } }, async () => {
          ran.push(n)
          return { ok: false, fault: { kind: 'failed', message: 'no' } }
        }),
      )
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { kind: 'failed' } })
    expect(ran).toHaveLength(1)
  })

  it('is retried elsewhere if its handler says that it did nothing', async () => {
    const ran: string[] = []
    const buses = ['a', 'b', 'c'].map((nodeId) => node(nodeId))
    for (const bus of buses.slice(1))
      bus.registerCapability(
        answering({ name: 'x.y', effect: 'writes', idempotent: false }, async () => {
          ran.push(bus.nodeId)
          if (ran.length > 1) return reply('done')
          return { ok: false, fault: { kind: 'busy', message: 'later', untouched: true } }
        }),
      )
    introduce(...buses)
    expect(await buses[0]?.call('x.y', [1, 0], {}, ME)).toMatchObject(reply('done'))
    expect(new Set(ran)).toEqual(new Set(['b', 'c']))
  })
})

describe('quarantine of a provider', () => {
  function ejected(): ReturnType<typeof village> {
    const made = village({ b: () => reply('b'), c: () => reply('c') })
    const outcome = { ok: false, fault: { kind: 'internal', message: 'no' } } as const
    for (let count = 0; count < 5; count++)
      made.bus.health.record(entryAt(made.bus, 'b'), {
        outcome,
        latencyMs: 1,
        nowMs: 0,
        isProbe: false,
        isCallersDoing: false,
      })
    expect(entryAt(made.bus, 'b').health.isEjected()).toBe(true)
    return made
  }

  it('ends when it became the only provider, because others left or fell silent', async () => {
    const left = ejected()
    left.bus.onPeerRemoved('c')
    expect(await left.bus.call('x.y', [1, 0], {}, ME)).toMatchObject(reply('b'))
    const silent = ejected()
    silent.clock.advance(1_000)
    entryAt(silent.bus, 'c').lastSeenMs = -60_000
    expect(await silent.bus.call('x.y', [1, 0], {}, ME)).toMatchObject(reply('b'))
    expect(entryAt(silent.bus, 'b').health.isEjected()).toBe(false)
  })

  it('does not end while another provider is available', async () => {
    const { bus, calledNodes } = ejected()
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, node: 'b' })).toMatchObject({
      fault: { code: 'quarantined', begun: false },
    })
    for (let call = 0; call < 20; call++) await bus.call('x.y', [1, 0], {}, ME)
    expect(new Set(calledNodes)).toEqual(new Set(['c']))
    entryAt(bus, 'c').inFlight = 8
    const waits = bus.call('x.y', [1, 0], {}, ME)
    await settled()
    expect([entryAt(bus, 'c').waiting.size, entryAt(bus, 'b').health.isEjected()]).toEqual([1, true])
    bus.close()
    await waits
  })

  // Spec 2 § 5.7: the counter goes up when a provider is quarantined, and a probe that succeeds ends it.
  it('is counted when it begins, and not when it ends', async () => {
    let isBroken = true
    const { bus, clock } = village({ b: () => (isBroken ? refused('internal', { begun: true }) : reply('b')) })
    const [b, c] = ['b', 'c']
    const capabilities = [describeOwnCapability(offered({ name: 'x.y' }))]
    bus.onPeerUpdated({ nodeId: c, endpoint: undefined, manifest: { nodeId: c, capabilities } })
    for (let call = 0; call < 20; call++) await bus.call('x.y', [1, 0], {}, { ...ME, node: b })
    expect([entryAt(bus, b).health.isEjected(), bus.stats().quarantines]).toEqual([true, 1])
    isBroken = false
    clock.advance(60_000)
    for (const nodeId of [b, c]) entryAt(bus, nodeId).lastSeenMs = clock.monotonic()
    for (let call = 0; call < 3; call++) await bus.call('x.y', [1, 0], {}, { ...ME, node: b })
    expect([entryAt(bus, b).health.isEjected(), bus.stats().quarantines]).toEqual([false, 1])
  })

  it("is not applied when this node's own connection is the cause", async () => {
    const { bus } = village({
      b: () => refused('offline', { ownSide: true }),
      c: () => refused('offline', { ownSide: true }),
    })
    for (let call = 0; call < 60; call++) await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 20 })
    expect(['b', 'c'].map((nodeId) => entryAt(bus, nodeId).health.samples)).toEqual([0, 0])
    expect(bus.stats().quarantines).toBe(0)
  })

  it('is ended by one probe, which is released even if its call is cancelled', async () => {
    const { bus, clock, calledNodes } = ejected()
    clock.advance(60_000)
    for (const nodeId of ['b', 'c']) entryAt(bus, nodeId).lastSeenMs = clock.monotonic()
    const { health } = entryAt(bus, 'b')
    const controller = new AbortController()
    controller.abort()
    await bus.call('x.y', [1, 0], {}, { ...ME, signal: controller.signal })
    expect([health.isEjected(), health.isProbing]).toEqual([true, false])
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject(reply('b'))
    expect([health.isEjected(), health.isProbing, calledNodes.at(-1)]).toEqual([false, false, 'b'])
  })
})

describe('answer of a provider', () => {
  it('of another node counts as a sign of life', async () => {
    const { bus, clock } = village({ b: () => reply(1) })
    clock.advance(50_000)
    await bus.call('x.y', [1, 0], {}, ME)
    clock.advance(50_000)
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ ok: true })
    clock.advance(60_001)
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { details: { reason: 'stale' } } })
  })

  it('to a probe resets its latency estimate', () => {
    const { bus } = village({ b: () => reply(1), c: () => reply(1) })
    const entry = entryAt(bus, 'b')
    const ending = { latencyMs: 5, nowMs: 0, isCallersDoing: false }
    const outcome = { ok: false, fault: { kind: 'internal', message: 'no' } } as const
    for (let count = 0; count < 5; count++) bus.health.record(entry, { ...ending, outcome, isProbe: false })
    expect(bus.health.record(entry, { ...ending, outcome: reply(1), isProbe: true })).toBe('recovered')
    expect([entry.latency.answers, entry.latency.latencyMs]).toEqual([1, 5])
  })

  it('that is a failure is followed by a retry at another provider, also within a session', async () => {
    const { bus, calledNodes } = village({
      b: () => ({ ok: false, fault: { kind: 'internal', message: 'no' } }),
      c: () => reply('c'),
    })
    const session = { ...ME, sessionId: 's' }
    bus.router.sticky.bind('s', entryAt(bus, 'b'), 0)
    expect(await bus.call('x.y', [1, 0], {}, session)).toMatchObject(reply('c'))
    expect(calledNodes).toEqual(['b', 'c'])
  })
})

describe('a running call', () => {
  it('is listed as running until it has ended', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    let finish = (): void => undefined
    bus.registerCapability(
      answering({ name: 'x.hangs' }, () => new Promise((resolve) => (finish = () => resolve(reply(1))))),
    )
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const hanging = bus.call('x.hangs', [1, 0], {}, { ...ME, traceId: 'T' })
    await settled()
    clock.advance(250)
    expect(bus.runningTraces()).toMatchObject([
      { traceId: 'T', capability: 'x.hangs', result: 'running', ms: 250, toNode: 'a', attempts: 1, caller: 'tester' },
    ])
    await bus.call('x.y', [1, 0], {}, ME)
    expect(bus.recentTraces().map(({ capability }) => capability)).toEqual(['x.y'])
    finish()
    await hanging
    expect([bus.runningTraces(), bus.recentTraces().length]).toEqual([[], 2])
  })
})
