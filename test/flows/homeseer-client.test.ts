/**
 * What only shows between a real client, a gateway in a process of its own, and a HomeSeer on sockets: a person who is
 * asked and remembered, values with their age, and credentials that appear nowhere.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectHttp, startGatewayProcess } from '../gateway-process.ts'
import type { Era, GatewayProcess, Home } from '../gateway-process.ts'
import {
  ADMIN_CLAIMS,
  ADMIN_OPEN,
  ADMIN_TRUSTED,
  at,
  callTool,
  CLAIMS,
  homeseerHome,
  openWorld,
} from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'

/** A client whose person answers every question with the same choice, and remembers what was asked. */
async function connectPerson(
  url: string,
  era: Era,
  choice: string,
): Promise<{ readonly client: Client; readonly questions: unknown[] }> {
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy'
  const client = new Client(
    { name: 'person', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  )
  const questions: unknown[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params)
    return { action: 'accept', content: { choice } }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  return { client, questions }
}

describe('a client with a person behind it', () => {
  let world: World
  let home: Home
  let gateway: GatewayProcess

  beforeAll(async () => {
    world = await openWorld()
    home = homeseerHome(world)
    gateway = await startGatewayProcess(home)
  })
  afterAll(async () => {
    await gateway.stop()
    await world.close()
    home.remove()
  })

  it.each<{ era: Era; query: string }>([
    { era: 'modern', query: 'Lamp Bedroom' },
    { era: 'legacy', query: 'Bedroom Lamp Below' },
  ])('asks the person once which lamp is meant: $era', async ({ era, query }) => {
    const { client, questions } = await connectPerson(gateway.url, era, '191')
    const target = world.simulator.house.hardware(191)?.value === 0 ? 255 : 0
    const wish = { query, value: target, execute: true, ...CLAIMS }
    const first = await callTool(client, 'hs4.intent.device_set_by_name', wish)
    expect(first.answer).toMatchObject({ result: { execute: true, resolution: { resolvedRef: 191 } } })
    expect(questions).toHaveLength(1)
    expect(world.simulator.house.hardware(191)?.value).toBe(target)
    const again = await callTool(client, 'hs4.intent.device_set_by_name', { ...wish, value: 255 - target })
    expect(again.answer).toMatchObject({ result: { execute: true, resolution: { resolvedRef: 191, match: 'exact' } } })
    expect(questions).toHaveLength(1)
    const { contents } = await client.readResource({ uri: 'hs4://catalog/aliases' })
    expect(JSON.stringify(contents)).toContain(JSON.stringify(JSON.stringify(query)).slice(1, -1))
    await client.close()
  })

  it('lets the person choose the door, which then still needs an approval', async () => {
    const { client } = await connectPerson(gateway.url, 'modern', '141')
    const before = world.state()
    const answer = await callTool(client, 'hs4.intent.device_set_by_name', {
      query: 'front lock',
      value: 0,
      execute: true,
      ...CLAIMS,
    })
    expect(answer.answer).toMatchObject({
      error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } },
    })
    expect(world.state()).toEqual(before)
    await client.close()
  })

  it('lists what was done, each change once, and what waits for an approval', async () => {
    const { client } = await connectPerson(gateway.url, 'legacy', '141')
    const told = async (args: object): Promise<unknown> => {
      const { structuredContent } = await client.callTool({ name: 'ledger_changes', arguments: { ...args } })
      return at(structuredContent, 'data', 'changes')
    }
    expect(await told({ family: 'homeseer', result: 'asked' })).toMatchObject([
      {
        caller: 'local',
        client: expect.stringContaining('person'),
        capability: 'hs4.devices.set',
        title: 'Set a device',
        target: 'homeseer:ref:141',
        label: expect.stringContaining('Lock'),
        approval: { state: 'requested' },
        trace_id: expect.any(String),
      },
    ])
    const done = { result: 'done', target: 'homeseer:ref:191', verification: { matched: true } }
    expect(await told({ text: 'homeseer:ref:191' })).toMatchObject([done, done, done, done])
    const [last] = (await told({ limit: 1 })) as { log_index: number }[]
    const proved = await client.callTool({ name: 'ledger_proof', arguments: { log_index: last?.log_index ?? -1 } })
    expect(at(proved.structuredContent, 'data', 'leaf')).toContain('"tool":"hs4.devices.set"')
    await client.close()
  })
})

