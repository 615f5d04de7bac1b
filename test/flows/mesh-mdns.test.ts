import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { call, cli, cliIn, closeAll, invite, settle, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { openNetwork } from '../mesh-network.ts'

const network = openNetwork('neighbours that find each other by mDNS, which is NOT RUN at all')

describe.skipIf(network === undefined)('two gateways on one LAN', () => {
  const nodes: MeshNode[] = []

  afterAll(async () => {
    await closeAll(nodes)
    network?.remove()
  })

  it('find each other by mDNS alone, also after one has moved to another port', async () => {
    const houses = ['cellar', 'attic'].map((name) => ({ name, ...settle(name, { network }) }))
    for (const { home } of houses)
      writeFileSync(home.config, readFileSync(home.config, 'utf8').replace('mdns: false', 'mdns: true'))
    const [cellar, attic] = houses
    if (cellar === undefined || attic === undefined) throw new Error('nobody lives here')
    cli(cellar.home, 'mesh', 'init')
    const first = await startNode('cellar', cellar.home, cellar)
    nodes.push(first)
    cliIn(attic.namespace, attic.home, 'mesh', 'join', invite(cellar.home))
    // The port is a new one at each start, so whatever anybody remembers leads nowhere.
    await first.stop()
    nodes.pop()
    const [again, other] = await Promise.all([
      startNode('cellar', cellar.home, cellar),
      startNode('attic', attic.home, attic),
    ])
    nodes.push(again, other)
    await until('one reaches the other', async () => (await call(again, 'test.only.attic')).outcome === 'ok')
    await until('and the other the one', async () => (await call(other, 'test.only.cellar')).outcome === 'ok')
    const { peers } = (await (await fetch(`${other.url}/api/topology`)).json()) as { peers: { displayName: string }[] }
    expect(peers.map(({ displayName }) => displayName)).toEqual(['cellar'])
  })
})
