import { describe, expect, it } from 'vitest'
import { answering, echo, introduce, ME, node, reply } from '../../test/bus-village.ts'

describe('bus', () => {
  it('calls a capability of its own', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'echo.say' }, echo))
    expect(await bus.call('echo.say', [1, 0], { text: 'hello' }, ME)).toEqual(reply({ text: 'hello' }))
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
    expect(await b.call('llm.chat', [1, 0], {}, ME)).toEqual(reply('from a'))
    expect(await a.call('embed.text', [1, 0], {}, ME)).toEqual(reply('from b'))
    expect(b.recentTraces()).toMatchObject([
      { capability: 'embed.text', fromNode: 'a', toNode: 'b', isLocal: true },
      { capability: 'llm.chat', fromNode: 'b', toNode: 'a', isLocal: false },
    ])
  })
})
