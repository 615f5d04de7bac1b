import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { answering, callOf, echo, introduce, ME, node, offered, reply, validating } from '../../test/bus-village.ts'
import type { OfferFacts } from '../../test/plain-offer.ts'
import type { CallPipeline } from './call-pipeline.ts'
import type { CapabilityBus } from './bus.ts'
import type { Offer } from './capability.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import type { PeerCapability, RemoteProviderClient } from './peer.ts'
import { describeOwnCapability } from './peer.ts'
import { defineTool } from './capability-definition.ts'

/** A node that asks peers whose announcements the test decides; who was asked, and as what a call was judged. */
function caller(options: { readonly remote?: RemoteProviderClient } = {}) {
  const calledNodes: string[] = []
  const assessedOffers: Offer[] = []
  const admit: CallPipeline = (call, offer, proceed) => {
    if (offer !== undefined) assessedOffers.push(offer)
    return validating(call, offer, proceed)
  }
  const remote: RemoteProviderClient = {
    call: (entry) => {
      calledNodes.push(entry.nodeId)
      return Promise.resolve(reply(entry.nodeId))
    },
    stream: () => Promise.reject(new Error('not here')),
  }
  const bus = node('a', { admit, remote: options.remote ?? remote })
  const meet = (nodeId: string, ...facts: readonly OfferFacts[]): void => {
    const capabilities = facts.map((each) => describeOwnCapability(offered(each)))
    bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
  }
  return { bus, calledNodes, assessedOffers, meet }
}

function effectOf(bus: CapabilityBus, name: string): string | undefined {
  return bus.offer(name)?.effect
}

