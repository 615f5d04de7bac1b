/** MCP house: a small bus with capabilities on it and our real MCP handler before it, on a real socket. */
import { createServer } from 'node:http'
import { listenLocally } from './local-port.ts'
import { plainOffer } from './plain-offer.ts'
import type { OfferFacts } from './plain-offer.ts'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import { CapabilityBus } from '../src/bus/bus.ts'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { Capability, FamilyEnvelope, Offer } from '../src/bus/capability.ts'
import { systemClock } from '../src/core/clock.ts'
import type { JsonObject } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import { fail, ok } from '../src/core/result.ts'
import type { FaceBus, FacePrincipal } from '../src/mcp/face-bus.ts'
import { createMcpHttpHandler } from '../src/mcp/http-server.ts'
import type { McpHttpHandler, McpHttpHandlerOptions } from '../src/mcp/http-server.ts'

export const plainFamily: FamilyEnvelope = {
  name: 'plain',
  success: (data) => ({ ok: true, data }),
  failure: ({ kind, message }) => ({ structured: { ok: false, kind, message }, isError: true }),
  outputSchema: () => ({ type: 'object', properties: { ok: { type: 'boolean' }, data: {} }, required: ['ok'] }),
}

export function offer(part: OfferFacts): Offer {
  return plainOffer({ family: plainFamily, ...part })
}

export function capability(part: OfferFacts, handle: (call: Call) => Promise<Outcome> | Outcome): Capability {
  return { offer: offer(part), handle: async (call) => handle(call) }
}

export interface EndlessCapability {
  /** Named `endless`; answers only when it is withdrawn. */
  readonly endless: Capability
  readonly begun: Promise<void>
  readonly withdrawn: Promise<void>
}

export function endlessCapability(): EndlessCapability {
  const begun = Promise.withResolvers<void>()
  const withdrawn = Promise.withResolvers<void>()
  const endless = capability({ name: 'endless' }, ({ signal }) => {
    begun.resolve()
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        withdrawn.resolve()
        resolve(fail({ kind: 'cancelled', message: 'withdrawn' }))
      }),
    )
  })
  return { endless, begun: begun.promise, withdrawn: withdrawn.promise }
}

export interface RecordedBus {
  readonly bus: CapabilityBus
  /** Every call that reached the chain, whether anybody offers it or not. */
  readonly calls: Call[]
}

/** The real bus; in the chain's place somebody who only writes down what comes by. */
export function recordedBus(...capabilities: readonly Capability[]): RecordedBus {
  const calls: Call[] = []
  const bus = new CapabilityBus({
    nodeId: 'test-node',
    config: DEFAULT_BUS_CONFIG,
    clock: systemClock,
    admit: (call, _offer, proceed) => {
      calls.push(call)
      return proceed(call)
    },
  })
  for (const each of capabilities) {
    const registered = bus.registerCapability(each)
    if (!registered.ok) throw new Error(registered.fault.message)
  }
  return { bus, calls }
}

export const agent: FacePrincipal = { kind: 'principal', id: 'tester', role: 'agent' }

export interface House {
  readonly url: string
  readonly handler: McpHttpHandler
  readonly close: () => Promise<void>
}

export async function openHouse(bus: FaceBus, options: Partial<McpHttpHandlerOptions> = {}): Promise<House> {
  const handler = createMcpHttpHandler({
    bus,
    authenticate: () => ok(agent),
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
    log: silentLogger,
    ...options,
  })
  const server = createServer((request, response) => void handler(request, response))
  const port = await listenLocally(server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    handler,
    close: async () => {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Heard {
  readonly status: number
  readonly headers: Headers
  /** One for a plain answer; all of them for a stream. */
  readonly messages: readonly JsonObject[]
}

export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
}

/** A well-formed request of 2026-07-28. */
export function modernRequest(method: string, params: JsonObject = {}, more: Readonly<Record<string, string>> = {}) {
  const name = params['name'] ?? params['uri']
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...more,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: MODERN_META, ...params } }),
  }
}

export async function hear(url: string, init: RequestInit): Promise<Heard> {
  const response = await fetch(url, init)
  const text = await response.text()
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const texts = isStream ? [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data ?? '') : [text]
  const messages = texts.filter((each) => each !== '').map((each) => JSON.parse(each) as JsonObject)
  return { status: response.status, headers: response.headers, messages }
}

export interface LegacyClient {
  readonly sessionId: string
  readonly post: (message: JsonObject, more?: Readonly<Record<string, string>>) => Promise<Heard>
  readonly postText: (text: string) => Promise<Heard>
  /** What the server has to say by itself: each call gives the next message. */
  readonly listen: () => Promise<() => Promise<JsonObject>>
}

/** A client of the 2025 family that has shaken hands. */
export async function legacyClient(
  url: string,
  revision = '2025-11-25',
  capabilities: JsonObject = {},
): Promise<LegacyClient> {
  const base = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const clientInfo = { name: 'an old test', version: '1' }
  const params = { protocolVersion: revision, capabilities, clientInfo }
  const hello = await hear(url, {
    method: 'POST',
    headers: base,
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  const sessionId = hello.headers.get('mcp-session-id') ?? ''
  const headers = { ...base, 'mcp-session-id': sessionId, 'mcp-protocol-version': revision }
  const postText = (body: string, more: Readonly<Record<string, string>> = {}): Promise<Heard> =>
    hear(url, { method: 'POST', headers: { ...headers, ...more }, body })
  const post: LegacyClient['post'] = (message, more) => postText(JSON.stringify({ jsonrpc: '2.0', ...message }), more)
  await post({ method: 'notifications/initialized' })
  return { sessionId, post, postText, listen: async () => events(await fetch(url, { headers })) }
}

/** The messages of a stream that stays open, one at a time. */
export function events(response: Response): () => Promise<JsonObject> {
  const lines = eventLines(response)
  return async () => JSON.parse((await lines.next()).value ?? 'null') as JsonObject
}

async function* eventLines(response: Response): AsyncGenerator<string, undefined> {
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += Buffer.from(chunk).toString()
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: {')) yield line.slice('data: '.length)
  }
  return undefined
}
