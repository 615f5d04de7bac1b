import { describe, expect, it } from 'vitest'
import { answering, callOf, echo, introduce, manifestOf, ME, node, reply } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { fail } from '../core/result.ts'

describe('bus', () => {
  it('calls a capability registered on the same node', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'echo.say' }, echo))
    expect(await bus.call('echo.say', [1, 0], { text: 'hello' }, ME)).toMatchObject(reply({ text: 'hello' }))
    expect(bus.recentTraces()).toMatchObject([{ capability: 'echo.say', toNode: 'a', isLocal: true, result: 'ok' }])
  })

  it('lists one offer per name', () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'b.two' }, echo))
    bus.registerCapability(answering({ name: 'a.one' }, echo))
    bus.registerCapability(answering({ name: 'a.one', version: [1, 1] }, echo))
    expect(bus.offers().map(({ name, version }) => [name, version])).toEqual([
      ['a.one', [1, 1]],
      ['b.two', [1, 0]],
    ])
  })

  // test_two_nodes_route_to_each_other
  it('two nodes route to each other', async () => {
    const [a, b] = [node('a'), node('b')]
    a.registerCapability(answering({ name: 'llm.chat' }, () => Promise.resolve(reply('from a'))))
    b.registerCapability(answering({ name: 'embed.text' }, () => Promise.resolve(reply('from b'))))
    introduce(a, b)
    expect(await b.call('llm.chat', [1, 0], {}, ME)).toMatchObject(reply('from a'))
    expect(await a.call('embed.text', [1, 0], {}, ME)).toMatchObject(reply('from b'))
    expect(b.recentTraces()).toMatchObject([
      { capability: 'embed.text', fromNode: 'a', toNode: 'b', isLocal: true },
      { capability: 'llm.chat', fromNode: 'b', toNode: 'a', isLocal: false },
    ])
  })

  it('lists peers and providers with their state, as plain JSON values', async () => {
    const clock = manualClock()
    const [a, b] = [node('a', { clock }), node('b', { clock })]
    a.registerCapability(answering({ name: 'here.say' }, echo))
    b.registerCapability(answering({ name: 'there.say', params: { model: 'm' } }, echo))
    a.onPeerAdded({ ...manifestOf(b), displayName: 'Cellar', source: 'mdns' })
    await a.call('there.say', [1, 0], {}, { ...ME, sessionId: 's' })
    clock.advance(2_000)
    const snapshot = a.topologySnapshot()
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual({
      ourNodeId: 'a',
      peers: [
        {
          nodeId: 'b',
          displayName: 'Cellar',
          source: 'mdns',
          capabilities: 1,
          refused: 0,
          refusedOffers: [],
          seenAgoMs: 2_000,
        },
      ],
      capabilitiesLocal: [expect.objectContaining({ name: 'here.say', isLocal: true, samples: 0, owner: 'local' })],
      capabilitiesRemote: [
        expect.objectContaining({
          name: 'there.say',
          nodeId: 'b',
          params: { model: 'm' },
          samples: 1,
          stickySessions: 1,
        }),
      ],
      inFlightTotal: 0,
      disagreements: [],
    })
    a.onPeerRemoved('b')
    expect(a.topologySnapshot()).toMatchObject({ peers: [], capabilitiesRemote: [] })
  })

  it('passes on resource changes until the listener unsubscribes', () => {
    const bus = node('a')
    const uris: string[] = []
    const stop = bus.onResource((uri) => uris.push(uri))
    bus.announceResource('ebus://zones/1')
    stop()
    bus.announceResource('ebus://zones/2')
    expect(uris).toEqual(['ebus://zones/1'])
  })

  it('routes a call to the requested node', async () => {
    const buses = ['a', 'b', 'c'].map((nodeId) => node(nodeId))
    for (const bus of buses)
      bus.registerCapability(answering({ name: 'who.are', anywhere: false }, () => Promise.resolve(reply(bus.nodeId))))
    introduce(...buses)
    const [a] = buses
    expect(await a?.call('who.are', undefined, {}, { ...ME, node: 'c' })).toMatchObject(reply('c'))
    expect(await a?.call('who.are', undefined, {}, ME)).toMatchObject(reply('a'))
    expect(await a?.call('who.are', undefined, {}, { ...ME, node: 'z' })).toMatchObject({
      fault: { kind: 'not-found', details: { reason: 'node' } },
    })
  })

  it('names the node on which a call waits for an approval, the last one after forwarding', async () => {
    const waiting = { kind: 'approval-required', message: 'Ask.', details: { how: 'approve 7' } } as const
    const [a, b] = [node('a'), node('b')]
    b.registerCapability(answering({ name: 'door.open' }, () => Promise.resolve(fail(waiting))))
    const passedOn = { ...waiting, details: { how: 'on c: approve 7', node: 'c' } }
    b.registerCapability(answering({ name: 'gate.open' }, () => Promise.resolve(fail(passedOn))))
    a.onPeerAdded({ ...manifestOf(b), displayName: 'Cellar', source: 'mdns' })
    expect(await b.call('door.open', undefined, {}, ME)).toMatchObject(fail(waiting))
    expect(await a.call('door.open', undefined, {}, ME)).toMatchObject({
      fault: {
        message: 'Ask. It waits on the node Cellar, not on this one.',
        details: { how: 'on the node Cellar: approve 7', node: 'b', node_name: 'Cellar' },
      },
    })
    expect(await a.call('gate.open', undefined, {}, ME)).toMatchObject({ fault: passedOn })
  })

  it('names the node whose ledger is unavailable if it is another one', async () => {
    const [a, b] = [node('a'), node('b')]
    const trouble = { kind: 'failed', code: 'LEDGER_UNAVAILABLE', message: 'The ledger cannot be written.' } as const
    b.registerCapability(answering({ name: 'door.open' }, () => Promise.resolve(fail(trouble))))
    b.registerCapability(
      answering({ name: 'own.trouble' }, () => Promise.resolve(fail({ ...trouble, kind: 'internal' }))),
    )
    a.onPeerAdded({ ...manifestOf(b), displayName: 'Cellar', source: 'mdns' })
    expect(await a.call('door.open', undefined, {}, ME)).toMatchObject({
      fault: {
        message: 'The ledger cannot be written. This is about the node Cellar, not about this one.',
        details: { node: 'b', node_name: 'Cellar' },
      },
    })
    expect(await a.call('own.trouble', undefined, {}, ME)).toMatchObject({
      fault: { kind: 'internal', message: 'The ledger cannot be written.' },
    })
  })

  it('refuses a peer with too low a trust level', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'door.open', trustRequired: 'trusted' }, echo))
    const inbound = callOf('door.open', { caller: { kind: 'peer', id: 'p', level: 'member' }, deadlineMs: 1_000 })
    expect(await bus.handleCall(inbound)).toMatchObject({ fault: { kind: 'not-permitted', code: 'unauthorized' } })
    expect(bus.recentTraces()).toMatchObject([{ fromNode: 'p', toNode: undefined, result: 'unauthorized' }])
  })
})