describe('capability contract', () => {
  it('is chosen before the call is validated, and only its providers are asked', async () => {
    const { bus, calledNodes, assessedOffers, meet } = caller()
    const text = { type: 'object', properties: { value: { type: 'string' } } }
    const number = { type: 'object', properties: { value: { type: 'number' } } }
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'x.y', requestSchema: text })
    meet('m', { name: 'x.y', requestSchema: number })
    for (let call = 0; call < 30; call++) await bus.call('x.y', [1, 0], { value: 'v' }, ME)
    expect(new Set(calledNodes)).toEqual(new Set(['b', 'c']))
    expect(new Set(assessedOffers.map(({ requestSchema }) => requestSchema))).toEqual(new Set([text]))
    expect(await bus.call('x.y', [1, 0], { value: 1 }, ME)).toMatchObject({ fault: { kind: 'invalid-arguments' } })
  })

  it('differs by effect, time-out, trust, secrets, idempotence and node binding, but not by params or limits', () => {
    for (const other of [
      { effect: 'writes' },
      { timeoutSeconds: 1 },
      { trustRequired: 'anchor' },
      { secrets: ['pin'] },
      { idempotent: false },
      { anywhere: false },
    ] as const) {
      const { bus, meet } = caller()
      meet('b', { name: 'x.y' })
      meet('c', { name: 'x.y', ...other })
      expect([other, bus.registry.contracts('x.y').contracts.length]).toEqual([other, 2])
    }
    const { bus, meet } = caller()
    meet('b', { name: 'x.y', params: { model: 'one' }, maxConcurrent: 2 })
    meet('c', { name: 'x.y', params: { model: 'two' }, maxConcurrent: 9 })
    expect(bus.registry.contracts('x.y').contracts.length).toBe(1)
  })

  it('is never mixed with another in retries', async () => {
    const calledNodes: string[] = []
    const { bus, meet } = caller({
      remote: {
        call: (entry) => {
          calledNodes.push(entry.nodeId)
          return Promise.resolve({ ok: false, fault: { kind: 'offline', message: 'away', begun: false } })
        },
        stream: () => Promise.reject(new Error('not here')),
      },
    })
    for (const nodeId of ['b', 'c', 'd']) meet(nodeId, { name: 'x.y' })
    meet('m', { name: 'x.y', effect: 'writes' })
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, timeoutMs: 40 })).toMatchObject({ fault: { kind: 'offline' } })
    expect(calledNodes.includes('m')).toBe(false)
    expect(calledNodes.length).toBeGreaterThan(1)
  })

  it('of a session stays in use although another contract is listed first', async () => {
    const { bus, calledNodes, meet } = caller()
    meet('b', { name: 'x.y', effect: 'writes' })
    await bus.call('x.y', [1, 0], {}, { ...ME, sessionId: 's' })
    for (const nodeId of ['c', 'd']) meet(nodeId, { name: 'x.y' })
    await bus.call('x.y', [1, 0], {}, { ...ME, sessionId: 's' })
    expect(calledNodes).toEqual(['b', 'b'])
  })

  it('with an available provider is preferred to one without', async () => {
    const { bus, calledNodes, meet } = caller()
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'x.y' })
    meet('d', { name: 'x.y', timeoutSeconds: 1 })
    for (const entry of bus.registry.named('x.y')) if (entry.nodeId !== 'd') entry.lastSeenMs = -60_001
    await bus.call('x.y', [1, 0], {}, ME)
    expect(calledNodes).toEqual(['d'])
  })

  it('meant by a caller on another node is found by its schema hash', async () => {
    const bus = node('a')
    const text = { type: 'object', properties: { v: { type: 'string' } } }
    bus.registerCapability(answering({ name: 'x.y', requestSchema: text, params: { n: 1 } }, async () => reply('text')))
    bus.registerCapability(answering({ name: 'x.y', params: { n: 2 } }, async () => reply('any')))
    for (const { offer } of bus.registry.named('x.y')) {
      const { schemaHash } = describeOwnCapability(offer)
      const inbound = callOf('x.y', {
        caller: { kind: 'peer', id: 'p', level: 'trusted' },
        deadlineMs: 1_000,
        schemaHash,
      })
      expect(await bus.handleCall(inbound)).toMatchObject(reply(offer.params['n'] === 1 ? 'text' : 'any'))
    }
  })

  it('that changed during a call runs no handler of the new contract', async () => {
    let ran = 0
    const bus = node('a', {
      admit: (call, _, proceed) => {
        bus.registerCapability(answering({ name: 'x.y', effect: 'sensitive' }, count))
        return proceed(call)
      },
    })
    const count = async (): Promise<ReturnType<typeof reply>> => {
      ran++
      return reply(null)
    }
    bus.registerCapability(answering({ name: 'x.y' }, count))
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({
      fault: { kind: 'offline', details: { reason: 'changed' }, begun: false },
    })
    expect(ran).toBe(0)
  })

  it('that changed runs no handler of the new contract in a session either', async () => {
    let [ran, changes] = [0, false]
    const count = async (): Promise<ReturnType<typeof reply>> => {
      ran++
      return reply(null)
    }
    const bus = node('a', {
      admit: (call, _, proceed) => {
        if (changes) bus.registerCapability(answering({ name: 'x.y', effect: 'sensitive' }, count))
        return proceed(call)
      },
    })
    bus.registerCapability(answering({ name: 'x.y' }, count))
    const session = { ...ME, sessionId: 's' }
    expect(await bus.call('x.y', [1, 0], {}, session)).toMatchObject({ ok: true })
    changes = true
    expect(await bus.call('x.y', [1, 0], {}, session)).toMatchObject({ fault: { details: { reason: 'changed' } } })
    expect(ran).toBe(1)
  })

  it('of another node that changed during a call is not called under the old assessment', async () => {
    const calledNodes: string[] = []
    const bus = node('a', {
      admit: (call, _, proceed) => {
        meet('b', { effect: 'writes' })
        return proceed(call)
      },
      remote: {
        call: (entry) => {
          calledNodes.push(entry.nodeId)
          return Promise.resolve(reply(1))
        },
        stream: () => Promise.reject(new Error('not here')),
      },
    })
    const meet = (nodeId: string, facts: Partial<Offer>): void => {
      const capabilities = [describeOwnCapability(offered({ name: 'x.y', ...facts }))]
      bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    meet('b', {})
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ fault: { details: { reason: 'changed' } } })
    expect(calledNodes).toEqual([])
  })

  it('is split in two when its instances get different locks', () => {
    const bus = node('a')
    const facts = (n: number): OfferFacts => ({ name: 'x.y', params: { n }, matches: { n: 'equals' } })
    const lockOf = (n: number): unknown =>
      bus.router.resolve({ ...callOf('x.y'), body: { params: { n } } }, 0)?.offer.lock
    for (const n of [1, 2]) bus.registerCapability(answering(facts(n), echo))
    expect([lockOf(1), lockOf(2), bus.registry.contracts('x.y').contracts.length]).toEqual([undefined, undefined, 1])
    for (const n of [1, 2]) bus.registerCapability(answering({ ...facts(n), lock: `thing:${n}` }, echo))
    expect([lockOf(1), lockOf(2), bus.registry.contracts('x.y').contracts.length]).toEqual(['thing:1', 'thing:2', 2])
  })

  it('stays the same when only texts or limits of its provider change', async () => {
    const bus = node('a', {
      admit: (call, _, proceed) => {
        bus.registerCapability(answering({ name: 'x.y', title: 'Another', maxConcurrent: 3 }, echo))
        return proceed(call)
      },
    })
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ ok: true })
  })

  it('has the lock and the assessment of the instance that runs', () => {
    const bus = node('a')
    for (const n of [1, 2])
      bus.registerCapability(
        answering({ name: 'x.y', params: { n }, matches: { n: 'equals' }, lock: `thing:${n}` }, echo),
      )
    const locks = [1, 2].map((n) => bus.router.resolve({ ...callOf('x.y'), body: { params: { n } } }, 0)?.offer.lock)
    expect(locks).toEqual(['thing:1', 'thing:2'])
  })
})

