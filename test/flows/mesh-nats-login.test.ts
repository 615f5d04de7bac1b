import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { call, cli, closeAll, invite, meshHome, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

warnWithoutNats('logging in to NATS with node keys')

describe.skipIf(NATS_SERVER === '')('a NATS server that knows node keys', () => {
  const nodes: MeshNode[] = []
  let broker: NatsProcess | undefined

  afterAll(async () => {
    await closeAll(nodes)
    await broker?.stop()
  })

  it('lets nodes in with the key that they have, and nobody without', async () => {
    const [cellar, attic] = [meshHome('cellar'), meshHome('attic')]
    const keys = [cellar, attic].map((home) => `{ nkey: ${String(cli(home, 'mesh', 'nkey')['nkey'])} }`)
    broker = await startNats(`authorization { users: [ ${keys.join(', ')}, { user: tools, password: tools } ] }`)
    const { url } = broker
    const mesh = `  advertise: ['127.0.0.1:9']\n  nats: { servers: ['${url}'], nkey: true }`
    for (const [name, home] of [
      ['cellar', cellar],
      ['attic', attic],
    ] as const) {
      const again = meshHome(name, { mesh })
      writeFileSync(home.config, readFileSync(again.config))
      again.remove()
    }
    cli(cellar, 'mesh', 'init')
    nodes.push(await startNode('cellar', cellar))
    cli(attic, 'mesh', 'join', invite(cellar))
    nodes.push(await startNode('attic', attic))
    const [first] = nodes
    if (first === undefined) throw new Error('nobody started')
    await until('one reaches the other', async () => (await call(first, 'test.only.attic')).outcome === 'ok')
    await expect(connect({ servers: url, reconnect: false })).rejects.toThrow(/[Aa]uthorization/)
  })

  it('shows its tools which nodes there are and what they did', async () => {
    const connection = await connect({ servers: broker?.url ?? '', user: 'tools', pass: 'tools' })
    const ask = async (subject: string): Promise<Record<string, unknown>[]> => {
      const answers: Record<string, unknown>[] = []
      for await (const message of await connection.requestMany(subject, '', { maxWait: 1_000, maxMessages: 2 }))
        answers.push(message.json<Record<string, unknown>>())
      return answers
    }
    const pinged = await ask('$SRV.PING.hearthbus')
    expect(pinged.map(({ metadata }) => (metadata as { node: string }).node).toSorted()).toEqual(['attic', 'cellar'])
    const [stats] = await ask('$SRV.STATS')
    expect(stats).toMatchObject({ type: 'io.nats.micro.v1.stats_response', endpoints: [{ name: 'call' }] })
    await connection.close()
  })
})
