import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import {
  agent,
  capability,
  endlessCapability,
  events,
  hear,
  MODERN_META,
  modernRequest,
  openHouse,
  recordedBus,
} from '../../test/mcp-house.ts'
import type { House } from '../../test/mcp-house.ts'
import type { Call } from '../bus/call.ts'
import type { Capability } from '../bus/capability.ts'
import { ulidToTraceId } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpHttpHandlerOptions } from './http-server.ts'
import { createAcceptedClientMetaCache } from './modern-server.ts'

let house: House | undefined
afterEach(async () => {
  await house?.close()
  house = undefined
})

async function open(capabilities: readonly Capability[], options: Partial<McpHttpHandlerOptions> = {}) {
  const { bus, calls } = recordedBus(...capabilities)
  house = await openHouse(bus, options)
  return { url: house.url, bus, calls }
}

const echo = capability({ name: 'test.echo' }, ({ body }) => ok({ data: body }))
const write = capability({ name: 'test.write', effect: 'writes' }, () => ok({ data: 'written' }))
const face = { kind: 'resource', uri: 'test://a', mimeType: 'application/json' } as const
const resource = capability({ name: 'test.a', face }, () => ok({ data: { a: 1 } }))

function names({ messages: [message] }: Awaited<ReturnType<typeof hear>>): readonly string[] {
  const { result } = message as unknown as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

describe('a tool called over HTTP', () => {
  it('answers with structured content, its text and the node that answered', async () => {
    const { url, bus } = await open([echo])
    const { status, messages } = await hear(
      url,
      modernRequest('tools/call', { name: 'test.echo', arguments: { a: 1 } }),
    )
    expect([status, messages]).toEqual([
      200,
      [
        {
          jsonrpc: '2.0',
          id: 1,
          result: {
            content: [{ type: 'text', text: '{"ok":true,"data":{"a":1}}' }],
            structuredContent: { ok: true, data: { a: 1 } },
            resultType: 'complete',
            _meta: {
              'io.modelcontextprotocol/serverInfo': { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
              'io.hearthbus/node': bus.nodeId,
            },
          },
        },
      ],
    ])
  })

  it('passes caller, channel and trace on to the bus', async () => {
    const { url, calls } = await open([echo])
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await hear(url, modernRequest('tools/call', { name: 'test.echo' }, { traceparent }))
    expect(calls[0]).toMatchObject({
      caller: { ...agent, client: 'a test' },
      channel: 'mcp-http',
      parentSpan: '00f067aa0ba902b7',
    })
    expect(ulidToTraceId(calls[0]?.traceId ?? '')).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
  })

  it('is recorded and refused when no provider offers it', async () => {
    const { url, calls } = await open([echo])
    const { messages } = await hear(url, modernRequest('tools/call', { name: 'no.such' }))
    expect(messages[0]).toMatchObject({ error: { code: -32_602, message: 'Unknown tool: no.such' } })
    expect(calls.map((call: Call) => call.capability)).toEqual(['no.such'])
  })

  it('is answered with suggestions for a misspelt name, in either spelling', async () => {
    const { url } = await open([echo])
    for (const name of ['test.ecko', 'test_ecko', 'echo']) {
      const { messages } = await hear(url, modernRequest('tools/call', { name }))
      expect(messages[0]).toMatchObject({ error: { message: `Unknown tool: ${name}. Did you mean test.echo?` } })
    }
  })

  it('is refused when the node in the endpoint does not exist', async () => {
    const { url } = await open([echo])
    const message = 'No node is called "attik" here; there is test-node.'
    for (const request of [modernRequest('tools/list'), modernRequest('tools/call', { name: 'test.echo' })]) {
      const { messages } = await hear(`${url}?node=attik`, request)
      expect(messages[0]).toMatchObject({ error: { code: -32_602, message } })
    }
    const { messages } = await hear(`${url}?node=test-node`, modernRequest('tools/list'))
    expect(messages[0]).toMatchObject({ result: { tools: [{ name: 'test.echo' }] } })
  })

  it('is refused when the name belongs to a service or resource, or is too long', async () => {
    let ran = false
    const run = () => {
      ran = true
      return ok({ data: 1 })
    }
    const inner = capability({ name: 'inner', face: { kind: 'service' } }, run)
    const { url, calls } = await open([inner, capability({ name: 'test.a', face }, run)])
    for (const name of ['inner', 'test.a', 'x'.repeat(5_000)]) {
      const { messages } = await hear(url, modernRequest('tools/call', { name }))
      expect(messages[0]).toMatchObject({ error: { code: -32_602 } })
    }
    expect(calls.map((call: Call) => call.capability)).toEqual(['inner@all', 'test.a@all', `${'x'.repeat(128)}…`])
    expect(ran).toBe(false)
  })

  it('is cancelled when the client closes the response', async () => {
    const { endless, begun, withdrawn } = endlessCapability()
    const { url } = await open([endless])
    const leave = new AbortController()
    const asked = fetch(url, { ...modernRequest('tools/call', { name: 'endless' }), signal: leave.signal })
    await begun
    leave.abort()
    await expect(asked).rejects.toThrow('aborted')
    await withdrawn
  })

  it('streams progress and requested logs before its result', async () => {
    const noisy = capability({ name: 'noisy' }, ({ interaction }) => {
      interaction?.progress?.(1, 3)
      interaction?.progress?.(1, 3)
      interaction?.log?.('debug', 'not wanted')
      interaction?.log?.('error', 'wanted')
      return ok({ data: 'done' })
    })
    const { url } = await open([noisy])
    const _meta = { ...MODERN_META, progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'warning' }
    const { headers, messages } = await hear(url, modernRequest('tools/call', { name: 'noisy', _meta }))
    expect(headers.get('content-type')).toBe('text/event-stream')
    expect(messages).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1, total: 3 } },
      { method: 'notifications/message', params: { level: 'error', data: 'wanted' } },
      { id: 1, result: { structuredContent: { data: 'done' } } },
    ])
  })

  it('is answered as a stream when it takes long', async () => {
    let finish: () => void = () => undefined
    const slow = capability(
      { name: 'slow' },
      () => new Promise((resolve) => (finish = () => resolve(ok({ data: 'at last' })))),
    )
    const { url } = await open([slow], { limits: { keepAliveMs: 5 } })
    const response = await fetch(url, modernRequest('tools/call', { name: 'slow' }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    finish()
    expect(await events(response)()).toMatchObject({ id: 1, result: { structuredContent: { data: 'at last' } } })
  })

  it('reveals no internal error text when the handler throws', async () => {
    const { url } = await open([
      capability({ name: 'bug' }, () => {
        throw new Error('secret path /etc')
      }),
    ])
    const { messages } = await hear(url, modernRequest('tools/call', { name: 'bug' }))
    expect(JSON.stringify(messages)).not.toContain('/etc')
    expect(messages[0]).toMatchObject({ result: { isError: true } })
  })
})

