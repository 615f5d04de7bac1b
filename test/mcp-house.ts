/**
 * MCP house: a small bus with capabilities on it and our real MCP handler before it, on a real socket.
 *
 * Does I/O.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { Capability, Family, Offer } from '../src/bus/capability.ts'
import type { JsonObject } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import { fail, ok } from '../src/core/result.ts'
import type { FaceBus, FaceCallOptions, Principal } from '../src/mcp/face-bus.ts'
import { mcpHttpHandler } from '../src/mcp/http-server.ts'
import type { McpHttpHandler, McpHttpOptions } from '../src/mcp/http-server.ts'

export const plainFamily: Family = {
  name: 'plain',
  success: (data) => ({ ok: true, data }),
  failure: ({ kind, message }) => ({ structured: { ok: false, kind, message }, isError: true }),
  outputSchema: () => ({ type: 'object', properties: { ok: { type: 'boolean' }, data: {} }, required: ['ok'] }),
}

export function offer(part: Partial<Offer> & Pick<Offer, 'name'>): Offer {
  return {
    title: part.name,
    description: `What ${part.name} does.`,
    version: [1, 0],
    stability: 'stable',
    requestSchema: { type: 'object' },
    responseSchema: {},
    streamSchema: undefined,
    params: {},
    maxConcurrent: 64,
    trustRequired: 'member',
    timeoutSeconds: 30,
    idempotent: part.effect === undefined || part.effect === 'reads',
    effect: 'reads',
    lock: undefined,
    family: plainFamily,
    face: { kind: 'tool' },
    ...part,
  }
}

export function capability(
  part: Partial<Offer> & Pick<Offer, 'name'>,
  handle: (call: Call) => Promise<Outcome> | Outcome,
): Capability {
  return { offer: offer(part), handle: async (call) => handle(call) }
}

export interface SmallBus extends FaceBus {
  /** Every call that was made, whether anybody offered it or not. */
  readonly calls: { readonly name: string; readonly body: JsonObject; readonly options: FaceCallOptions }[]
  readonly add: (...capabilities: readonly Capability[]) => void
  readonly remove: (name: string) => void
  readonly announceResource: (uri: string) => void
}

export function smallBus(...capabilities: readonly Capability[]): SmallBus {
  const known = new Map<string, Capability>()
  const resourceListeners = new Set<(uri: string) => void>()
  const watchers = new Set<() => void>()
  let offers: readonly Offer[] = []
  function changed(): void {
    offers = [...known.values()].map(({ offer }) => offer).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    for (const wake of watchers) wake()
  }
  function add(...more: readonly Capability[]): void {
    for (const one of more) known.set(one.offer.name, one)
    changed()
  }
  add(...capabilities)
  const calls: SmallBus['calls'] = []
  return {
    calls,
    add,
    remove: (name) => {
      known.delete(name)
      changed()
    },
    offers: () => offers,
    offer: (name) => known.get(name)?.offer,
    call: async (name, _version, body, options) => {
      calls.push({ name, body, options })
      const found = known.get(name)
      if (found === undefined) return fail({ kind: 'not-found', message: `Nobody here offers ${name}.` })
      if (!('handle' in found)) return fail({ kind: 'unsupported', message: 'a stream' })
      return found.handle({ ...options, capability: name, body } as Call)
    },
    onResource: (listener) => {
      resourceListeners.add(listener)
      return () => void resourceListeners.delete(listener)
    },
    announceResource: (uri) => {
      for (const listener of resourceListeners) listener(uri)
    },
    subscribe: () => watching(watchers),
  }
}

async function* watching(watchers: Set<() => void>): AsyncGenerator<void> {
  for (;;) {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        watchers.delete(wake)
        resolve()
      }
      watchers.add(wake)
    })
    yield
  }
}

export const agent: Principal = { kind: 'principal', id: 'tester', role: 'agent' }

export interface House {
  readonly url: string
  readonly handler: McpHttpHandler
  readonly close: () => Promise<void>
}

export async function openHouse(bus: FaceBus, options: Partial<McpHttpOptions> = {}): Promise<House> {
  const handler = mcpHttpHandler({
    bus,
    authenticate: () => ok(agent),
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
    log: silentLogger,
    ...options,
  })
  const server = createServer((request, response) => void handler(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
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
