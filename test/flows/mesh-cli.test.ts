/** What the mesh commands know of the gateway that runs beside them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHome } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'
import { call, cli, invite, meshHome, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let cottage: MeshNode
/** Somebody who forgets `--config`, or has another file in the environment. */
let elsewhere: Home
beforeAll(async () => {
  cottage = await startNode('cottage', meshHome('cottage'))
  elsewhere = createHome()
})
afterAll(async () => {
  await cottage.stop()
  cottage.home.remove()
  elsewhere.remove()
})

describe('a community that is founded while the gateway runs', () => {
  it('has the node under the name that the gateway has, whatever file the command was given', () => {
    const { data } = cottage.home
    const forgetful = { ...elsewhere, data }
    cli(forgetful, 'mesh', 'init', '--name', 'village')
    expect(cli(forgetful, 'mesh', 'members')).toMatchObject({ name: 'village', members: [{ name: 'cottage' }] })
  })
})

describe('a node that founded a community of its own by mistake', () => {
  it('leaves it, joins the right one, and is reached there', async () => {
    const home = meshHome('shed')
    cli(home, 'mesh', 'init', '--name', 'mistake')
    expect(() => cli(home, 'mesh', 'join', invite(cottage.home))).toThrow(
      /To leave that one first: hearthbus mesh leave/,
    )
    let shed = await startNode('shed', home)
    expect(() => cli(home, 'mesh', 'leave')).toThrow(/Stop it first/)
    await shed.stop()
    expect(cli(home, 'mesh', 'leave')).toMatchObject({
      name: 'mistake',
      root_key: expect.stringContaining('community.key.'),
    })
    cli(home, 'mesh', 'join', invite(cottage.home))
    shed = await startNode('shed', home)
    await until('it is reached', async () => (await call(cottage, 'test.only.shed')).outcome === 'ok')
    await shed.stop()
    home.remove()
  })
})