describe('lists over HTTP', () => {
  it('may be cached by the client for a minute', async () => {
    const { url } = await open([echo])
    const { messages } = await hear(url, modernRequest('tools/list'))
    expect(messages[0]).toMatchObject({ result: { ttlMs: 60_000, cacheScope: 'private', resultType: 'complete' } })
  })

  it('use underscores on request, and tools can be called by either name', async () => {
    const { url, calls } = await open([echo])
    expect(names(await hear(`${url}?names=underscore`, modernRequest('tools/list')))).toEqual(['test_echo'])
    await hear(url, modernRequest('tools/call', { name: 'test_echo' }))
    await hear(`${url}?names=underscore`, modernRequest('tools/call', { name: 'test.echo' }))
    expect(calls.map((call: Call) => call.capability)).toEqual(['test.echo', 'test.echo'])
  })

  it('list the tools of the profile in the path', async () => {
    const profiles = { some: { include: ['test.w*'], exclude: [] } }
    const { url, calls } = await open([echo, write], { profiles })
    expect(names(await hear(`${url}/read`, modernRequest('tools/list')))).toEqual(['test.echo'])
    expect(names(await hear(`${url}/some`, modernRequest('tools/list')))).toEqual(['test.write'])
    expect(names(await hear(`${url}/plain`, modernRequest('tools/list')))).toEqual(['test.echo', 'test.write'])
    expect((await hear(`${url}/other`, modernRequest('tools/list'))).status).toBe(404)
    const { messages } = await hear(`${url}/read`, modernRequest('tools/call', { name: 'test.write' }))
    const message = 'Unknown tool: test.write. It is not in the profile read.'
    expect(messages[0]).toMatchObject({ error: { code: -32_602, message } })
    expect(calls.map((call: Call) => call.capability)).toEqual(['test.write@read'])
  })

  it('contain what the role and the token allow, within the profiles of a narrowed token', async () => {
    let principal: FacePrincipal = { ...agent, role: 'observer' }
    const { url } = await open([echo, write], { authenticate: () => ok(principal) })
    expect(names(await hear(url, modernRequest('tools/list')))).toEqual(['test.echo'])
    principal = { ...agent, restrictions: { profiles: ['read'] } }
    expect(names(await hear(url, modernRequest('tools/list')))).toEqual(['test.echo'])
    expect((await hear(`${url}/all`, modernRequest('tools/list'))).status).toBe(403)
    const { messages } = await hear(url, modernRequest('tools/call', { name: 'test.write' }))
    expect(messages[0]).toMatchObject({ error: { code: -32_602, message: 'Unknown tool: test.write' } })
  })

  it('are updated as soon as a capability is registered', async () => {
    const { url, bus } = await open([echo])
    await hear(url, modernRequest('tools/list'))
    bus.registerCapability(write)
    expect(names(await hear(url, modernRequest('tools/list')))).toEqual(['test.echo', 'test.write'])
  })
})

