import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import {
  agent,
  capability,
  endlessCapability,
  hear,
  legacyClient,
  openHouse,
  recordedBus,
} from '../../test/mcp-house.ts'
import type { House } from '../../test/mcp-house.ts'
import type { Capability } from '../bus/capability.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpHttpHandlerOptions } from './http-server.ts'

let house: House | undefined
afterEach(async () => {
  await house?.close()
  house = undefined
})

async function open(capabilities: readonly Capability[], options: Partial<McpHttpHandlerOptions> = {}) {
  const { bus, calls } = recordedBus(...capabilities)
  house = await openHouse(bus, options)
  return { url: house.url, bus, calls, house }
}

const echo = capability({ name: 'test.echo' }, ({ body }) => ok({ data: body }))
const other = capability({ name: 'test.other' }, () => ok({ data: 1 }))
const callEcho = { id: 1, method: 'tools/call', params: { name: 'test_echo', arguments: { a: 1 } } }

describe('MCP session of the 2025 revisions', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('is opened in revision %s', async (revision) => {
    const { url, calls } = await open([echo])
    const { post, sessionId } = await legacyClient(url, revision)
    expect(sessionId).toMatch(/^[\u0021-\u007e]{16,}$/)
    const { messages } = await post(callEcho)
    expect(messages).toMatchObject([{ id: 1, result: { structuredContent: { ok: true, data: { a: 1 } } } }])
    expect(calls[0]).toMatchObject({ caller: { ...agent, client: 'an old test' }, channel: 'mcp-http' })
  })

  it('gives the router a session id that differs from its secret', async () => {
    const { url, calls } = await open([echo])
    const { post, sessionId } = await legacyClient(url)
    await post(callEcho)
    await post(callEcho)
    expect(calls[0]?.sessionId).toBe(calls[1]?.sessionId)
    expect(calls[0]?.sessionId).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
    expect(calls[0]?.sessionId).not.toBe(sessionId)
  })

  it('answers ping and accepts a log level', async () => {
    const { url } = await open([echo])
    const { post } = await legacyClient(url)
    expect((await post({ id: 1, method: 'ping' })).messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
    const level = { id: 2, method: 'logging/setLevel', params: { level: 'error' } }
    expect((await post(level)).messages).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }])
  })

  it.each([
    ['logging/setLevel', { level: 'loud' }, '"level" is one of debug, info, notice, '],
    ['resources/subscribe', { uri: 7 }, '"uri" must be a string'],
    ['resources/unsubscribe', {}, '"uri" must be a string'],
  ])('rejects invalid parameters of %s and names the expected form', async (method, params, shape) => {
    const { url } = await open([echo])
    const { post } = await legacyClient(url)
    const message = expect.stringContaining(`Invalid params for ${method}: ${shape}`)
    expect((await post({ id: 2, method, params })).messages).toMatchObject([
      { id: 2, error: { code: -32_602, message } },
    ])
  })

  it('belongs to the principal, the restrictions and the scope that opened it', async () => {
    let principal: FacePrincipal = agent
    const { url } = await open([echo], { authenticate: () => ok(principal) })
    const { post, sessionId } = await legacyClient(url)
    const gone = { status: 404, messages: [{ error: { code: -32_001, message: 'Session not found' } }] }
    principal = { ...agent, id: 'somebody else' }
    expect(await post(callEcho)).toMatchObject(gone)
    principal = { ...agent, restrictions: { effects: ['reads'] } }
    expect(await post(callEcho)).toMatchObject(gone)
    principal = agent
    expect((await post(callEcho)).status).toBe(200)
    const elsewhere = await legacyClient(`${url}/read`)
    expect(await elsewhere.post(callEcho, { 'mcp-session-id': sessionId })).toMatchObject(gone)
  })

  it('ends with DELETE and is then answered with 404', async () => {
    const { url } = await open([echo])
    const { post, sessionId } = await legacyClient(url)
    const { status } = await hear(url, { method: 'DELETE', headers: { 'mcp-session-id': sessionId } })
    expect([status, (await post(callEcho)).status]).toEqual([200, 404])
  })

  it('ends when it is idle for too long', async () => {
    const clock = manualClock()
    const { url, house } = await open([echo], { clock, limits: { sessionIdleMs: 60_000 } })
    const { post } = await legacyClient(url)
    clock.advance(59_000)
    house.handler.sweep()
    expect((await post(callEcho)).status).toBe(200)
    clock.advance(60_000)
    house.handler.sweep()
    expect((await post(callEcho)).status).toBe(404)
  })

  it('stays open while its client listens for notifications', async () => {
    const clock = manualClock()
    const { url, house } = await open([echo], { clock, limits: { sessionIdleMs: 60_000 } })
    const { post, listen } = await legacyClient(url)
    await listen()
    clock.advance(3_600_000)
    house.handler.sweep()
    expect((await post(callEcho)).status).toBe(200)
  })

  it('is ended when it is the oldest and its client opens another beyond its limit', async () => {
    const clock = manualClock()
    const { url } = await open([echo], { clock, limits: { maxSessionsPerPrincipal: 2 } })
    const first = await legacyClient(url)
    clock.advance(1)
    const second = await legacyClient(url)
    clock.advance(1)
    const third = await legacyClient(url)
    const statuses = await Promise.all([first, second, third].map(async ({ post }) => (await post(callEcho)).status))
    expect(statuses).toEqual([404, 200, 200])
  })

  it('is ended when all sessions of the client are listening and it was idle for longest', async () => {
    const clock = manualClock()
    const { endless, begun } = endlessCapability()
    const { url } = await open([echo, endless], { clock, limits: { maxSessionsPerPrincipal: 3 } })
    const clients = []
    for (let session = 0; session < 3; session++) {
      const client = await legacyClient(url)
      await client.listen()
      clients.push(client)
      clock.advance(1)
    }
    // The oldest is at work, and the next one spoke last.
    const [working, spoke, silent] = clients
    const work = working?.post({ id: 1, method: 'tools/call', params: { name: 'endless' } })
    await begun
    await spoke?.post(callEcho)
    clock.advance(1)
    const newcomer = await legacyClient(url)
    const statuses = await Promise.all(
      [spoke, silent, newcomer].map(async (client) => (await client?.post({ id: 2, method: 'ping' }))?.status),
    )
    expect(statuses).toEqual([200, 404, 200])
    await working?.post({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await work
  })

  it('is available to another principal when one principal holds all sessions', async () => {
    let principal: FacePrincipal = agent
    const { url } = await open([echo], { authenticate: () => ok(principal), limits: { maxSessions: 2 } })
    await legacyClient(url)
    await legacyClient(url)
    principal = { ...agent, id: 'another' }
    const { post } = await legacyClient(url)
    expect((await post(callEcho)).status).toBe(200)
  })

  it('is refused with 503 when other principals hold all sessions', async () => {
    let principal: FacePrincipal = agent
    const { url } = await open([echo], { authenticate: () => ok(principal), limits: { maxSessions: 1 } })
    await legacyClient(url)
    principal = { ...agent, id: 'another' }
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const { status, headers } = await hear(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize }),
    })
    expect([status, headers.get('retry-after')]).toEqual([503, '60'])
  })

  it('is required: a call without the session header is answered with 400', async () => {
    const { url } = await open([echo])
    const { postText } = await legacyClient(url)
    const { status } = await hear(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', ...callEcho }),
    })
    expect(status).toBe(400)
    expect((await postText('{"jsonrpc":"2.0","id":1}')).status).toBe(400)
  })

  it('accepts batches in 2025-03-26 and in no later revision', async () => {
    const { url } = await open([echo])
    const batch = JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', ...callEcho, id })))
    const { messages } = await (await legacyClient(url, '2025-03-26')).postText(batch)
    expect(new Set(messages.map(({ id }) => id))).toEqual(new Set([1, 2]))
    const refused = await (await legacyClient(url, '2025-06-18')).postText(batch)
    expect(refused).toMatchObject({ status: 400, messages: [{ error: { code: -32_600 } }] })
  })

  it('counts each message of a batch against the rate limit, and runs none if there are too many', async () => {
    let left = 5
    const tooMany = (): string | undefined => (left-- > 0 ? undefined : 'Too many requests.')
    const { url, calls } = await open([echo], { tooMany })
    const batch = (...ids: readonly number[]): string =>
      JSON.stringify(ids.map((id) => ({ jsonrpc: '2.0', ...callEcho, id })))
    // Two for the session, which leaves three.
    const { postText } = await legacyClient(url, '2025-03-26')
    expect((await postText(batch(1, 2, 3, 4))).status).toBe(429)
    expect(calls).toEqual([])
    left = 3
    expect((await postText(batch(1, 2, 3))).status).toBe(200)
    expect([calls.length, left]).toEqual([3, 0])
  })

  it('refuses a subscription to a resource with a very long URI', async () => {
    const face = { kind: 'resource', uri: 'test://{name}', mimeType: 'text/plain' } as const
    const { url } = await open([capability({ name: 'test.any', face }, () => ok({ data: 'a' }))])
    const { post } = await legacyClient(url)
    const subscribe = (uri: string) => post({ id: 1, method: 'resources/subscribe', params: { uri } })
    expect((await subscribe('test://a')).messages).toMatchObject([{ result: {} }])
    const long = `test://${'a'.repeat(100_000)}`
    expect((await subscribe(long)).messages).toMatchObject([
      { error: { code: -32_602, data: { uri: long.slice(0, 2_048) } } },
    ])
  })

  it('notifies of changed lists and of changed subscribed resources', async () => {
    const face = { kind: 'resource', uri: 'test://a', mimeType: 'text/plain' } as const
    const { url, bus } = await open([echo, capability({ name: 'test.a', face }, () => ok({ data: 'a' }))])
    const { post, listen } = await legacyClient(url)
    const next = await listen()
    bus.registerCapability(other)
    expect(await next()).toMatchObject({ method: 'notifications/tools/list_changed' })
    bus.announceResource('test://a')
    await post({ id: 1, method: 'resources/subscribe', params: { uri: 'test://a' } })
    bus.announceResource('test://a')
    expect(await next()).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'test://a' } })
    await post({ id: 2, method: 'resources/unsubscribe', params: { uri: 'test://a' } })
    bus.announceResource('test://a')
    bus.deregister('test.other', [1, 0])
    expect(await next()).toMatchObject({ method: 'notifications/tools/list_changed' })
    const missing = await post({ id: 3, method: 'resources/subscribe', params: { uri: 'test://nothing' } })
    expect(missing.messages).toMatchObject([{ error: { code: -32_602 } }])
  })

  it('cancels a call at the request of the client', async () => {
    const { endless, begun, withdrawn } = endlessCapability()
    const { url } = await open([endless])
    const { post } = await legacyClient(url)
    void post({ id: 9, method: 'tools/call', params: { name: 'endless' } }).catch(() => undefined)
    await begun
    const { status } = await post({ method: 'notifications/cancelled', params: { requestId: 9 } })
    expect(status).toBe(202)
    await withdrawn
  })

  it('ends the response of a cancelled call without an answer', async () => {
    let begun: () => void = () => undefined
    const endless = (name: string, timeoutSeconds: number): Capability =>
      capability({ name, timeoutSeconds }, ({ signal }) => {
        begun()
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve(fail({ kind: 'cancelled', message: 'withdrawn' }))),
        )
      })
    const { url } = await open([endless('short', 30), endless('long', 600)])
    const { post } = await legacyClient(url)
    for (const name of ['short', 'long']) {
      const running = new Promise<void>((resolve) => (begun = resolve))
      const asked = post({ id: name, method: 'tools/call', params: { name } })
      await running
      await post({ method: 'notifications/cancelled', params: { requestId: name } })
      expect((await asked).messages).toEqual([])
    }
  })

  it('answers in JSON, or as a stream when the handler logs', async () => {
    const chatty = capability({ name: 'chatty' }, ({ interaction }) => {
      interaction?.log?.('info', 'working')
      interaction?.log?.('error', 'worried')
      return ok({ data: 'done' })
    })
    const { url } = await open([echo, chatty])
    const { post, sessionId } = await legacyClient(url)
    const plain = await post(callEcho)
    expect(plain.headers.get('content-type')).toBe('application/json')
    expect(plain.headers.get('mcp-session-id')).toBe(sessionId)
    const call = { id: 2, method: 'tools/call', params: { name: 'chatty' } }
    const received = async () =>
      (await post(call)).messages.map(({ params, id }) => (params as JsonObject)?.['data'] ?? id)
    expect(await received()).toEqual(['working', 'worried', 2])
    await post({ id: 3, method: 'logging/setLevel', params: { level: 'warning' } })
    expect(await received()).toEqual(['worried', 2])
  })

  it('streams requested progress before the result', async () => {
    const steps = capability({ name: 'steps' }, ({ interaction }) => {
      interaction?.progress?.(1, 2)
      return ok({ data: 'done' })
    })
    const { url } = await open([steps])
    const { post } = await legacyClient(url)
    const params = { name: 'steps', _meta: { progressToken: 'p' } }
    const { messages } = await post({ id: 1, method: 'tools/call', params })
    expect(messages).toMatchObject([{ params: { progressToken: 'p', progress: 1, total: 2 } }, { id: 1 }])
  })

  it('sends each elicitation once and calls the handler again with the answer', async () => {
    const asking = capability({ name: 'asking' }, ({ interaction }) => {
      interaction?.log?.('info', 'asked')
      if (interaction?.inputResponses !== undefined)
        return ok({ data: [interaction.requestState ?? '', interaction.inputResponses] })
      const params = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
      const requests = { name: { method: 'elicitation/create', params } }
      return ok({ data: null, inputRequired: { requests, state: 'round 1' } })
    })
    const { url, calls } = await open([asking])
    const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'legacy' as const } }
    const client = new Client({ name: 'test', version: '1' }, options)
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'ada' } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const { structuredContent } = await client.callTool({ name: 'asking', arguments: {} })
    expect(structuredContent).toEqual({
      ok: true,
      data: ['round 1', { name: { action: 'accept', content: { name: 'ada' } } }],
    })
    expect(calls).toHaveLength(2)
    await client.close()
  })

  it('answers invalid parameters and unknown names with an error code', async () => {
    const { url } = await open([echo])
    const { post } = await legacyClient(url)
    const codes = await Promise.all(
      [
        { method: 'tools/call', params: { name: 7 } },
        { method: 'tools/list', params: { cursor: 7 } },
        { method: 'tools/call', params: { name: 'nothing' } },
        { method: 'resources/read', params: { uri: 'test://nothing' } },
        { method: 'prompts/get', params: { name: 'nothing' } },
        { method: 'server/discover', params: {} },
      ].map(async (message, index) => {
        const { messages } = await post({ id: index, ...message })
        return (messages[0] as { error?: { code: number } }).error?.code
      }),
    )
    expect(codes).toEqual([-32_602, -32_602, -32_602, -32_602, -32_602, -32_601])
  })
})
