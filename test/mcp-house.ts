/**
 * MCP house: a small bus with capabilities on it and our real MCP handler before it, on a real socket.
 *
 * Does I/O.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BUS_DEFAULTS } from '../src/bus/bus-config.ts'
import { CapabilityBus } from '../src/bus/bus.ts'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { Capability, Family, Offer } from '../src/bus/capability.ts'
import { systemClock } from '../src/core/clock.ts'
import { silentLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import type { FaceBus, Principal } from '../src/mcp/face-bus.ts'
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
    config: BUS_DEFAULTS,
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
