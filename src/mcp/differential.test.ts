/**
 * Our own path for 2026-07-28 against the SDK's: the same requests to both, the same capabilities behind both. Status,
 * error code, result and every message on the way must agree.
 */
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import type { NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { listenLocally } from '../../test/local-port.ts'
import { agent, capability, openHouse, recordedBus } from '../../test/mcp-house.ts'
import type { House } from '../../test/mcp-house.ts'
import { systemClock } from '../core/clock.ts'
import { silentLogger } from '../core/logger.ts'
import { fail, ok } from '../core/result.ts'
import type { McpCatalogue } from './catalogue.ts'
import { createMcpCatalogueCache } from './catalogue.ts'
import { createMcpConnectionState } from './mcp-connection-state.ts'
import { createSdkServer } from './sdk-server.ts'
import { createRequestStateSeal } from './request-state-seal.ts'

const SERVER_INFO = { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' }
const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const META = { [VERSION]: '2026-07-28', [CAPABILITIES]: { elicitation: {} } }

const regionSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    zone: { type: 'integer', 'x-mcp-header': 'Zone' },
  },
}

const capabilities = [
  capability({ name: 'echo', effect: 'writes' }, ({ body }) => ok({ data: body })),
  capability({ name: 'cafe.menu' }, () => ok({ data: null })),
  capability({ name: 'broken' }, () => fail({ kind: 'failed', message: 'It is broken.' })),
  capability({ name: 'image' }, () =>
    ok({ data: 1, content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
  ),
  capability({ name: 'noisy' }, ({ interaction }) => {
    interaction?.progress?.(1, 2, 'half')
    interaction?.progress?.(1, 2, 'still half')
    interaction?.log?.('debug', 'a detail')
    interaction?.log?.('error', { what: 'a fault' }, 'noisy')
    interaction?.progress?.(2, 2)
    return ok({ data: 'quiet' })
  }),
  capability({ name: 'asking' }, ({ interaction }) => {
    if (interaction?.inputResponses?.['name'] !== undefined) return ok({ data: interaction.inputResponses })
    const params = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
    return ok({ data: null, inputRequired: { requests: { name: { method: 'elicitation/create', params } } } })
  }),
  capability({ name: 'regional', requestSchema: regionSchema }, ({ body }) => ok({ data: body })),
  capability(
    { name: 'thing', face: { kind: 'resource', uri: 'test://things/{id}', mimeType: 'application/json' } },
    ({ body }) => ok({ data: body }),
  ),
  capability({ name: 'secret', face: { kind: 'resource', uri: 'test://secret', mimeType: 'text/plain' } }, () =>
    fail({ kind: 'not-permitted', message: 'No.', reasons: [{ rule: 'role', message: 'No.' }] }),
  ),
  capability(
    { name: 'greet', face: { kind: 'prompt', arguments: [{ name: 'who', description: 'Whom', required: true }] } },
    ({ body }) =>
      ok({
        data: { messages: [{ role: 'user', content: { type: 'text', text: `Hi ${JSON.stringify(body['who'])}` } }] },
      }),
  ),
]

let house: House
let referee: { readonly url: string; readonly close: () => Promise<void> }

beforeAll(async () => {
  const { bus } = recordedBus(...capabilities)
  house = await openHouse(bus)
  const catalogues = createMcpCatalogueCache({ bus, profiles: {}, families: [] })
  const scope = { profile: undefined, style: 'dots' } as const
  const answering = { bus, stateSeal: createRequestStateSeal(systemClock), log: silentLogger }
  const client = { principal: agent, channel: 'mcp-http', era: 'modern', id: undefined } as const
  const catalogue = (): McpCatalogue => catalogues.current(agent, scope)
  referee = await serve(
    createMcpHandler(
      () => createSdkServer(answering, SERVER_INFO, createMcpConnectionState({ ...client, catalogue })),
      {
        legacy: 'reject',
      },
    ),
  )
})
afterAll(async () => {
  await house.close()
  await referee.close()
})

async function serve(handler: ReturnType<typeof createMcpHandler>) {
  const handle = toNodeHandler(handler)
  const server = createServer((request, response) => void handle(request as NodeIncomingMessageLike, response))
  const port = await listenLocally(server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await handler.close()
      server.closeAllConnections()
    },
  }
}

interface Probe {
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** What a client can see, without the words of error messages. */
async function answerOf(url: string, { body, headers = {} }: Probe): Promise<unknown> {
  const kept = Object.entries({ 'content-type': 'application/json', ...headers }).filter(
    ([, value]) => value !== undefined,
  )
  const response = await fetch(url, {
    method: 'POST',
    headers: Object.fromEntries(kept) as Record<string, string>,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const messages = isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? '') : [text]
  return { status: response.status, isStream, messages: messages.filter((each) => each !== '').map(comparable) }
}

function comparable(text: string): unknown {
  const message = JSON.parse(text) as { error?: { message?: string; data?: unknown; code: number } }
  if (message.error === undefined) return message
  const { message: _, ...error } = message.error
  return { ...message, error: { ...error, data: error.code === -32_602 ? undefined : error.data } }
}

async function both(probe: Probe): Promise<{ readonly ours: unknown; readonly theirs: unknown }> {
  const [ours, theirs] = await Promise.all([answerOf(house.url, probe), answerOf(referee.url, probe)])
  return { ours, theirs }
}

function asked(method: string, params: object = {}, meta: object = META): Probe {
  const { name, uri } = params as { name?: unknown; uri?: unknown }
  const named = name ?? uri
  return {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof named === 'string' ? { 'mcp-name': encoded(named) } : {}),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
  }
}

function encoded(name: string): string {
  return /^[\u0021-\u007e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}

function withHeaders(probe: Probe, headers: Probe['headers']): Probe {
  return { ...probe, headers: { ...probe.headers, ...headers } }
}

const call = (name: string, args?: unknown, meta: object = META): Probe =>
  asked('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) }, meta)

describe('the gateway and the MCP SDK give the same answer to', () => {
  it.each<[string, Probe]>([
    ['discover', asked('server/discover')],
    ['a tool', call('echo', { a: [1, { b: null }] })],
    ['a tool under its other spelling', call('cafe_menu')],
    ['a tool with a name beyond ASCII', call('naïve.café')],
    ['a tool without arguments', call('echo')],
    ['a tool that fails', call('broken')],
    ['a tool that returns an image', call('image')],
    ['an unknown tool', call('nothing')],
    ['a tool named like an object property', call('constructor')],
    ['a tool that logs to a client that asked for no logs', call('noisy')],
    ['progress', call('noisy', {}, { ...META, progressToken: 'p' })],
    ['progress by number', call('noisy', {}, { ...META, progressToken: 0 })],
    ['logs', call('noisy', {}, { ...META, [LOG_LEVEL]: 'warning' })],
    ['progress and logs together', call('noisy', {}, { ...META, progressToken: 7, [LOG_LEVEL]: 'debug' })],
    ['an elicitation', call('asking')],
    ['an elicitation of a client that cannot answer it', call('asking', {}, { ...META, [CAPABILITIES]: {} })],
    [
      'an elicitation by a client that supports URLs only',
      call('asking', {}, { ...META, [CAPABILITIES]: { elicitation: { url: {} } } }),
    ],
    [
      'a retry with an input response',
      asked('tools/call', { name: 'asking', inputResponses: { name: { action: 'accept' } } }),
    ],
    [
      'a retry with a wrapped input response',
      asked('tools/call', { name: 'asking', inputResponses: { name: { method: 'x', result: {} } } }),
    ],
    ['a request state without a seal', asked('tools/call', { name: 'asking', requestState: 'x' })],
    ['a request state that is not a string', asked('tools/call', { name: 'asking', requestState: 7 })],
    ['input responses that are not an object', asked('tools/call', { name: 'asking', inputResponses: 7 })],
    ['a list of tools', asked('tools/list')],
    ['a list of resources', asked('resources/list')],
    ['a list of resource templates', asked('resources/templates/list')],
    ['a list of prompts', asked('prompts/list')],
    ['a list with an unknown cursor', asked('tools/list', { cursor: 'next' })],
    ['a resource', asked('resources/read', { uri: 'test://things/7' })],
    ['a resource that does not exist', asked('resources/read', { uri: 'test://nothing' })],
    ['a resource that may not be read', asked('resources/read', { uri: 'test://secret' })],
    ['a prompt', asked('prompts/get', { name: 'greet', arguments: { who: 'Ada' } })],
    ['a prompt that does not exist', asked('prompts/get', { name: 'shout' })],
    [
      'a completion',
      asked('completion/complete', {
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'who', value: '' },
      }),
    ],
    [
      'a completion of a template',
      asked('completion/complete', { ref: { type: 'ref/resource', uri: 'x' }, argument: { name: 'a', value: '' } }),
    ],
    [
      'a call with a traceparent',
      call('echo', {}, { ...META, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }),
    ],
    ['white space around a header value', withHeaders(call('echo'), { 'mcp-name': '  echo ' })],
    ['a name in Base64 in a header', withHeaders(call('echo'), { 'mcp-name': '=?base64?ZWNobw==?=' })],
    ['a charset in the content type', withHeaders(call('echo'), { 'content-type': 'application/json; charset=utf-8' })],
    ['a request id that is a string', { ...call('echo'), body: { ...(call('echo').body as object), id: 'abc' } }],
    ['a request id of 0', { ...call('echo'), body: { ...(call('echo').body as object), id: 0 } }],
  ])('%s', async (_, probe) => {
    const { ours, theirs } = await both(probe)
    expect(ours).toEqual(theirs)
  })
})

describe('the gateway and the MCP SDK refuse in the same way', () => {
  const good = call('echo')
  const body = (part: object): object => ({ ...(good.body as object), ...part })
  const meta = (part: object): Probe => call('echo', {}, { ...META, ...part })

  it.each<[string, Probe]>([
    ['no body', { ...good, body: '' }],
    ['no JSON', { ...good, body: '{"jsonrpc"' }],
    ['a number', { ...good, body: 7 }],
    ['an empty batch', { ...good, body: [] }],
    ['a batch', { ...good, body: [good.body] }],
    ['another JSON-RPC', { ...good, body: body({ jsonrpc: '1.0' }) }],
    ['one key too many', { ...good, body: body({ extra: 1 }) }],
    ['an id of null', { ...good, body: body({ id: null }) }],
    ['an id that is a fraction', { ...good, body: body({ id: 1.5 }) }],
    ['an id that is an object', { ...good, body: body({ id: {} }) }],
    ['params of text', { ...good, body: body({ params: 'x' }) }],
    ['a method of number', { ...good, body: body({ method: 7 }) }],
    ['an unknown method', asked('tools/destroy')],
    ['initialize', asked('initialize')],
    ['ping', asked('ping')],
    ['logging/setLevel', asked('logging/setLevel', { level: 'info' })],
    ['resources/subscribe', asked('resources/subscribe', { uri: 'test://things/7' })],
    ['no version header', withHeaders(good, { 'mcp-protocol-version': undefined })],
    ['no method header', withHeaders(good, { 'mcp-method': undefined })],
    ['no name header', withHeaders(good, { 'mcp-name': undefined })],
    ['another version in the header', withHeaders(good, { 'mcp-protocol-version': '2025-11-25' })],
    ['another method in the header', withHeaders(good, { 'mcp-method': 'tools/list' })],
    ['a method in other letters', withHeaders(good, { 'mcp-method': 'Tools/Call' })],
    ['another name in the header', withHeaders(good, { 'mcp-name': 'broken' })],
    ['a sentinel that does not decode', withHeaders(good, { 'mcp-name': '=?base64?ZWNobw?=' })],
    [
      'another resource in the header',
      withHeaders(asked('resources/read', { uri: 'test://things/7' }), { 'mcp-name': 'test://secret' }),
    ],
    [
      'a version from the future',
      withHeaders(meta({ [VERSION]: '2027-01-01' }), { 'mcp-protocol-version': '2027-01-01' }),
    ],
    [
      'a version from the past',
      withHeaders(meta({ [VERSION]: '2025-11-25' }), { 'mcp-protocol-version': '2025-11-25' }),
    ],
    ['a version of number', meta({ [VERSION]: 7 })],
    ['no capabilities', call('echo', {}, { [VERSION]: '2026-07-28' })],
    ['capabilities of text', meta({ [CAPABILITIES]: 'all' })],
    ['capabilities with a part of text', meta({ [CAPABILITIES]: { elicitation: 'yes' } })],
    ['a client without a version', meta({ 'io.modelcontextprotocol/clientInfo': { name: 'x' } })],
    ['a client of text', meta({ 'io.modelcontextprotocol/clientInfo': 'x' })],
    ['a level that is none', meta({ [LOG_LEVEL]: 'loud' })],
    ['a progress token of true', meta({ progressToken: true })],
    ['a task that is none', meta({ 'io.modelcontextprotocol/related-task': 7 })],
    ['no envelope', { ...good, body: body({ params: { name: 'echo' } }) }],
    ['a call without a name', asked('tools/call')],
    ['a call with a name of number', asked('tools/call', { name: 7 })],
    ['arguments in a list', call('echo', [1])],
    ['arguments of null', call('echo', null)],
    ['a cursor of number', asked('tools/list', { cursor: 7 })],
    ['a resource without a URI', asked('resources/read')],
    ['a prompt with an argument of number', asked('prompts/get', { name: 'greet', arguments: { who: 7 } })],
    ['a completion of nothing', asked('completion/complete')],
    ['another content type', withHeaders(good, { 'content-type': 'text/plain' })],
    [
      'JSON as a parameter of another content type',
      withHeaders(good, { 'content-type': 'text/plain; a=application/json' }),
    ],
    ['a subscription to nothing', asked('subscriptions/listen')],
  ])('%s', async (_, probe) => {
    const { ours, theirs } = await both(probe)
    expect(ours).toEqual(theirs)
  })

  it('and accept a notification in the same way', async () => {
    const { ours, theirs } = await both({
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' },
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    })
    expect(ours).toEqual(theirs)
  })
})

describe('a malformed request to the gateway and to the MCP SDK', () => {
  it('gets a parse error from the gateway for a __proto__ key, which the SDK accepts as JSON', async () => {
    const body = { jsonrpc: { ['__proto__']: '' }, id: 1, method: 'tools/call', params: { name: 'echo', _meta: META } }
    const { ours, theirs } = await both({ headers: call('echo').headers ?? {}, body })
    expect(ours).toMatchObject({ status: 400, messages: [{ error: { code: -32_700 } }] })
    expect(theirs).toMatchObject({ status: 400, messages: [{ error: { code: -32_600 } }] })
  })

  it('gets the same answer from both for any valid request with one part replaced', async () => {
    const part = fc.constantFrom(
      'jsonrpc',
      'id',
      'method',
      'params',
      'name',
      'arguments',
      '_meta',
      VERSION,
      CAPABILITIES,
    )
    // Before either looks at the protocol we refuse this one key, which the SDK lets pass; see strict-json.
    const json = fc.jsonValue({ maxDepth: 1 }).filter((anything) => !JSON.stringify(anything).includes('"__proto__":'))
    const value = fc.oneof(json, fc.constantFrom('2.0', 'echo', 'tools/call', '2026-07-28', {}))
    await fc.assert(
      fc.asyncProperty(part, value, async (key, replacement) => {
        const params: Record<string, unknown> = { name: 'echo', arguments: {}, _meta: { ...META } }
        const body: Record<string, unknown> = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
        const holder = [body, params, params['_meta'] as Record<string, unknown>].find((each) => key in each) ?? body
        holder[key] = replacement
        const { ours, theirs } = await both({ headers: call('echo').headers ?? {}, body })
        expect(ours).toEqual(theirs)
      }),
      { numRuns: 150 },
    )
  })
})

describe('arguments mirrored in headers, checked by the gateway and by the MCP SDK:', () => {
  let strict: typeof referee
  beforeAll(async () => {
    const inputSchema = z.object({
      region: z.string().meta({ 'x-mcp-header': 'Region' }).optional(),
      zone: z.int().meta({ 'x-mcp-header': 'Zone' }).optional(),
    })
    strict = await serve(
      createMcpHandler(
        () => {
          // Only the SDK's high-level server checks them.
          const server = new McpServer(SERVER_INFO, { capabilities: { tools: {} } })
          server.registerTool('regional', { inputSchema }, () => ({ content: [] }))
          return server
        },
        { legacy: 'reject' },
      ),
    )
  })
  afterAll(() => strict.close())

  async function codes(url: string, probe: Probe): Promise<unknown> {
    const { status, messages } = (await answerOf(url, probe)) as {
      status: number
      messages: { error?: { code: number } }[]
    }
    return [status, messages[0]?.error?.code]
  }

  it.each<[string, object, Record<string, string>, readonly unknown[]]>([
    ['absent in both', {}, {}, [200, undefined]],
    [
      'the same in both',
      { region: 'eu', zone: 2 },
      { 'mcp-param-region': 'eu', 'mcp-param-zone': '2' },
      [200, undefined],
    ],
    ['a number spelt otherwise', { zone: 2 }, { 'mcp-param-zone': '2.0' }, [200, undefined]],
    ['in a sentinel', { region: 'ä' }, { 'mcp-param-region': '=?base64?w6Q=?=' }, [200, undefined]],
    ['only in the header', {}, { 'mcp-param-region': 'eu' }, [200, undefined]],
    ['only in the body', { region: 'eu' }, {}, [400, -32_020]],
    ['different', { region: 'eu' }, { 'mcp-param-region': 'us' }, [400, -32_020]],
    ['a number in hex', { zone: 16 }, { 'mcp-param-zone': '0x10' }, [400, -32_020]],
    ['a broken sentinel', { region: 'ä' }, { 'mcp-param-region': '=?base64?w6Q?=' }, [400, -32_020]],
  ])('%s', async (_, args, headers, expected) => {
    const probe = withHeaders(call('regional', args), headers)
    expect(await codes(strict.url, probe)).toEqual(expected)
    expect(await codes(house.url, probe)).toEqual(expected)
  })

  it('are also compared when the SDK serves the request', async () => {
    // Answers that are none make a request odd, and the SDK serves it.
    const odd = asked('tools/call', { name: 'regional', arguments: { region: 'eu' }, inputResponses: 7 })
    expect(await codes(house.url, withHeaders(odd, { 'mcp-param-region': 'eu' }))).toEqual([200, undefined])
    expect(await codes(house.url, withHeaders(odd, { 'mcp-param-region': 'us' }))).toEqual([200, -32_020])
  })
})
