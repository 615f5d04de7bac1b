/** What nodes are called by others, where one is away and another would like to be called so. */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, closeAll, formCommunity, startAgain, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let cellar: MeshNode
let attic: MeshNode
let barn: MeshNode

beforeAll(async () => {
  ;[cellar, attic, barn] = (await formCommunity(['cellar', 'attic', 'barn'])) as [MeshNode, MeshNode, MeshNode]
})
afterAll(() => closeAll([cellar, attic, barn]))

describe('the name of a node', () => {
  it('is known while the node is offline, also after a restart, and no other node can take it', async () => {
    expect(await asked('attic')).toMatch(/"node":"attic"/)
    await attic.stop()
    await barn.stop()
    const config = readFileSync(barn.home.config, 'utf8')
    writeFileSync(barn.home.config, config.replace('name: barn', 'name: attic'))
    barn = await startAgain(barn)
    const isSeen = async (): Promise<boolean> => (await asked(barn.nodeId)).includes('"caller"')
    await until('it is back', isSeen)
    await cellar.stop()
    cellar = await startAgain(cellar)
    await until('they see each other', isSeen)
    expect(await asked('attic')).toMatch(/The node attic cannot be reached now\. Nothing was sent\./)
    expect(await names()).toEqual(['barn'])

    await barn.stop()
    writeFileSync(barn.home.config, config.replace('name: barn', 'name: stable'))
    barn = await startAgain(barn)
    await until('it is called as its owner wants', async () => (await names()).includes('stable'))
    expect(await asked('stable')).toContain('"caller"')
  })
})

async function asked(node: string): Promise<string> {
  return JSON.stringify((await call(cellar, 'test.echo', {}, { node })).structured)
}

async function names(): Promise<readonly string[]> {
  const { peers } = (await (await fetch(`${cellar.url}/api/topology`)).json()) as { peers: { displayName: string }[] }
  return peers.map(({ displayName }) => displayName)
}