describe('subscriptions over HTTP', () => {
  function subscribe(url: string, notifications: JsonObject, signal?: AbortSignal): Promise<Response> {
    return fetch(url, { ...modernRequest('subscriptions/listen', { notifications }), signal: signal ?? null })
  }

  it('receive the list and resource changes that they requested', async () => {
    const { url, bus } = await open([echo, resource])
    const next = events(await subscribe(url, { toolsListChanged: true, resourceSubscriptions: ['test://a'] }))
    expect(await next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
    bus.announceResource('test://a')
    expect(await next()).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'test://a' } })
    bus.registerCapability(write)
    expect(await next()).toMatchObject({ method: 'notifications/tools/list_changed' })
  })

  it('receive no changes of resources outside their catalogue', async () => {
    const { url } = await open([echo, resource])
    const next = events(await subscribe(`${url}/read`, { toolsListChanged: true, resourceSubscriptions: ['test://b'] }))
    expect(await next()).toMatchObject({ params: { notifications: { toolsListChanged: true } } })
  })

  it('are limited per principal, and one that ends makes room', async () => {
    const { url } = await open([echo], { limits: { maxSubscriptionsPerPrincipal: 1 } })
    const leave = new AbortController()
    await events(await subscribe(url, { toolsListChanged: true }, leave.signal))()
    const second = await subscribe(url, { toolsListChanged: true })
    expect(await second.json()).toMatchObject({
      id: 1,
      error: { code: -32_603, message: 'Subscription limit reached' },
    })
    leave.abort()
    await expect
      .poll(async () => {
        const third = await subscribe(url, { toolsListChanged: true })
        await third.body?.cancel()
        return third.headers.get('content-type')
      })
      .toBe('text/event-stream')
  })
})

