import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { call, cli, closeAll, invite, meshHome, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

const TOOLS = '{ user: tools, password: tools }'

warnWithoutNats('logging in to NATS with node keys')

describe.skipIf(NATS_SERVER === '')('a NATS server that authenticates node keys', () => {
  const nodes: MeshNode[] = []
  let broker: NatsProcess | undefined
  let users: string

  afterAll(async () => {
    await closeAll(nodes)
    await broker?.stop()
  })

  it('admits nodes with their own key, and no others', async () => {
    const [cellar, attic] = [meshHome('cellar'), meshHome('attic')]
    const keys = [cellar, attic].map((home) => `{ nkey: ${String(cli(home, 'mesh', 'nkey')['nkey'])} }`)
    users = `authorization { users: [ ${keys.join(', ')}, ${TOOLS} ] }`
    broker = await startNats(users)
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

  it('lists the nodes and their statistics as NATS services', async () => {
    expect(await pinged()).toEqual(['attic', 'cellar'])
    const [stats] = await ask('$SRV.STATS')
    expect(stats).toMatchObject({ type: 'io.nats.micro.v1.stats_response', endpoints: [{ name: 'call' }] })
  })

  it('has all nodes back after it has refused them for a while', async () => {
    const [first] = nodes
    if (broker === undefined || first === undefined) throw new Error('nobody started')
    await broker.kill()
    await broker.restart(`authorization { users: [ ${TOOLS} ] }`)
    // Refused when it connects anew, and not only when it reconnects: the old connection is given up.
    const isShutOut = ({ log }: MeshNode): boolean => /Authorization Violation.*NATS cannot be reached/i.test(log())
    await until('both are shut out', () => nodes.every(isShutOut))
    await broker.kill()
    await broker.restart(users)
    await until('one reaches the other again', async () => (await call(first, 'test.only.attic')).outcome === 'ok')
    expect(await pinged()).toEqual(['attic', 'cellar'])
  })

  async function pinged(): Promise<readonly string[]> {
    const answers = await ask('$SRV.PING.hearthbus')
    return answers.map(({ metadata }) => (metadata as { node: string }).node).toSorted()
  }

  async function ask(subject: string): Promise<Record<string, unknown>[]> {
    const connection = await connect({ servers: broker?.url ?? '', user: 'tools', pass: 'tools' })
    const answers: Record<string, unknown>[] = []
    // Both of them, as soon as they have answered: left to itself it waits until its time is over.
    for await (const message of await connection.requestMany(subject, '', { maxWait: 60_000 })) {
      answers.push(message.json<Record<string, unknown>>())
      if (answers.length === 2) break
    }
    await connection.close()
    return answers
  }
})
