/** What the mesh commands know of the gateway that runs beside them. */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
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

describe('a community founded while the gateway runs', () => {
  it('contains the node under the gateway’s name, whatever configuration file the command had', () => {
    const { data } = cottage.home
    const forgetful = { ...elsewhere, data }
    cli(forgetful, 'mesh', 'init', '--name', 'village')
    expect(cli(forgetful, 'mesh', 'members')).toMatchObject({ name: 'village', members: [{ name: 'cottage' }] })
  })
})

describe('a node that founded a community by mistake', () => {
  it('leaves it, joins another one, and is reached there', async () => {
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

describe('a node that joins while non-members hold connections', () => {
  // Over every listener: those of devices are in devices/strangers, that of agents and people in its module's tests.
  it('is admitted beside 256 idle TLS connections and 256 without a handshake', async () => {
    const invitation = invite(cottage.home)
    const port = meshPort(invitation)
    const idle: Socket[] = []
    for (let count = 0; count < 256; count++) {
      const secure = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
      await once(secure, 'secureConnect')
      const plain = connectTcp({ host: '127.0.0.1', port })
      await once(plain, 'connect')
      for (const socket of [secure, plain]) idle.push(socket.on('error', () => undefined))
    }
    const home = meshHome('barn')
    cli(home, 'mesh', 'join', invitation)
    expect(cli(cottage.home, 'mesh', 'members')).toMatchObject({ members: expect.arrayContaining([nodeNamed('barn')]) })
    for (const socket of idle) socket.destroy()
    home.remove()
  })
})

function nodeNamed(name: string): unknown {
  return expect.objectContaining({ name })
}

/** The second part of an invitation is JSON, with the address at which its node is reached. */
function meshPort(invitation: string): number {
  const document = Buffer.from(invitation.split('.')[1] ?? '', 'base64url').toString('utf8')
  return Number(/127\.0\.0\.1:(\d+)/.exec(document)?.[1])
}