describe('providers of a contract', () => {
  it('placed on a node are those of that node only', () => {
    const { bus, meet } = caller()
    meet('b', { name: 'x.y', params: { n: 1 } }, { name: 'x.y', params: { n: 2 } })
    meet('c', { name: 'x.y' })
    const [contract] = bus.registry.contracts('x.y').contracts
    const on = (nodeId: string | undefined) => contract?.placedOn(nodeId).map((entry) => entry.nodeId)
    expect([on('b'), on('c'), on('d'), on(undefined)?.length]).toEqual([['b', 'b'], ['c'], [], 3])
  })

  it('share the schemas of the first provider that announced them', async () => {
    const { bus, calledNodes } = caller()
    const requestSchema = { type: 'object', required: ['value'] }
    const { schemas, ...facts } = describeOwnCapability(offered({ name: 'x.y', requestSchema }))
    for (const [nodeId, capability] of [
      ['b', facts],
      ['c', { ...facts, schemas }],
    ] as const)
      bus.onPeerUpdated({
        nodeId,
        endpoint: undefined,
        manifest: { nodeId, capabilities: [capability as PeerCapability] },
      })
    for (const nodeId of ['b', 'c'])
      expect(await bus.call('x.y', [1, 0], {}, { ...ME, node: nodeId })).toMatchObject({
        fault: { kind: 'invalid-arguments' },
      })
    expect(calledNodes).toEqual([])
  })
})

