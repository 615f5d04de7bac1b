/** What the mesh commands know of the gateway that runs beside them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHome } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'
import { cli, meshHome, startNode } from '../mesh-house.ts'
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