describe('device values', () => {
  it('have an age that stays small with push or polling, and grows while HomeSeer is away', async () => {
    const world = await openWorld()
    const polled = homeseerHome(world, { push: { pollSeconds: 1 }, statusCacheMs: 60_000, readRetries: 0 })
    const gateway = await startGatewayProcess(polled)
    const client = await connectHttp(gateway.url, 'modern')
    const lamp = async (): Promise<unknown> =>
      at((await callTool(client, 'hs4.devices.list', { location1: 'kitchen' })).answer, 'result', 'items', 0)
    world.simulator.move(120, 255)
    await expect.poll(lamp).toMatchObject({ ref: 120, value: 255, status: 'On', ageMs: expect.any(Number) })
    expect(at((await callTool(client, 'hs4.health.get')).answer, 'result', 'push')).toBe('off')
    await world.close()
    // Nobody answers any more: what is known is told, older every time.
    const first = Number(at(await lamp(), 'ageMs'))
    await expect.poll(async () => Number(at(await lamp(), 'ageMs'))).toBeGreaterThan(first + 1_000)
    const attention = async (): Promise<unknown> => {
      const { structuredContent } = await client.callTool({ name: 'server_health', arguments: {} })
      return at(structuredContent, 'data', 'attention')
    }
    const sentence = expect.stringContaining('HomeSeer') as string
    await expect.poll(attention).toContainEqual({ about: 'homeseer', sentence })
    await client.close()
    await gateway.stop()
    polled.remove()
  })
})

describe('HomeSeer credentials', () => {
  it.each(['basic', 'query'] as const)('sent as %s appear in no log, answer or file', async (authentication) => {
    const world = await openWorld()
    const secret = 'anna,pw'
    const home = homeseerHome(
      world,
      { authentication, user: 'anna', password: secret, admin: ADMIN_OPEN },
      ADMIN_TRUSTED,
    )
    writeFileSync(home.config, readFileSync(home.config, 'utf8').replace('logLevel: warn', 'logLevel: debug'))
    const gateway = await startGatewayProcess(home)
    const client = await connectHttp(gateway.url, 'modern')
    const answers = [
      await callTool(client, 'hs4.health.get'),
      await callTool(client, 'hs4.devices.set', { ref: 120, value: 255, ...CLAIMS }),
      await callTool(client, 'hs4.admin.users.create', { username: 'mia', password: 'mia-pw-1234', ...ADMIN_CLAIMS }),
      await callTool(client, 'hs4.selftest.run'),
    ]
    world.simulator.faults.bareError = true
    answers.push(await callTool(client, 'hs4.devices.set', { ref: 120, value: 0, ...CLAIMS }))
    world.simulator.hangUp('http')
    answers.push(await callTool(client, 'hs4.devices.status.get', { fresh: true }))
    await world.close()
    answers.push(await callTool(client, 'hs4.health.get'))
    await client.close()
    await gateway.stop()
    const basic = Buffer.from(`anna:${secret}`).toString('base64')
    const files = readdirSync(home.data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'hearthbus.yaml')
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    const said = [gateway.log(), JSON.stringify(answers), ...files]
    for (const shown of [secret, encodeURIComponent(secret), basic, 'mia-pw-1234'])
      expect(said.filter((text) => text.includes(shown))).toEqual([])
    // The log is not merely silent.
    expect(gateway.log()).toContain('a request to HomeSeer failed')
    home.remove()
  })
})