describe('an answer of a node that has not announced its schemas', () => {
  const answerText: RemoteProviderClient = {
    call: () => Promise.resolve(reply('a text')),
    stream: () => Promise.reject(new Error('not here')),
  }

  it('is checked with the schemas of another node with the same contract', async () => {
    const { bus } = caller({ remote: answerText })
    for (const nodeId of ['b', 'm']) {
      const { schemas, ...facts } = describeOwnCapability(offered({ name: 'x.y', responseSchema: { type: 'number' } }))
      const capabilities = [nodeId === 'b' ? { ...facts, schemas } : facts] as PeerCapability[]
      bus.onPeerUpdated({ nodeId, endpoint: undefined, manifest: { nodeId, capabilities } })
    }
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, node: 'm' })).toMatchObject({
      fault: { kind: 'failed', begun: true },
    })
  })

  it('counts as a failure of that node, even if the schemas are from this node', async () => {
    const { bus } = caller({ remote: answerText })
    const tool = defineTool({
      name: 'x.y',
      title: 'Own',
      description: 'Counts.',
      effect: 'reads',
      family: defaultFamilyEnvelope,
      anywhere: true,
      input: z.strictObject({}),
      output: z.number(),
    })
    bus.registerCapability(tool.handledBy(async () => reply(1)))
    const { schemas: _, ...facts } = describeOwnCapability(tool.offer)
    bus.onPeerUpdated({ nodeId: 'm', endpoint: undefined, manifest: { nodeId: 'm', capabilities: [facts] } })
    expect(await bus.call('x.y', [1, 0], {}, { ...ME, node: 'm' })).toMatchObject({ fault: { kind: 'failed' } })
    expect(await bus.call('x.y', [1, 0], {}, ME)).toEqual(reply(1))
  })
})

