import { describe, expect, it } from 'vitest'
import { answering, echo, manifestOf, ME, node, offered } from '../../test/bus-village.ts'
import type { Service, CapabilityVersion } from './capability.ts'
import { describeOwnCapability } from './peer.ts'
import type { PeerCapability, PeerRecord } from './peer.ts'

function service(name: string, prefixes: readonly string[], names: readonly string[]): Service {
  return {
    name,
    prefixes,
    capabilities: () => names.map((capability) => answering({ name: capability }, echo)),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    health: () => ({ status: 'ok', details: {} }),
  }
}

function peer(nodeId: string, capabilities: readonly PeerCapability[]): PeerRecord {
  return { nodeId, endpoint: undefined, manifest: { nodeId, capabilities } }
}

describe('registration', () => {
  // test_register_local_namespace_violation_raises
  it('register local namespace violation raises', () => {
    const bus = node('a')
    for (const name of ['llmx.chat', 'embed.text', 'llm_chat'])
      expect(bus.registerService(service('llm', ['llm'], [name]))).toMatchObject({
        ok: false,
        fault: { code: 'namespace_violation' },
      })
    expect(bus.registerService(service('llm', ['llm'], ['llm.chat', 'llm']))).toEqual({ ok: true, value: undefined })
    expect(bus.registerService(service('runtime', ['task_', 'audit_'], ['task_list']))).toMatchObject({ ok: true })
    expect(bus.registerService(service('free', [''], ['anything_at_all']))).toMatchObject({ ok: true })
  })

  it('replaces a handler by a later registered one', async () => {
    const bus = node('a')
    for (const word of ['first', 'second'])
      bus.registerCapability(answering({ name: 'x.y' }, async () => ({ ok: true, value: { data: word } })))
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ ok: true, value: { data: 'second' } })
  })

  it('of one instance is removed without the other instances and versions', () => {
    const bus = node('a')
    for (const [model, version] of [
      ['one', [1, 0]],
      ['two', [1, 0]],
      ['three', [1, 1]],
      ['four', [2, 0]],
    ] as const)
      bus.registerCapability(answering({ name: 'x.y', version, params: { model } }, echo))
    const [first] = bus.registry.named('x.y')
    bus.deregister('x.y', [1, 0], first?.instanceId)
    const left = () => bus.registry.named('x.y').map(({ offer }) => offer.params['model'])
    expect(left()).toEqual(['two', 'three', 'four'])
    bus.deregister('x.y', [1, 0])
    expect(left()).toEqual(['three', 'four'])
  })

  it('of two versions is found by the requested version', () => {
    const bus = node('a')
    for (const version of [
      [1, 0],
      [2, 3],
    ] as const)
      bus.registerCapability(answering({ name: 'x.y', version }, echo))
    expect(bus.registry.offer('x.y')?.version).toEqual([2, 3])
    expect(bus.registry.offer('x.y', [1, 0])?.version).toEqual([1, 0])
    expect(bus.registry.offer('x.y', [3, 0])).toBeUndefined()
  })

  it('lists no offers of an unknown node or of one that has left', () => {
    const bus = node('a')
    expect(bus.registry.offersOf('b')).toEqual([])
    bus.onPeerAdded(peer('b', [describeOwnCapability(offered({ name: 'x.y' }))]))
    expect(bus.registry.offersOf('b').map(({ name }) => name)).toEqual(['x.y'])
    bus.onPeerRemoved('b')
    expect([bus.registry.offersOf('b'), bus.registry.contracts('x.y').contracts]).toEqual([[], []])
  })

  it('by a peer counts as a change only if its facts differ', () => {
    const { registry } = node('a')
    const capability = (facts: object): PeerCapability => describeOwnCapability(offered({ name: 'x.y', ...facts }))
    expect(registry.updateFromPeer(peer('b', [capability({})]), 0).added).toHaveLength(1)
    expect(registry.updateFromPeer(peer('b', [capability({})]), 5)).toMatchObject({
      added: [],
      updated: [],
      removed: [],
    })
    expect(registry.named('x.y')[0]?.lastSeenMs).toBe(5)
    const { updated } = registry.updateFromPeer(peer('b', [capability({ maxConcurrent: 3 })]), 6)
    expect(updated.map(({ offer }) => offer.maxConcurrent)).toEqual([3])
    expect(registry.named('x.y')).toHaveLength(1)
  })

  it('of a service is done for all its capabilities or for none', () => {
    const bus = node('a')
    expect(bus.registerService(service('llm', ['llm'], ['llm.chat', 'llm.complete', 'rag.query'])).ok).toBe(false)
    expect(bus.offers()).toEqual([])
  })

  it('of a name that another service offers is refused', () => {
    const bus = node('a')
    bus.registerService(service('llm', ['llm'], ['llm.chat']))
    expect(bus.registerService(service('thief', ['llm'], ['llm.chat']))).toMatchObject({
      fault: { code: 'namespace_violation', message: 'llm.chat is offered by llm already.' },
    })
  })

  it('of the same capability again reports no event', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const events = bus.subscribe()
    for (let times = 0; times < 3; times++) bus.registerCapability(answering({ name: 'x.y' }, echo))
    bus.registerCapability(answering({ name: 'x.z' }, echo))
    expect(await events.next()).toMatchObject({ value: { kind: 'added', entry: { offer: { name: 'x.z' } } } })
    await events.return?.()
  })

  it('of an identical capability changes nothing and reports no event', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const entry = bus.registry.named('x.y')[0]
    const events = bus.subscribe()
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    bus.registerCapability(answering({ name: 'x.y', title: 'Another title' }, echo))
    expect(await events.next()).toMatchObject({ value: { kind: 'updated', entry: { key: entry?.key } } })
    expect(bus.registry.named('x.y')).toEqual([entry])
    await events.return?.()
  })

  // Its functions may be new, although everything that can be seen of it is as before.
  it('replaces the offer even if it looks the same', () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const [before] = bus.offers()
    const again = answering({ name: 'x.y' }, echo)
    bus.registerCapability(again)
    expect(bus.offers()).toHaveLength(1)
    expect(bus.offers()[0]).toBe(bus.offer('x.y'))
    expect(bus.offers()[0]).not.toBe(before)
  })

  it('keeps two instances with different params apart', () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'llm.chat', params: { model: 'a' } }, echo))
    bus.registerCapability(answering({ name: 'llm.chat', params: { model: 'b' } }, echo))
    expect(bus.registry.find('llm.chat', [1, 0])).toHaveLength(2)
    expect(bus.registry.find('llm.chat', [1, 0], ({ model }) => model === 'b')).toHaveLength(1)
    const [first] = bus.registry.find('llm.chat', [1, 0])
    bus.deregister('llm.chat', [1, 0], first?.instanceId)
    expect(bus.registry.named('llm.chat').map(({ offer }) => offer.params)).toEqual([{ model: 'b' }])
  })

  it.each<[CapabilityVersion, CapabilityVersion, boolean]>([
    [[1, 2], [1, 0], true],
    [[1, 2], [1, 2], true],
    [[1, 2], [1, 3], false],
    [[2, 0], [1, 0], false],
    [[1, 0], [2, 0], false],
  ])('of version %j serves a request for version %j: %s', (version, requested, serves) => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y', version }, echo))
    expect(bus.registry.find('x.y', requested)).toHaveLength(serves ? 1 : 0)
  })

  it('on this node is listed before a newer version on another', () => {
    const [a, b] = [node('a'), node('b')]
    a.registerCapability(answering({ name: 'x.y', title: 'here' }, echo))
    b.registerCapability(answering({ name: 'x.y', version: [1, 5], title: 'there' }, echo))
    a.onPeerAdded(manifestOf(b))
    expect(a.offer('x.y')?.title).toBe('here')
    a.deregister('x.y', [1, 0])
    expect(a.offer('x.y')?.title).toBe('there')
  })
})

