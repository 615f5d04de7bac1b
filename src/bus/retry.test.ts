import { describe, expect, it } from 'vitest'
import { answering, echo, introduce, ME, node, offered, reply, settled } from '../../test/bus-village.ts'
import type { NodeOptions } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { FaultKind } from '../core/fault.ts'
import type { CapabilityBus } from './bus.ts'
import type { Call, Outcome } from './call.ts'
import type { Offer, UnaryHandler } from './capability.ts'
import type { RemoteProviderClient } from './peer.ts'
import { describeOwnCapability } from './peer.ts'
import { isSafeToRetry, RetryBudget } from './call-dispatcher.ts'

/** As a transport gives it: `busy` and `offline` come from whoever stands before the handler. */
function fault(kind: FaultKind, facts = {}): Outcome {
  const isBefore = kind === 'busy' || kind === 'offline'
  return { ok: false, fault: { kind, message: kind, ...(isBefore ? { begun: false } : {}), ...facts } }
}

/** A caller and peers whose answers the test decides, in the order of the attempts. */
function scripted(answers: readonly Outcome[], facts: Partial<Offer> = {}, options: NodeOptions = {}) {
  const clock = manualClock()
  const called: string[] = []
  const script = [...answers]
  const remote: RemoteProviderClient = {
    call: (entry) => {
      called.push(entry.nodeId)
      return Promise.resolve(script.shift() ?? reply('at last'))
    },
    stream: async (entry, _, emit) => {
      called.push(entry.nodeId)
      const answer = script.shift() ?? reply('at last')
      if (!answer.ok && answer.fault.details?.['after'] === 'a frame') await emit({ event: 'token', data: 1 })
      return answer
    },
  }
  const bus = node('a', { clock, remote, ...options })
  const meet = (...nodeIds: readonly string[]): void => {
    for (const nodeId of nodeIds) {
      const capabilities = [describeOwnCapability(offered({ name: 'x.y', ...facts }))]
      bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
  }
  const pass = async (ms: number): Promise<void> => {
    await settled()
    clock.advance(ms)
    bus.tick()
    await settled()
  }
  return { bus, called, meet, pass, clock }
}

function ask(bus: CapabilityBus): Promise<Outcome> {
  return bus.call('x.y', [1, 0], {}, ME)
}

describe('retry of a call', () => {
  it.each<[FaultKind, boolean, boolean]>([
    ['busy', true, false],
    ['offline', true, false],
    ['timed-out', true, false],
    ['internal', true, false],
    ['failed', true, false],
    ['unknown-outcome', false, false],
    ['invalid-arguments', false, false],
    ['not-permitted', false, false],
    ['cancelled', false, false],
    ['conflict', false, false],
  ])('after %s is safe if the call is idempotent: %s, and if not: %s', (kind, idempotent, other) => {
    const after = { kind, message: '' }
    expect(isSafeToRetry(after, offered({ name: 'x', idempotent: true }))).toBe(idempotent)
    expect(isSafeToRetry(after, offered({ name: 'x', idempotent: false }))).toBe(other)
  })

  it.each<[FaultKind, boolean]>([
    ['busy', true],
    ['offline', true],
    ['timed-out', true],
    ['failed', true],
    ['not-found', true],
    ['not-permitted', true],
    ['unsupported', true],
    ['unknown-outcome', false],
    ['invalid-arguments', false],
    ['approval-required', false],
    ['conflict', false],
    ['cancelled', false],
  ])('after %s from a provider that has not begun is safe for any call: %s', (kind, isSafe) => {
    for (const idempotent of [true, false])
      expect(isSafeToRetry({ kind, message: '', begun: false }, offered({ name: 'x', idempotent }))).toBe(isSafe)
  })

  it('after a handler has begun is safe for idempotent calls only', () => {
    for (const kind of ['busy', 'offline'] as const) {
      const after = { kind, message: '', begun: true }
      expect(isSafeToRetry(after, offered({ name: 'x', idempotent: true }))).toBe(true)
      expect(isSafeToRetry(after, offered({ name: 'x', idempotent: false }))).toBe(false)
    }
  })

  it('goes to another provider, at most twice', async () => {
    const { bus, called, meet } = scripted([fault('offline'), fault('internal'), fault('offline')])
    meet('b', 'c', 'd', 'e')
    // The second one may have begun.
    expect(await ask(bus)).toMatchObject(fault('offline', { begun: true }))
    expect(new Set(called).size).toBe(3)
    expect(bus.stats().retries).toBe(2)
    expect(bus.recentTraces()).toMatchObject([{ attempts: 3, result: 'offline' }])
  })

  it('that is not idempotent happens only if nothing was begun', async () => {
    const { bus, called, meet } = scripted([fault('offline'), fault('timed-out')], {
      idempotent: false,
      effect: 'writes',
    })
    meet('b', 'c', 'd')
    expect(await ask(bus)).toMatchObject(fault('timed-out'))
    expect(called).toHaveLength(2)
  })

  it('at the same node happens after a pause, if there is no other provider and nothing was begun', async () => {
    const { bus, called, meet, pass } = scripted([fault('offline')], { anywhere: false })
    meet('b')
    const answer = ask(bus)
    await settled()
    expect(called).toEqual(['b'])
    await pass(60)
    expect(await answer).toMatchObject(reply('at last'))
    expect(called).toEqual(['b', 'b'])
  })

  describe('after an unreachable node', () => {
    /** `b` has three instances of what `c` has one of; the first call goes to one of b's. */
    function unevenVillage(answers: readonly Outcome[], nodeIds: readonly string[]) {
      const made = scripted(answers)
      for (const nodeId of nodeIds) {
        const models = nodeId === 'b' ? ['one', 'two', 'three'] : ['one']
        const capabilities = models.map((model) => describeOwnCapability(offered({ name: 'x.y', params: { model } })))
        made.bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
      }
      for (const { nodeId, latency } of made.bus.registry.named('x.y'))
        Object.assign(latency, { latencyMs: nodeId === 'b' ? 1 : 1_000, atMs: 0, answers: 100 })
      return made
    }

    it('goes to another node, even if the first node has more instances', async () => {
      const { bus, called } = unevenVillage([fault('offline')], ['c', 'b'])
      expect(await ask(bus)).toMatchObject(reply('at last'))
      expect(called).toEqual(['b', 'c'])
    })

    it('goes to the other providers of the node when there is no other node', async () => {
      const { bus, called } = unevenVillage([fault('offline'), fault('offline')], ['b'])
      expect(await ask(bus)).toMatchObject(reply('at last'))
      expect([called, bus.recentTraces(1)[0]?.attempts]).toEqual([['b', 'b', 'b'], 3])
    })

    it('may go to another provider of a node that was reached and failed', async () => {
      const { bus, called } = unevenVillage([fault('internal')], ['c', 'b'])
      expect(await ask(bus)).toMatchObject(reply('at last'))
      expect(called).toEqual(['b', 'b'])
    })
  })

  it('waits as long as the provider requested', async () => {
    const { bus, called, meet, pass } = scripted([fault('busy', { retryAfterMs: 800 })])
    meet('b')
    const answer = ask(bus)
    await pass(799)
    expect(called).toEqual(['b'])
    await pass(20)
    expect(await answer).toMatchObject(reply('at last'))
  })

  it('does not happen if the wait would exceed the deadline', async () => {
    const { bus, called, meet } = scripted([fault('busy', { retryAfterMs: 20_000 })], { timeoutSeconds: 5 })
    meet('b')
    expect(await ask(bus)).toMatchObject(fault('busy'))
    expect(called).toEqual(['b'])
  })

  it('of a capability bound to its node never goes to another node', async () => {
    const { bus, called, meet } = scripted([fault('internal')], { anywhere: false })
    meet('b', 'c')
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, node: 'b' })).toMatchObject(fault('internal'))
    expect(called).toHaveLength(1)
  })

  it('of a stream happens only before its first frame', async () => {
    const stream = { streamSchema: {} }
    const early = scripted([fault('offline')], stream)
    early.meet('b', 'c')
    expect(await early.bus.stream('x.y', [1, 0], {}, ME).outcome).toMatchObject(reply('at last'))
    const late = scripted([fault('offline', { details: { after: 'a frame' } })], stream)
    late.meet('b', 'c')
    const frames = late.bus.stream('x.y', [1, 0], {}, ME)
    expect(await frames.next()).toMatchObject({ value: { data: 1 } })
    expect(await frames.outcome).toMatchObject({ fault: { kind: 'offline' } })
    expect(late.called).toHaveLength(1)
  })

  it('does not happen when the retry budget is used up', async () => {
    const { bus, meet } = scripted(Array.from({ length: 1_000 }, () => fault('internal')))
    for (let round = 0; round < 200; round++) {
      // Fresh peers: nobody is in quarantine yet, only the budget stands in the way.
      for (const nodeId of ['b', 'c', 'd']) bus.onPeerRemoved(nodeId)
      meet('b', 'c', 'd')
      await ask(bus)
    }
    // 200 calls × 20 % + the reserve of 10.
    expect(bus.stats().retries).toBe(50)
  })
})

