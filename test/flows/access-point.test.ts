/**
 * Access points: a voice backend that this node connects to uses its tools, through the guard, as a caller of its own.
 *
 * The stand-in plays what the documents and public servers do; a real gateway process dials it over a real socket.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isJsonObject } from '../../src/core/json.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { openConsoleHouse } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { doors } from '../strange-house.ts'
import { startVoiceBackend } from '../voice-backend.ts'
import type { BackendConnection, VoiceBackend } from '../voice-backend.ts'

const TOKEN = 'F3jo6UNEsSrk/zbp+c3no=='
const INITIALIZE = {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'xz-mcp-broker', version: '0.0.1' },
}

let backend: VoiceBackend
let house: ConsoleHouse
const front = doors()

beforeEach(async () => {
  backend = await startVoiceBackend(TOKEN)
})
afterEach(async () => {
  await house.stop()
  await backend.stop()
  delete process.env['KITCHEN_TOKEN']
  front.opened.length = 0
})

async function openHouse(token = TOKEN): Promise<void> {
  process.env['KITCHEN_TOKEN'] = token
  house = await openConsoleHouse([front.service], {
    accessPoints: [{ name: 'kitchen', url: `${backend.url}?token=\${KITCHEN_TOKEN}`, profile: 'kitchen' }],
    profiles: { kitchen: { include: ['test.door.open', 'server_ping', 'ledger_changes'] } },
  })
}

async function greeted(): Promise<BackendConnection> {
  const connection = await backend.connected()
  expect(await connection.ask(0, 'initialize', INITIALIZE)).toMatchObject({
    id: 0,
    result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'hearthbus' } },
  })
  connection.tell({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return connection
}

function textOf(answer: JsonObject): string {
  const { result } = answer
  const [block] = isJsonObject(result) && Array.isArray(result['content']) ? result['content'] : []
  return isJsonObject(block) && typeof block['text'] === 'string' ? block['text'] : ''
}

describe('an access point', () => {
  it('lists a few tools under plain names, and answers pings and ids of any type', async () => {
    await openHouse()
    const connection = await greeted()
    // Percent-encoded: a plus would arrive as a space.
    expect(connection.path).toBe('/mcp_endpoint/mcp/?token=F3jo6UNEsSrk%2Fzbp%2Bc3no%3D%3D')
    const listed = await connection.ask(1, 'tools/list')
    const tools = (listed['result'] as { tools: JsonObject[] }).tools
    expect(new Set(tools.map(({ name }) => name))).toEqual(new Set(['ledger_changes', 'server_ping', 'test_door_open']))
    for (const tool of tools) expect(Object.keys(tool).toSorted()).toEqual(['description', 'inputSchema', 'name'])
    expect(await connection.ask('8f1c_n_1', 'ping')).toEqual({ jsonrpc: '2.0', id: '8f1c_n_1', result: {} })
    // Once for each voice session, on the same socket, interleaved.
    const again = [connection.ask('a_n_1', 'initialize', INITIALIZE), connection.ask('a_n_2', 'tools/list')]
    expect((await Promise.all(again)).map(({ id }) => id)).toEqual(['a_n_1', 'a_n_2'])
    const pong = await connection.ask('a_n_3', 'tools/call', {
      name: 'server_ping',
      arguments: {},
      serialNumber: 'SN1',
    })
    expect(textOf(pong)).toContain('version')
    expect(await connection.ask(7, 'resources/list')).toMatchObject({ id: 7, error: { code: -32601 } })
    for (const frame of connection.frames) expect(Buffer.byteLength(frame)).toBeLessThan(8_192)
  })

  it('requests approval as its own principal, answers with text, and acts once after the approval', async () => {
    await openHouse()
    const connection = await greeted()
    const call = { name: 'test_door_open', arguments: { door: 'front' } }
    const asked = await connection.ask(2, 'tools/call', call)
    // Backends drop the text of a result that is an error.
    expect(asked).toMatchObject({ result: { isError: false } })
    expect(textOf(asked)).toMatch(/approv/i)
    expect(front.opened).toEqual([])
    const waiting = (await (await house.api('/api/approvals?state=requested', { token: house.owner })).json()) as {
      id: string
      binding: { principal: string }
    }[]
    expect(waiting.map(({ binding }) => binding.principal)).toEqual(['access-point:kitchen'])
    await house.api(`/api/approvals/${waiting[0]?.id}/approve`, { method: 'POST', body: {}, token: house.owner })
    await connection.ask(3, 'tools/call', call)
    expect(front.opened).toHaveLength(1)
    await connection.ask(4, 'tools/call', call)
    expect(front.opened).toHaveLength(1)
    // What is not in its profile is not there for it.
    const outside = await connection.ask(5, 'tools/call', { name: 'ledger_checkpoint', arguments: {} })
    expect(outside).toMatchObject({ error: { message: expect.stringContaining('Unknown tool') } })
  })

  it('reconnects after a cut, with one connection at a time, and never shows its token', async () => {
    await openHouse()
    const first = await greeted()
    first.drop()
    const second = await greeted()
    expect(second.path).toBe(first.path)
    const status = await (await house.api('/api/status', { token: house.owner })).text()
    expect(status).toContain('"access-points"')
    expect(status).toContain('"kitchen":{"state":"connected"')
    expect(status).not.toContain('F3jo6UNEsSrk')
    const metrics = await (await house.api('/metrics', { token: house.owner })).text()
    expect(metrics).toContain('hearthbus_connection_up{service="access-points",connection="kitchen"} 1')
    expect(backend.connections()).toBe(2)
  })

  it('reports a refused token, and does not try again', async () => {
    await openHouse('nonsense')
    await expect
      .poll(async () => (await house.api('/api/status', { token: house.owner })).text())
      .toContain('it does not accept the token')
    expect(backend.connections()).toBe(1)
  })

  it('ignores malformed JSON-RPC frames', async () => {
    await openHouse()
    const connection = await greeted()
    for (const message of [null, 7, 'text', [], {}, { method: 'tools/call' }, { id: 9 }, { id: 9, result: {} }])
      connection.tell(message)
    connection.tell({ jsonrpc: '2.0', id: 'deep', method: 'tools/call', params: { name: 7 } })
    expect(await connection.ask(10, 'ping')).toMatchObject({ result: {} })
    // JSON-RPC 2.0 § 4: an id is a string or a number; parameters are structured, and some backends write null for none.
    connection.tell({ jsonrpc: '2.0', id: 11, method: 'ping', params: null })
    connection.tell({ jsonrpc: '2.0', id: { a: 1 }, method: 'ping' })
    connection.tell({ jsonrpc: '2.0', id: 12, method: 'tools/list', params: [1] })
    await expect
      .poll(() => connection.frames)
      .toEqual(
        expect.arrayContaining([
          '{"jsonrpc":"2.0","id":11,"result":{}}',
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid id"}}',
          expect.stringContaining('"id":12,"error":{"code":-32602'),
        ]),
      )
    for (let index = 0; index < 2_000; index++) connection.tell({ jsonrpc: '2.0', id: index, method: 'ping' })
    await connection.closed
    expect(connection.frames.length).toBeLessThan(1_000)
  })
})
