/**
 * The founder's data, ledger included, is put back to a copy from before it let anybody in. Nobody is lost whom no
 * revocation names, and the invitation that was used lets nobody in. Without witnesses: what the ledger refuses by
 * itself is `mesh-restore`'s.
 */
import { cpSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetPin } from '../ledger-pins.ts'
import { freePort } from '../local-port.ts'
import { cli, closeAll, invite, meshHome, startAgain, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let cellar: MeshNode
let attic: MeshNode
let thief: MeshNode

beforeAll(async () => {
  const mesh = '  witness: false'
  const home = meshHome('cellar', { mesh, port: await freePort() })
  cli(home, 'mesh', 'init', '--name', 'village')
  cellar = await startNode('cellar', home)
  const second = meshHome('attic', { mesh })
  const third = meshHome('thief', { mesh })
  attic = await startNode('attic', second)
  thief = await startNode('thief', third)
})
afterAll(() => closeAll([cellar, attic, thief]))

describe('a founder restored from an older copy', () => {
  it('learns the forgotten member from that member, and accepts no used invitation again', async () => {
    const { data } = cellar.home
    const invitation = invite(cellar.home)
    await cellar.stop()
    cpSync(data, `${data}-copy`, { recursive: true })
    cellar = await startAgain(cellar)
    cli(attic.home, 'mesh', 'join', invitation)
    await until('both know each other', async () => (await peers(cellar)) === 1 && (await peers(attic)) === 1)
    await cellar.stop()
    rmSync(data, { recursive: true })
    cpSync(`${data}-copy`, data, { recursive: true })
    rmSync(`${data}-copy`, { recursive: true })
    // All of the machine is put back: nothing on it knows better.
    forgetPin(data)
    cellar = await startAgain(cellar)

    await until('the founder knows its member again', async () => (await peers(cellar)) === 1)
    expect(() => cli(thief.home, 'mesh', 'join', invitation)).toThrow(/used already/)
    // And what it decides from now on makes nobody a stranger.
    cli(thief.home, 'mesh', 'join', invite(cellar.home))
    await until('all three know each other', async () =>
      (await Promise.all([cellar, attic, thief].map(peers))).every((count) => count === 2),
    )
    const { members } = cli(attic.home, 'mesh', 'members') as { members: { name: string }[] }
    expect(members.map(({ name }) => name).toSorted()).toEqual(['attic', 'cellar', 'thief'])
  })
})

async function peers(node: MeshNode): Promise<unknown> {
  return (await node.say({ do: 'stats' }))['peers']
}
