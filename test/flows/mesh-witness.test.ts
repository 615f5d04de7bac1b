/**
 * Nodes witness each other's ledgers, also where these have one name: a log keeps the name of its first start, and who
 * tries the nodes out before they are given names of their own has several logs called `hearthbus.local/home`.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeAll, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let nodes: readonly MeshNode[] = []
beforeAll(async () => {
  nodes = await formCommunity(['home', 'attic', 'cellar'], { origin: 'hearthbus.local/home' })
})
afterAll(() => closeAll(nodes))

it('each ledger of three nodes of one name is witnessed by the two others', async () => {
  for (const node of nodes)
    await until(`${node.name} is witnessed by both`, async () => {
      const { checkpoint } = (await (await fetch(`${node.url}/api/ledger`)).json()) as { checkpoint: string | null }
      return checkpoint?.match(/^— hearthbus\.local\/witness\//gm)?.length === 2
    })
  expect(nodes.map((node) => node.log()).join('')).not.toContain('a different ledger of this node')
})