describe('providers of one name with different contracts', () => {
  it('get the strictest effect and all secrets that any of them requires', async () => {
    const { bus, assessedOffers, meet } = caller()
    meet('b', { name: 'lock.open', effect: 'writes', secrets: ['pin'] })
    meet('m', { name: 'lock.open', effect: 'reads' })
    expect(effectOf(bus, 'lock.open')).toBe('writes')
    // Also in the list of the node that says less of it.
    expect(bus.offers('m').map(({ effect, secrets }) => [effect, secrets])).toEqual([['writes', ['pin']]])
    for (const nodeId of ['b', 'm']) await bus.call('lock.open', [1, 0], {}, { ...ME, node: nodeId })
    await bus.call('lock.open', [1, 0], {}, ME)
    expect(assessedOffers.map(({ effect, secrets }) => [effect, secrets])).toEqual(
      assessedOffers.map(() => ['writes', ['pin']]),
    )
    expect(assessedOffers).toHaveLength(3)
  })

  it('lower a requirement neither by fewer secrets, nor by a weaker effect, nor by duplicate names', () => {
    for (const lax of [
      { effect: 'writes' },
      { effect: 'reads', secrets: ['pin'] },
      { effect: 'writes', secrets: ['x', 'x'] },
    ] as const) {
      const { bus, meet } = caller()
      meet('b', { name: 'lock.open', effect: 'writes', secrets: ['pin'] })
      meet('m', { name: 'lock.open', ...lax })
      const shown = [...bus.offers('m'), bus.registry.offer('lock.open', undefined, 'm'), bus.offer('lock.open')]
      for (const offer of shown) {
        expect(offer?.effect).toBe('writes')
        expect(offer?.secrets).toContain('pin')
      }
    }
  })

  it('all follow a changed requirement at once', () => {
    const { bus, meet } = caller()
    const atM = () => {
      const offer = bus.registry.offer('lock.open', undefined, 'm')
      return [offer?.effect, offer?.secrets]
    }
    meet('m', { name: 'lock.open', effect: 'reads' })
    meet('b', { name: 'lock.open', effect: 'writes', secrets: ['pin'] })
    expect(atM()).toEqual(['writes', ['pin']])
    meet('b', { name: 'lock.open', effect: 'writes', secrets: ['code'] })
    expect(atM()).toEqual(['writes', ['code']])
    meet('b', { name: 'lock.open', effect: 'admin', secrets: ['code'] })
    expect(atM()).toEqual(['admin', ['code']])
    meet('b', { name: 'lock.open', effect: 'admin', secrets: ['code', 'pin'] })
    expect(atM()).toEqual(['admin', ['code', 'pin']])
    meet('b', { name: 'lock.open', effect: 'admin' })
    expect(atM()[0]).toBe('admin')
    expect(atM()[1] ?? []).toEqual([])
  })

  it('are still validated in bounded steps when their contract became stricter', async () => {
    const { bus, assessedOffers, meet } = caller()
    const list = { type: 'object', properties: { v: { type: 'array', items: { $ref: '#/$defs/a' } } } }
    const a = { anyOf: Array.from({ length: 300 }, (_, at) => ({ const: `${'x'.repeat(9)}${at}` })) }
    meet('m', { name: 'x.y', effect: 'reads', requestSchema: { ...list, $defs: { a } } })
    meet('h', { name: 'x.y', effect: 'writes' })
    const v = Array.from({ length: 2_000 }, () => 'xxxxxxxxx299')
    const outcome = await bus.call('x.y', [1, 0], { v }, { ...ME, node: 'm' })
    expect(assessedOffers.at(-1)).toMatchObject({ effect: 'writes', isFromPeer: true })
    // Ajv would say that it fits: 600,000 comparisons later.
    expect(outcome).toMatchObject({ fault: { kind: 'invalid-arguments', details: { issues: [{ code: 'cost' }] } } })
  })

  it('keep their offer and its validators when their contract became stricter and nothing else changed', () => {
    const { bus, meet } = caller()
    meet('b', { name: 'x.y' })
    meet('c', { name: 'x.y', effect: 'writes' })
    const offerAtB = (): Offer | undefined =>
      bus.registry.contracts('x.y').contracts.find(({ entries }) => entries[0]?.nodeId === 'b')?.offer
    const before = offerAtB()
    meet('d', { name: 'x.y', effect: 'writes' })
    expect(offerAtB()?.effect).toBe('writes')
    expect(offerAtB()).toBe(before)
  })

  it.each([
    ['b', 'c'],
    ['c', 'b'],
  ])('of equally many nodes list the stricter contract first, that of %s before that of %s', (strict, lax) => {
    for (const isStrictFirst of [true, false]) {
      const { bus, meet } = caller()
      if (isStrictFirst) meet(strict, { name: 'x.y', effect: 'sensitive' })
      meet(lax, { name: 'x.y', effect: 'writes' })
      if (!isStrictFirst) meet(strict, { name: 'x.y', effect: 'sensitive' })
      const shown = bus.registry.contracts('x.y').contracts.map(({ entries }) => entries[0]?.nodeId)
      expect(shown).toEqual([strict, lax])
    }
  })

  it('of equal strictness are listed by node name, whatever the order of arrival', () => {
    for (const nodeIds of [
      ['b', 'c'],
      ['c', 'b'],
    ]) {
      const { bus, meet } = caller()
      for (const nodeId of nodeIds) meet(nodeId, { name: 'x.y', timeoutSeconds: nodeId === 'b' ? 1 : 2 })
      const shown = bus.registry.contracts('x.y').contracts.map(({ entries }) => entries[0]?.nodeId)
      expect(shown).toEqual(['b', 'c'])
    }
  })

  it("keep a wrong answer of this node's own tool an internal error when the contract became stricter", async () => {
    const bus = node('a')
    const facts = {
      title: 'Own',
      description: 'Counts.',
      family: defaultFamilyEnvelope,
      input: z.strictObject({}),
      output: z.number(),
    }
    const tool = defineTool({ ...facts, name: 'x.y', effect: 'reads' })
    bus.registerCapability(tool.handledBy(async () => reply('not a number')))
    bus.registerCapability(answering({ name: 'x.y', effect: 'sensitive', version: [1, 1], params: { n: 2 } }, echo))
    const own = bus.registry.contracts('x.y').contracts.find(({ offer }) => offer.version[1] === 0)
    expect(own?.offer.effect).toBe('sensitive')
    const { schemaHash } = describeOwnCapability(tool.offer)
    const caller = { kind: 'peer', id: 'p', level: 'trusted' } as const
    expect(await bus.handleCall(callOf('x.y', { caller, deadlineMs: 1_000, schemaHash }))).toMatchObject({
      fault: { kind: 'internal', code: 'internal_error' },
    })
  })

  it('on this node get the strictest effect of its instances', async () => {
    const assessedOffers: string[] = []
    const bus = node('a', {
      admit: (call, offer, proceed) => {
        assessedOffers.push(offer?.effect ?? '')
        return proceed(call)
      },
    })
    bus.registerCapability(answering({ name: 'x.y', effect: 'reads', params: { n: 1 } }, echo))
    bus.registerCapability(answering({ name: 'x.y', effect: 'sensitive', params: { n: 2 } }, echo))
    for (let call = 0; call < 10; call++) await bus.call('x.y', [1, 0], {}, ME)
    expect(new Set(assessedOffers)).toEqual(new Set(['sensitive']))
  })

  it("on other nodes do not raise the effect of this node's own handlers", () => {
    const { bus, meet } = caller()
    bus.registerCapability(answering({ name: 'heat.get', anywhere: false }, echo))
    meet('m', { name: 'heat.get', effect: 'admin', anywhere: false })
    expect(effectOf(bus, 'heat.get')).toBe('reads')
    expect(bus.registry.offer('heat.get', undefined, 'm')?.effect).toBe('admin')
  })

  it('are listed as a disagreement, unless they only differ by version or instance', () => {
    const { bus, meet } = caller()
    meet('b', { name: 'x.y', effect: 'writes' }, { name: 'x.v' }, { name: 'x.s' }, { name: 'x.p', params: { n: 1 } })
    meet('c', { name: 'x.y' }, { name: 'x.v', version: [1, 1] }, { name: 'x.s', requestSchema: {} }, { name: 'x.p' })
    expect(bus.topologySnapshot().disagreements).toEqual([
      { name: 'x.y', effects: ['reads', 'writes'], schemas: 1, nodeIds: ['b', 'c'] },
      { name: 'x.s', effects: ['reads'], schemas: 2, nodeIds: ['b', 'c'] },
    ])
    bus.onPeerRemoved('c')
    expect(bus.topologySnapshot().disagreements).toEqual([])
    expect(effectOf(bus, 'x.y')).toBe('writes')
  })

  it('are listed by the number of nodes, not of instances', () => {
    const { bus, meet } = caller()
    const many = Array.from({ length: 5 }, (_, n) => ({ name: 'x.y', timeoutSeconds: 1, params: { n } }))
    meet('a1', ...many)
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'x.y', timeoutSeconds: 2 })
    expect(bus.offer('x.y')?.timeoutSeconds).toBe(2)
    meet('d', { name: 'x.y', version: [1, 1], timeoutSeconds: 3 })
    expect(bus.offer('x.y')?.timeoutSeconds).toBe(3)
    expect(bus.registry.offer('x.y', undefined, 'a1')?.timeoutSeconds).toBe(1)
    expect(bus.registry.offer('x.y', undefined, 'nobody')?.timeoutSeconds).toBe(3)
  })

  it('get the requirement of the remaining ones when the others leave', () => {
    const { bus, meet } = caller()
    meet('b', { name: 'x.y' })
    meet('c', { name: 'x.y', effect: 'admin' })
    expect(effectOf(bus, 'x.y')).toBe('admin')
    bus.onPeerRemoved('c')
    expect(effectOf(bus, 'x.y')).toBe('reads')
  })
})