describe('retry budget', () => {
  it('is a fifth of the calls plus a reserve that refills', () => {
    const budget = new RetryBudget()
    let allowed = 0
    while (budget.withdraw(0)) allowed++
    expect(allowed).toBe(10)
    for (let call = 0; call < 10; call++) budget.deposit()
    expect([budget.withdraw(0), budget.withdraw(0), budget.withdraw(0)]).toEqual([true, true, false])
    expect([budget.withdraw(1_000), budget.withdraw(1_000)]).toEqual([true, false])
  })

  it('does not grow beyond a limit in quiet times', () => {
    const budget = new RetryBudget()
    for (let call = 0; call < 100_000; call++) budget.deposit()
    let allowed = 0
    while (budget.withdraw(0)) allowed++
    expect(allowed).toBe(100)
  })
})

describe('pause before a retry', () => {
  it('ends when the caller leaves, and no provider is asked again', async () => {
    const { bus, called, meet } = scripted([fault('busy', { retryAfterMs: 5_000 })])
    meet('b')
    const controller = new AbortController()
    const answer = bus.call('x.y', [1, 0], {}, { ...ME, signal: controller.signal })
    await settled()
    expect(called).toEqual(['b'])
    controller.abort()
    // No time passes: the pause does not have to end by itself.
    expect(await answer).toMatchObject({ ok: false, fault: { begun: false } })
    expect(called).toEqual(['b'])
  })

  it('leaves no running call behind', async () => {
    const { bus, called, meet, pass } = scripted([fault('busy', { retryAfterMs: 100 })])
    meet('b')
    const answer = ask(bus)
    await pass(2_000)
    expect(await answer).toMatchObject(reply('at last'))
    expect(called).toEqual(['b', 'b'])
    expect(bus.runningTraces()).toEqual([])
  })
})

