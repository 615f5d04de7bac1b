import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { call, cli, cliIn, closeAll, invite, settle, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { openNetwork } from '../mesh-network.ts'

const network = openNetwork('nodes that are given other addresses, which is NOT RUN at all')

/** Which addresses a node says that it has. */
async function told(node: MeshNode): Promise<unknown> {
  const { mesh } = (await node.say({ do: 'stats' })) as { mesh: { addresses: readonly string[] } }
  return mesh.addresses.map((address) => address.replace(/:\d+$/, ''))
}

/** A call to where a node was may hang until its time is over. */
async function reaches(node: MeshNode, tool: string): Promise<boolean> {
  const answer = await call(node, tool, {}, { timeoutMs: 3_000 }).catch(() => undefined)
  return answer?.outcome === 'ok'
}

describe.skipIf(network === undefined)('two gateways that get new addresses', () => {
  const nodes: MeshNode[] = []

  afterAll(async () => {
    await closeAll(nodes)
    network?.remove()
  })

  it('reach each other at the new addresses without a restart', async () => {
    const houses = ['cellar', 'attic'].map((name) => ({ name, ...settle(name, { network }) }))
    for (const { home } of houses) {
      const everywhere = readFileSync(home.config, 'utf8').replace(/host: 10\.99\.\S+/, 'host: 0.0.0.0')
      writeFileSync(home.config, everywhere.replace('mdns: false', 'mdns: true'))
    }
    const [cellar, attic] = houses
    if (cellar === undefined || attic === undefined) throw new Error('nobody lives here')
    cli(cellar.home, 'mesh', 'init')
    const one = await startNode('cellar', cellar.home, cellar)
    nodes.push(one)
    cliIn(attic.namespace, attic.home, 'mesh', 'join', invite(cellar.home))
    const other = await startNode('attic', attic.home, attic)
    nodes.push(other)
    await until('one reaches the other', () => reaches(one, 'test.only.attic'))

    network?.move('attic', 77)
    await until('it says where it is', async () => JSON.stringify(await told(other)) === '["10.99.7.77"]')
    await until('one reaches the other', () => reaches(one, 'test.only.attic'), 60_000)

    network?.move('cellar', 88)
    network?.move('attic', 99)
    await until('both say where they are', async () => {
      const addresses = JSON.stringify([await told(one), await told(other)])
      return addresses === '[["10.99.7.88"],["10.99.7.99"]]'
    })
    await until('one reaches the other', () => reaches(one, 'test.only.attic'), 120_000)
    await until('and the other the one', () => reaches(other, 'test.only.cellar'), 60_000)
    expect((await call(one, 'test.only.attic')).structured.data).toMatchObject({ node: 'attic' })
  }, 600_000)
})
