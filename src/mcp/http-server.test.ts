import { afterEach, describe, expect, it } from 'vitest'
import { agent, capability, openHouse, recordedBus } from '../../test/mcp-house.ts'
import type { House } from '../../test/mcp-house.ts'
import { fail, ok } from '../core/result.ts'
import type { JsonObject } from '../core/json.ts'

let house: House | undefined
afterEach(async () => {
  await house?.close()
  house = undefined
})

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
}

const echo = capability({ name: 'test.echo' }, ({ body }) => ok({ data: body }))

function modern(method: string, params: JsonObject = {}, headers: Record<string, string> = {}): RequestInit {
  const name = params['name'] ?? params['uri']
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } }),
  }
}

describe('MCP over HTTP, 2026-07-28', () => {
  it('calls a tool and answers with structured content and its text', async () => {
    house = await openHouse(recordedBus(echo).bus)
    const response = await fetch(house.url, modern('tools/call', { name: 'test.echo', arguments: { a: 1 } }))
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        content: [{ type: 'text', text: '{"ok":true,"data":{"a":1}}' }],
        structuredContent: { ok: true, data: { a: 1 } },
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' } },
      },
    })
  })

  it('lists tools for one caller only, for a minute', async () => {
    house = await openHouse(recordedBus(echo).bus)
    const { result } = (await (await fetch(house.url, modern('tools/list'))).json()) as { result: JsonObject }
    expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private', resultType: 'complete' })
    expect(result['tools']).toMatchObject([{ name: 'test.echo', annotations: { readOnlyHint: true } }])
  })

  it('tells the ledger of an unknown tool and the caller that there is none', async () => {
    const { bus, calls } = recordedBus(echo)
    house = await openHouse(bus)
    const response = await fetch(house.url, modern('tools/call', { name: 'no.such' }))
    expect(await response.json()).toMatchObject({ error: { code: -32_602, message: 'Unknown tool: no.such' } })
    expect(calls.map(({ capability }) => capability)).toEqual(['no.such'])
  })

  it('sends nobody in whom it does not know', async () => {
    const challenge = 'Bearer realm="hearthbus"'
    house = await openHouse(recordedBus(echo).bus, {
      authenticate: () => fail({ status: 401, message: 'A token is needed.', challenge }),
    })
    const response = await fetch(house.url, modern('tools/list'))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
  })
})

describe('MCP over HTTP, 2025 family', () => {
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  async function begin(url: string): Promise<string> {
    const response = await fetch(url, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    })
    await response.text()
    return response.headers.get('mcp-session-id') ?? ''
  }

  it('opens a session and calls a tool in it', async () => {
    const { bus, calls } = recordedBus(echo)
    house = await openHouse(bus)
    const id = await begin(house.url)
    const response = await fetch(house.url, {
      method: 'POST',
      headers: { ...json, 'mcp-session-id': id },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'test_echo', arguments: { a: 1 } },
      }),
    })
    expect(await response.text()).toContain('"structuredContent":{"ok":true,"data":{"a":1}}')
    expect(calls[0]?.caller).toEqual({ ...agent, client: 't' })
  })
})
