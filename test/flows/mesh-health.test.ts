/** What a person sees of a mesh that does not work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandSync } from '../gateway-process.ts'
import { cli, closeAll, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

warnWithoutNats('the health of the mesh')
describe.skipIf(NATS_SERVER === '')('health of the mesh', () => {
  let broker: NatsProcess
  let nodes: readonly MeshNode[] = []
  beforeAll(async () => {
    broker = await startNats()
    nodes = await formCommunity(['cellar', 'attic'], { mesh: `  nats: { servers: ["${broker.url}"] }` })
  })
  afterAll(async () => {
    await closeAll(nodes)
    await broker.stop()
  })

  it('is reported by status and doctor, including a lost NATS connection and a revoked node', async () => {
    const [cellar, attic] = nodes as [MeshNode, MeshNode]
    await until('all is well', async () => (await mesh(cellar)).status === 'ok')
    expect(await mesh(cellar)).toEqual({
      version: expect.any(String),
      name: 'mesh',
      status: 'ok',
      details: { community: 'village', members: 1, reached: 1, nats: 'up' },
    })
    await broker.kill()
    await until('it is noticed', async () => (await mesh(cellar)).details.nats === 'down')
    expect(doctor(cellar)).toMatch(/✗ mesh: NATS \(nats:\/\/127\.0\.0\.1:\d+\) has been out of reach since 20/)
    await until('the log says so', () => cellar.log().includes('the connection to NATS is lost'))
    expect(cellar.log().match(/the connection to NATS is lost/g)).toHaveLength(1)
    await broker.restart()
    await until('it is back', async () => (await mesh(cellar)).status === 'ok')
    cli(cellar.home, 'mesh', 'revoke', 'attic')
    await until('it knows', async () => (await mesh(attic)).details['away'] === true)
    expect(doctor(attic)).toMatch(/✗ mesh: (village has revoked this node|0 of 1 other members are reached)/)
  })
})

interface Line {
  readonly name: string
  readonly status: string
  readonly details: Record<string, unknown>
}

async function mesh({ url }: MeshNode): Promise<Line> {
  const { services } = (await (await fetch(`${url}/api/status`)).json()) as { services: Line[] }
  const found = services.find(({ name }) => name === 'mesh')
  if (found === undefined) throw new Error('status says nothing of the mesh')
  return found
}

function doctor({ home }: MeshNode): string {
  return runCommandSync(home, 'doctor').stdout
}