describe('peer capabilities in the registry', () => {
  const chat = describeOwnCapability(offered({ name: 'llm.chat' }))
  const embed = describeOwnCapability(offered({ name: 'embed.text' }))

  it('are reported as added, changed and removed', () => {
    const { registry } = node('a')
    const names = (entries: readonly { readonly offer: { readonly name: string } }[]): readonly string[] =>
      entries.map(({ offer }) => offer.name)
    const first = registry.updateFromPeer(peer('b', [chat, embed]), 0)
    expect([names(first.added), names(first.removed), names(first.updated)]).toEqual([
      ['llm.chat', 'embed.text'],
      [],
      [],
    ])
    const second = registry.updateFromPeer(peer('b', [{ ...chat, maxConcurrent: 2 }]), 1)
    expect([names(second.added), names(second.removed), names(second.updated)]).toEqual([
      [],
      ['embed.text'],
      ['llm.chat'],
    ])
    expect(registry.removePeer('b')).toBe(1)
    expect(registry.all()).toEqual([])
  })

  it('keep health, calls in flight and sessions when they are refreshed', async () => {
    const [a, b] = [node('a'), node('b')]
    b.registerCapability(answering({ name: 'llm.chat' }, echo))
    a.onPeerAdded(manifestOf(b))
    await a.call('llm.chat', [1, 0], {}, { ...ME, sessionId: 's' })
    const [entry] = a.registry.named('llm.chat')
    if (entry === undefined) throw new Error('no entry')
    entry.inFlight = 3
    a.onPeerUpdated(manifestOf(b))
    b.registerCapability(answering({ name: 'llm.chat', maxConcurrent: 99 }, echo))
    a.onPeerUpdated(manifestOf(b))
    expect(a.registry.named('llm.chat')[0]).toBe(entry)
    expect(entry).toMatchObject({ inFlight: 3, health: { samples: 1 }, offer: { maxConcurrent: 99 } })
    expect(a.router.sticky.sessions().get(entry)).toBe(1)
  })

  it('are ignored when they are announced for this node or for a third node', () => {
    const { registry } = node('a')
    expect(registry.updateFromPeer(peer('a', [chat]), 0).added).toEqual([])
    const liar = { nodeId: 'b', endpoint: undefined, manifest: { nodeId: 'c', capabilities: [chat] } }
    expect(registry.updateFromPeer(liar, 0).added).toEqual([])
    const bus = node('a')
    expect([bus.onPeerAdded(liar).added, bus.stats().peers]).toEqual([[], 0])
  })

  it('are not listed with a resource URI that this node offers', () => {
    const bus = node('a')
    const face = { kind: 'resource', uri: 'house://state', mimeType: 'text/plain' } as const
    const elsewhere = describeOwnCapability(offered({ name: 'house.there', face: { ...face, uri: 'house://there' } }))
    bus.onPeerAdded(peer('b', [describeOwnCapability(offered({ name: 'a.first', face })), elsewhere]))
    expect(bus.offers().map(({ name }) => name)).toEqual(['a.first', 'house.there'])
    bus.registerCapability(answering({ name: 'house.state', face }, echo))
    expect(bus.offers().map(({ name }) => name)).toEqual(['house.state', 'house.there'])
  })

  it('do not hide a resource of this node with the same name and URI', () => {
    const bus = node('a')
    const face = { kind: 'resource', uri: 'house://state', mimeType: 'text/plain' } as const
    bus.registerCapability(answering({ name: 'house.state', face, title: 'here' }, echo))
    bus.onPeerAdded(peer('b', [describeOwnCapability(offered({ name: 'house.state', face, title: 'there' }))]))
    expect(bus.offers().map(({ name, title }) => [name, title])).toEqual([['house.state', 'here']])
  })

  it('are left out and reported if they are invalid, and the others are accepted', () => {
    const { registry } = node('a')
    const broken = describeOwnCapability(offered({ name: 'embed.text', requestSchema: { type: 'objekt' } }))
    const diff = registry.updateFromPeer(peer('b', [chat, broken]), 0)
    expect(diff.added).toHaveLength(1)
    expect(diff.refused).toMatchObject([{ name: 'embed.text', fault: { code: 'schema_invalid' } }])
  })

  it('are refused with schemas that do not match their hash', () => {
    const { registry } = node('a')
    const swapped = { ...chat, schemas: { request: { type: 'object', maxProperties: 0 }, response: {} } }
    expect(registry.updateFromPeer(peer('b', [swapped]), 0).refused).toMatchObject([
      { fault: { code: 'schema_mismatch', details: { schema_hash_expected: chat.schemaHash } } },
    ])
  })

  it('are accepted before their schemas arrive', () => {
    const { registry } = node('a')
    const { schemas: _, ...withoutSchemas } = describeOwnCapability(
      offered({ name: 'x.y', requestSchema: { maxProperties: 0 } }),
    )
    expect(registry.updateFromPeer(peer('b', [withoutSchemas]), 0).added).toHaveLength(1)
    expect(registry.updateFromPeer(peer('b', [withoutSchemas]), 0).updated).toHaveLength(0)
    const full = describeOwnCapability(offered({ name: 'x.y', requestSchema: { maxProperties: 0 } }))
    expect(registry.updateFromPeer(peer('b', [full]), 0).updated).toHaveLength(1)
    expect(registry.offer('x.y')?.requestSchema).toEqual({ maxProperties: 0 })
  })

  it('are limited to 2,000 per peer', () => {
    const { registry } = node('a')
    const many = Array.from({ length: 2_100 }, (_, index) => {
      const { schemas: _schemas, ...withoutSchemas } = chat
      return { ...withoutSchemas, name: `x.n${index}` }
    })
    expect(registry.updateFromPeer(peer('b', many), 0).added).toHaveLength(2_000)
  })
})