describe('a refused HTTP request', () => {
  it('is answered with status 401 and a challenge when a credential is missing', async () => {
    const challenge = 'Bearer realm="hearthbus"'
    const { url, calls } = await open([echo], {
      authenticate: () => fail({ status: 401, message: 'A token is needed.', challenge }),
    })
    const { status, headers, messages } = await hear(url, modernRequest('tools/call', { name: 'test.echo' }))
    expect([status, headers.get('www-authenticate')]).toEqual([401, challenge])
    expect(messages[0]).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'A token is needed.' } })
    expect(calls).toEqual([])
  })

  it.each([
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 'The key "id" is given twice.'],
    ['no JSON', '{"jsonrpc"', 'The text is not valid JSON.'],
    ['nesting without end', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'deeper than 64 levels'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not valid UTF-8'],
  ])('is told what is wrong with its JSON: %s', async (_, body, reason) => {
    const { url } = await open([echo])
    const { status, messages } = await hear(url, { ...modernRequest('tools/list'), body })
    expect([status, messages[0]]).toMatchObject([400, { id: null, error: { code: -32_700 } }])
    expect(JSON.stringify(messages)).toContain(reason.replaceAll('"', String.raw`\"`))
  })

  it('is told the size limit, with or without a content length', async () => {
    const { url } = await open([echo], { limits: { maxBodyBytes: 1_000 } })
    const body = JSON.stringify({ long: 'x'.repeat(5_000_000) })
    const announced = await hear(url, { ...modernRequest('tools/list'), body })
    expect(announced.status).toBe(413)
    expect(announced.messages[0]).toMatchObject({
      error: { message: 'Payload Too Large: Request body must not exceed 1000 bytes' },
    })
    expect(await unannounced(url, body)).toBe(413)
  })

  it.each([
    ['GET', '2026-07-28', 405, 'POST'],
    ['DELETE', '2026-07-28', 405, 'POST'],
    ['PUT', '2025-11-25', 405, 'GET, POST, DELETE'],
    ['GET', '2025-11-25', 400, null],
  ])('%s in revision %s is answered with %i', async (method, revision, status, allow) => {
    const { url } = await open([echo])
    const headers = { 'mcp-protocol-version': revision, accept: 'text/event-stream' }
    const response = await hear(url, { method, headers })
    expect([response.status, response.headers.get('allow')]).toEqual([status, allow])
  })

  it('is answered with 404 for an unknown path and 400 for an unknown name style', async () => {
    const { url } = await open([echo])
    expect((await hear(`${url}/a/b`, modernRequest('tools/list'))).status).toBe(404)
    expect((await hear(`${url}?names=camels`, modernRequest('tools/list'))).status).toBe(400)
    expect((await hear(`${url}/`, modernRequest('tools/list'))).status).toBe(200)
  })
})

/** Sends a body without saying beforehand how long it is. */
function unannounced(url: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { headers } = modernRequest('tools/list')
    const sent = httpRequest(
      url,
      { method: 'POST', headers: { ...headers, 'transfer-encoding': 'chunked' } },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('an HTTP request with very long client metadata', () => {
  const longWinded = { experimental: { essay: { text: 'x'.repeat(70_000) } } }

  it('is refused when it opens a session or a subscription', async () => {
    const { url } = await open([echo])
    const clientInfo = { name: 't', version: '1' }
    const initialize = { protocolVersion: '2025-11-25', capabilities: longWinded, clientInfo }
    const session = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize }),
    })
    expect([session.status, session.headers.get('mcp-session-id')]).toEqual([413, null])
    const notifications = { toolsListChanged: true, remark: 'x'.repeat(70_000) }
    const listening = await fetch(url, modernRequest('subscriptions/listen', { notifications }))
    expect(listening.status).toBe(413)
    expect(await listening.json()).toMatchObject({ error: { code: -32_602 } })
  })

  it('is accepted, but cached only if it is short', () => {
    const envelopes = createAcceptedClientMetaCache()
    const [capabilities, client] = ['io.modelcontextprotocol/clientCapabilities', 'io.modelcontextprotocol/clientInfo']
    for (const [said, kept] of [
      [{ sampling: {} }, true],
      [longWinded, false],
    ] as const) {
      envelopes.remember({ params: { _meta: { [capabilities]: said, [client]: { name: 't' } } } })
      expect(envelopes.accepted(said, { name: 't' })).toBe(kept)
    }
  })
})