describe('node of a call', () => {
  it('must be named when several other nodes offer a capability that is bound to its node', async () => {
    const { bus, calledNodes, assessedOffers, meet } = caller()
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'heat.get', anywhere: false })
    expect(await bus.call('heat.get', undefined, {}, ME)).toMatchObject({
      fault: { kind: 'conflict', code: 'ambiguous_node', details: { alt_nodes: ['b', 'c'] }, begun: false },
    })
    expect(await bus.call('heat.get', undefined, {}, { ...ME, node: 'c' })).toMatchObject(reply('c'))
    expect(calledNodes).toEqual(['c'])
    // The one that was refused is on record as what it was.
    expect(assessedOffers).toHaveLength(2)
  })

  it('must be named even if the contracts differ or only one is bound to its node', async () => {
    for (const other of [{ timeoutSeconds: 5 }, { anywhere: true }]) {
      const { bus, calledNodes, meet } = caller()
      meet('b', { name: 'heat.get', anywhere: false })
      meet('c', { name: 'heat.get', anywhere: false, ...other })
      expect(await bus.call('heat.get', undefined, {}, ME)).toMatchObject({ fault: { code: 'ambiguous_node' } })
      expect(calledNodes).toEqual([])
    }
  })

  it('need not be named when only one node serves the requested version or params', async () => {
    for (const [other, body] of [
      [{ version: [2, 0] }, {}],
      [{ params: { zone: 2 }, matches: { zone: 'equals' } }, { params: { zone: 1 } }],
    ] as const) {
      const { bus, calledNodes, meet } = caller()
      meet('b', { name: 'heat.get', anywhere: false, params: { zone: 1 }, matches: { zone: 'equals' } })
      meet('c', { name: 'heat.get', anywhere: false, ...other })
      expect(await bus.call('heat.get', [1, 0], body, ME)).toMatchObject(reply('b'))
      expect(calledNodes).toEqual(['b'])
    }
  })

  it('need not be named when only another version is bound to its node', async () => {
    const { bus, meet } = caller()
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'x.y' })
    meet('d', { name: 'x.y', version: [2, 0], anywhere: false })
    expect((await bus.call('x.y', [1, 0], {}, ME)).ok).toBe(true)
  })

  it('is that of the session once a call of the session has named it', async () => {
    const { bus, calledNodes, meet } = caller()
    for (const nodeId of ['b', 'c']) meet(nodeId, { name: 'heat.get', anywhere: false })
    const session = { ...ME, sessionId: 's' }
    expect(await bus.call('heat.get', undefined, {}, session)).toMatchObject({ ok: false })
    await bus.call('heat.get', undefined, {}, { ...session, node: 'c' })
    await bus.call('heat.get', undefined, {}, session)
    expect(calledNodes).toEqual(['c', 'c'])
  })

  it('is this node if it serves the call, and must be named if none of its instances does', async () => {
    const { bus, calledNodes, meet } = caller()
    const facts = { name: 'heat.get', anywhere: false, params: { zone: 1 }, matches: { zone: 'equals' } } as const
    bus.registerCapability(answering(facts, async () => reply('own')))
    for (const nodeId of ['b', 'c']) meet(nodeId, { ...facts, params: { zone: 2 } })
    expect(await bus.call('heat.get', undefined, { params: { zone: 1 } }, ME)).toEqual(reply('own'))
    expect(await bus.call('heat.get', undefined, { params: { zone: 2 } }, ME)).toMatchObject({
      fault: { code: 'ambiguous_node' },
    })
    expect(calledNodes).toEqual([])
  })

  it('is named in every answer of another node, with the device if that is known', async () => {
    const [a, b] = [node('a'), node('b')]
    b.registerCapability(answering({ name: 'x.plain' }, async () => reply(1)))
    b.registerCapability(
      answering({ name: 'x.device' }, async () => ({
        ok: true,
        value: { data: 1, from: { node: 'forged', device: 'd' } },
      })),
    )
    introduce(a, b)
    expect(await a.call('x.plain', undefined, {}, ME)).toEqual({ ok: true, value: { data: 1, from: { node: 'b' } } })
    expect(await a.call('x.device', undefined, {}, ME)).toEqual({
      ok: true,
      value: { data: 1, from: { node: 'b', device: 'd' } },
    })
  })
})