describe('registry subscription', () => {
  it('delivers an event to a waiting subscriber at once', async () => {
    const bus = node('a')
    const events = bus.subscribe()
    const next = events.next()
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    expect(await next).toMatchObject({ done: false, value: { kind: 'added', entry: { nodeId: 'a' } } })
  })

  it('delivers the combined changes to a slow subscriber', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'stays.put' }, echo))
    const events = bus.subscribe()
    bus.registerCapability(answering({ name: 'comes.andgoes' }, echo))
    bus.deregister('comes.andgoes', [1, 0])
    bus.registerCapability(answering({ name: 'comes.late' }, echo))
    bus.registerCapability(answering({ name: 'comes.late', title: 'changed' }, echo))
    bus.deregister('stays.put', [1, 0])
    bus.registerCapability(answering({ name: 'stays.put' }, echo))
    const changes = [await events.next(), await events.next()]
    expect(changes).toMatchObject([
      { value: { kind: 'added', entry: { offer: { name: 'comes.late' } } } },
      { value: { kind: 'updated', entry: { offer: { name: 'stays.put' } } } },
    ])
  })

  it('tells a subscriber that has fallen far behind to resynchronise', async () => {
    const { registry } = node('a')
    const events = registry.events.subscribe()
    const { schemas: _schemas, ...withoutSchemas } = describeOwnCapability(offered({ name: 'x.y' }))
    for (const nodeId of ['b', 'c', 'd'])
      registry.updateFromPeer(
        peer(
          nodeId,
          Array.from({ length: 2_000 }, (__, index) => ({ ...withoutSchemas, name: `x.n${index}` })),
        ),
        0,
      )
    expect(await events.next()).toEqual({ done: false, value: { kind: 'resync' } })
  })

  it('ends when the subscriber leaves, and when the bus closes', async () => {
    const bus = node('a')
    const [left, stayed] = [bus.subscribe(), bus.subscribe()]
    const waiting = stayed.next()
    await left.return?.()
    expect(await left.next()).toEqual({ done: true, value: undefined })
    bus.close()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