describe('a node that is offline', () => {
  const away = { offline: fault('offline'), busy: fault('busy') }

  it('is not tried at another of its instances while another node is available', async () => {
    const called: string[] = []
    const remote: RemoteProviderClient = {
      call: (entry) => {
        called.push(entry.nodeId)
        return Promise.resolve(entry.nodeId === 'b' ? away.offline : reply('here'))
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    const bus = node('a', { remote, random: () => 0 })
    const model = (name: string): Offer => offered({ name: 'x.y', params: { model: name } })
    const announceModels = (nodeId: string, models: readonly string[]): void => {
      const capabilities = models.map((name) => describeOwnCapability(model(name)))
      bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    announceModels('b', ['one', 'two', 'three'])
    announceModels('c', ['one'])
    expect(await ask(bus)).toMatchObject(reply('here'))
    expect(called.filter((each) => each === 'b').length).toBeLessThanOrEqual(1)
  })

  it('is tried once at each of its instances when there is no other node', async () => {
    const called: string[] = []
    const remote: RemoteProviderClient = {
      call: (entry) => {
        called.push(entry.instanceId)
        return Promise.resolve(away.offline)
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    const bus = node('a', { remote, random: () => 0, config: { retries: 1 } })
    const capabilities = ['one', 'two'].map((model) =>
      describeOwnCapability(offered({ name: 'x.y', params: { model } })),
    )
    bus.onPeerUpdated({ nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'b', capabilities } })
    expect(await ask(bus)).toMatchObject({ ok: false, fault: { kind: 'offline' } })
    expect([called.length, new Set(called).size]).toEqual([2, 2])
  })

  it('is not tried again at an instance where the call may have begun', async () => {
    const called: string[] = []
    const remote: RemoteProviderClient = {
      call: (entry) => {
        called.push(entry.instanceId)
        return Promise.resolve(fault('offline', { begun: true }))
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    const bus = node('a', { remote, config: { retries: 5 } })
    const capabilities = ['one', 'two'].map((model) =>
      describeOwnCapability(offered({ name: 'x.y', params: { model } })),
    )
    bus.onPeerUpdated({ nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'b', capabilities } })
    expect(await ask(bus)).toMatchObject({ ok: false, fault: { kind: 'offline' } })
    expect([called.length, new Set(called).size]).toEqual([2, 2])
  })

  it('does not include other instances of this node when one reports an offline device', async () => {
    const called: string[] = []
    const remote: RemoteProviderClient = {
      call: (entry) => {
        called.push(entry.nodeId)
        return Promise.resolve(reply('elsewhere'))
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    const bus = node('a', { remote })
    for (const model of ['one', 'two'])
      bus.registerCapability(
        answering({ name: 'x.y', params: { model } }, async () => {
          called.push('a')
          return called.length === 1 ? away.offline : reply('here')
        }),
      )
    const capabilities = [describeOwnCapability(offered({ name: 'x.y', params: { model: 'three' } }))]
    bus.onPeerUpdated({ nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'b', capabilities } })
    for (const { nodeId, latency } of bus.registry.named('x.y'))
      Object.assign(latency, { latencyMs: nodeId === 'a' ? 1 : 1_000, atMs: 0, answers: 100 })
    expect(await ask(bus)).toMatchObject(reply('here'))
    expect(called).toEqual(['a', 'a'])
  })
})

describe('hedging', () => {
  interface Held {
    readonly call: Call
    readonly nodeId: string
    readonly finish: (outcome: Outcome) => void
  }

  async function slowVillage(hedge: boolean): Promise<{
    bus: CapabilityBus
    held: Held[]
    meet: (...nodeIds: readonly string[]) => void
    pass: (ms: number) => Promise<void>
    clock: ReturnType<typeof manualClock>
  }> {
    const held: Held[] = []
    let isSlow = false
    const remote: RemoteProviderClient = {
      call: (entry, call) =>
        isSlow
          ? new Promise((finish) => held.push({ call, nodeId: entry.nodeId, finish }))
          : Promise.resolve(reply('quick')),
      stream: () => Promise.reject(new Error('not here')),
    }
    const { bus, meet, pass, clock } = scripted([], {}, { remote, config: { hedge } })
    meet('b', 'c')
    for (let call = 0; call < 80; call++) await ask(bus)
    isSlow = true
    return { bus, held, meet, pass, clock }
  }

  it('calls a second provider when the first is unusually slow, and returns the first success', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    expect(held.map(({ nodeId }) => nodeId).toSorted()).toEqual(['b', 'c'])
    held[1]?.finish(reply('second'))
    expect(await answer).toMatchObject(reply('second'))
    expect(held[0]?.call.signal.aborted).toBe(true)
    expect(held[1]?.call.signal.aborted).toBe(false)
    expect(bus.stats().inFlight).toBe(1)
    held[0]?.finish(fault('cancelled'))
    await settled()
    expect(bus.stats()).toMatchObject({ inFlight: 0, hedges: 1 })
    expect(bus.recentTraces(1)).toMatchObject([{ toNode: held[1]?.nodeId, attempts: 2 }])
  })

  it('is not needed when the first provider fails early: the call is retried', async () => {
    const { bus, held } = await slowVillage(true)
    const answer = ask(bus)
    await settled()
    held[0]?.finish(fault('offline'))
    await settled()
    expect(held.map(({ nodeId }) => nodeId).toSorted()).toEqual(['b', 'c'])
    held[1]?.finish(reply('elsewhere'))
    expect(await answer).toMatchObject(reply('elsewhere'))
    expect(bus.stats()).toMatchObject({ inFlight: 0, hedges: 0, retries: 1 })
  })

  it('is followed by a retry at a third provider when both fail', async () => {
    const { bus, held, meet, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    meet('d')
    for (const { finish } of held) finish(fault('internal'))
    await settled()
    expect(held.map(({ nodeId }) => nodeId).toSorted()).toEqual(['b', 'c', 'd'])
    held[2]?.finish(reply('third'))
    expect(await answer).toMatchObject(reply('third'))
    expect(bus.stats()).toMatchObject({ inFlight: 0, hedges: 1, retries: 1 })
  })

  it('is followed by no retry at either provider when there is no third one', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    for (const { finish } of held) finish(fault('internal'))
    expect(await answer).toMatchObject(fault('internal'))
    expect(held.map(({ nodeId }) => nodeId).toSorted()).toEqual(['b', 'c'])
    expect(bus.stats()).toMatchObject({ inFlight: 0, hedges: 1, retries: 0 })
  })

  it('waits for the other provider when the faster answer is a failure', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    held[1]?.finish(fault('invalid-arguments'))
    await settled()
    held[0]?.finish(reply('first after all'))
    expect(await answer).toMatchObject(reply('first after all'))
    expect(bus.stats().inFlight).toBe(0)
    expect(bus.recentTraces(1)).toMatchObject([{ toNode: held[0]?.nodeId, attempts: 2 }])
  })

  it.each<[string, Partial<Offer>, number]>([
    ['is not idempotent', { idempotent: false }, 80],
    ['was called seldom', {}, 10],
  ])('calls no second provider when the capability %s', async (_, facts, calls) => {
    const held: string[] = []
    let isSlow = false
    const remote: RemoteProviderClient = {
      call: (entry) => {
        if (!isSlow) return Promise.resolve(reply('quick'))
        held.push(entry.nodeId)
        return new Promise(() => undefined)
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    const { bus, meet, pass } = scripted([], facts, { remote, config: { hedge: true } })
    meet('b')
    for (let call = 0; call < calls; call++) await ask(bus)
    isSlow = true
    const answer = ask(bus)
    meet('c')
    await pass(10_000)
    expect([held, bus.stats().hedges]).toEqual([['b'], 0])
    bus.close()
    await pass(200)
    expect((await answer).ok).toBe(false)
  })

  it('calls no other instance of the node if the capability is bound to its node', async () => {
    const called: string[] = []
    let isSlow = false
    const remote: RemoteProviderClient = {
      call: (entry) => {
        if (!isSlow) return Promise.resolve(reply('quick'))
        called.push(entry.instanceId)
        return new Promise(() => undefined)
      },
      stream: () => Promise.reject(new Error('not here')),
    }
    for (const [anywhere, expected] of [
      [true, 2],
      [false, 1],
    ] as const) {
      isSlow = false
      called.length = 0
      const { bus, pass } = scripted([], {}, { remote, config: { hedge: true } })
      const capabilities = ['one', 'two'].map((model) =>
        describeOwnCapability(offered({ name: 'x.y', anywhere, params: { model } })),
      )
      bus.onPeerUpdated({ nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'b', capabilities } })
      for (let call = 0; call < 80; call++) await ask(bus)
      isSlow = true
      const answer = ask(bus)
      await pass(10)
      expect([anywhere, called.length, bus.stats().hedges]).toEqual([anywhere, expected, expected - 1])
      bus.close()
      await pass(200)
      expect((await answer).ok).toBe(false)
    }
  })

  it('calls no second provider for a caller that left before the hedging delay', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const controller = new AbortController()
    const answer = bus.call('x.y', [1, 0], {}, { ...ME, signal: controller.signal })
    await pass(1)
    controller.abort()
    await pass(200)
    expect(await answer).toMatchObject({ fault: { kind: 'cancelled' } })
    expect([held.length, bus.stats().hedges]).toEqual([1, 0])
  })

  it('frees each slot once when both providers answer in the same turn', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    for (const { finish } of held) finish(reply('both'))
    expect(await answer).toMatchObject(reply('both'))
    await pass(100)
    await pass(5_000)
    expect(bus.registry.named('x.y').map(({ inFlight }) => inFlight)).toEqual([0, 0])
  })

  it('ends both calls when the caller leaves', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const controller = new AbortController()
    const answer = bus.call('x.y', [1, 0], {}, { ...ME, signal: controller.signal })
    await pass(10)
    controller.abort()
    expect(held.map(({ call }) => call.signal.aborted)).toEqual([true, true])
    await pass(100)
    expect(await answer).toMatchObject({ fault: { kind: 'cancelled' } })
    for (const { finish } of held) finish(reply('late'))
    await settled()
    expect(bus.stats().inFlight).toBe(0)
  })

  it('frees the slot of the slower provider even if it never ends', async () => {
    const { bus, held, pass } = await slowVillage(true)
    const answer = ask(bus)
    await pass(10)
    held[1]?.finish(reply('second'))
    await answer
    await pass(100)
    await pass(5_000)
    expect(bus.stats().inFlight).toBe(0)
  })

  it('ends the probe of the slower provider, so that the next call is a probe again', async () => {
    const { bus, held, meet, pass, clock } = await slowVillage(true)
    const entry = bus.registry.named('x.y').find(({ nodeId }) => nodeId === 'b')
    if (entry === undefined) throw new Error('b is not there')
    const failure = { outcome: fault('internal'), latencyMs: 1, isProbe: false, isCallersDoing: false } as const
    for (let count = 0; count < 5; count++) bus.health.record(entry, { ...failure, nowMs: clock.monotonic() })
    await pass(60_000)
    meet('b', 'c')
    const answer = ask(bus)
    await settled()
    expect([held[0]?.nodeId, entry.health.isProbing]).toEqual(['b', true])
    await pass(10)
    held[1]?.finish(reply('second'))
    expect(await answer).toMatchObject(reply('second'))
    expect([entry.health.isProbing, entry.health.isEjected()]).toEqual([false, true])
    expect(entry.health.isProbeDue(clock.monotonic())).toBe(true)
  })

  it("does not end another call's probe when its own slower attempt was not a probe", async () => {
    const { bus, held, pass } = await slowVillage(true)
    const lost = ask(bus)
    await pass(10)
    const [first, second] = held
    const entry = bus.registry.named('x.y').find(({ nodeId }) => nodeId === first?.nodeId)
    if (entry === undefined) throw new Error('the first provider is not there')
    entry.health.startProbe()
    second?.finish(reply('second'))
    expect(await lost).toMatchObject(reply('second'))
    expect(entry.health.isProbing).toBe(true)
  })

  it('is off by default', async () => {
    const { bus, held, pass } = await slowVillage(false)
    const answer = ask(bus)
    await pass(1_000)
    expect(held).toHaveLength(1)
    held[0]?.finish(reply('slow'))
    expect(await answer).toMatchObject(reply('slow'))
  })
})

describe('calling all providers', () => {
  it('returns the answer of every node, faults included, under one trace id', async () => {
    const buses = ['a', 'b', 'c'].map((nodeId) => node(nodeId))
    const say: UnaryHandler = (call) =>
      Promise.resolve(call.caller.kind === 'peer' ? reply('a guest') : reply('family'))
    for (const [index, bus] of buses.entries())
      bus.registerCapability(
        answering({ name: 'rag.query' }, index === 2 ? () => Promise.resolve(fault('failed')) : say),
      )
    introduce(...buses)
    const [caller] = buses
    const answers = (await caller?.callAll('rag.query', [1, 0], {}, ME)) ?? []
    expect(answers.toSorted((left, right) => left.nodeId.localeCompare(right.nodeId))).toMatchObject([
      { nodeId: 'a', outcome: reply('family') },
      { nodeId: 'b', outcome: reply('a guest') },
      { nodeId: 'c', outcome: fault('failed') },
    ])
    const traces = caller?.recentTraces() ?? []
    expect([traces.length, new Set(traces.map(({ traceId }) => traceId)).size]).toEqual([3, 1])
  })

  it('returns nothing for an unknown capability', async () => {
    expect(await node('a').callAll('no.such', undefined, {}, ME)).toEqual([])
  })

  it('calls only providers that serve the params', async () => {
    const bus = node('a')
    const matches = { corpus: 'equals' } as const
    bus.registerCapability(answering({ name: 'rag.query', params: { corpus: 'x' }, matches }, echo))
    expect(await bus.callAll('rag.query', [1, 0], { params: { corpus: 'y' } }, ME)).toEqual([])
  })
})
