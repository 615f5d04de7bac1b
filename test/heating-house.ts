/**
 * Heating house: a virtual heating system at the far end of a real socket, and the gateway in a process of its own that
 * is connected to it, asked by real MCP clients.
 */
import type { Client } from '@modelcontextprotocol/client'
import type { EbusSimulator, EbusSimulatorOptions } from '../src/sim/ebus/simulator-server.ts'
import { startEbusSimulator } from '../src/sim/ebus/simulator-server.ts'
import { connectHttp, createHome, startGatewayProcess } from './gateway-process.ts'
import type { Era, GatewayProcess, Home } from './gateway-process.ts'
import { notePoll } from './pending-waits.ts'

type Json = Record<string, unknown>

export interface Envelope {
  readonly meta: Json & { readonly data_hash: string; readonly data_timestamp: string }
  // oxlint-disable-next-line typescript/no-explicit-any -- what a client sees is whatever came; tests look into it
  readonly data: any
  readonly error: (Json & { readonly code: string; readonly message: string; readonly retriable: boolean }) | null
  readonly isError: boolean
}

export interface HeatingHouse {
  readonly simulator: EbusSimulator
  readonly home: Home
  readonly gateway: GatewayProcess
  readonly client: (era?: Era, token?: string, path?: string) => Promise<Client>
  readonly stop: () => Promise<void>
}

export interface HeatingHouseOptions extends EbusSimulatorOptions {
  /** YAML below `ebus:`, beside the bus itself. */
  readonly yaml?: string
  /** YAML at the top. */
  readonly top?: string
  /** How long it has to listen before it relies on what it hears. */
  readonly warmUpSeconds?: number
  /** Devices that the owner knows of, as YAML lists them. */
  readonly addresses?: string
}

/** A quick bus with a house that stands still, unless told otherwise: then what is read is what is there. */
export async function heatingHouse(options: HeatingHouseOptions = {}): Promise<HeatingHouse> {
  const simulator = await startEbusSimulator({ speed: 20, house: { speed: 0 }, ...options })
  const home = createHome(
    `${options.top ?? ''}ebus:\n  pollSeconds: 5\n  warmUpSeconds: ${options.warmUpSeconds ?? 1}\n${options.yaml ?? ''}  buses:\n    - adapter: enh:127.0.0.1:${simulator.port}\n      source: 49\n      warmUpTransactions: 5\n${options.addresses === undefined ? '' : `      addresses: [${options.addresses}]\n`}`,
  )
  const gateway = await startGatewayProcess(home)
  const clients: Client[] = []
  return {
    simulator,
    home,
    gateway,
    client: async (era = 'modern', token, path = '/mcp') => {
      const client = await connectHttp(gateway.url, era, path, token)
      clients.push(client)
      return client
    },
    stop: async () => {
      for (const client of clients) await client.close()
      await gateway.stop()
      await simulator.stop()
      home.remove()
    },
  }
}

export async function call(client: Client, name: string, args: Json = {}, timeout = 100_000): Promise<Envelope> {
  const { structuredContent, isError } = await client.callTool({ name, arguments: args }, { timeout })
  const envelope: unknown = structuredContent
  return { ...(envelope as Envelope), isError: isError ?? false }
}

/** Until it holds; the last answer either way. */
export async function eventually(
  look: () => Promise<Envelope>,
  holds: (envelope: Envelope) => boolean,
  withinMs = 90_000,
): Promise<Envelope> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (holds(seen) || performance.now() > endMs) return seen
    notePoll()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The same for what a test cannot begin without. */
async function begun(look: () => Promise<Envelope>, holds: (envelope: Envelope) => boolean): Promise<Envelope> {
  const seen = await eventually(look, holds, 150_000)
  if (!holds(seen)) throw new Error(`the heating was not read in time: ${JSON.stringify(seen).slice(0, 4_000)}`)
  return seen
}

/** Until everything was read once. */
export async function allRead(client: Client): Promise<Envelope> {
  return begun(
    () => call(client, 'ebus.v1.semantic.snapshot.get', { timeout_ms: 20_000, allow_partial: true }),
    ({ data }) =>
      data !== null &&
      data.error_planes === undefined &&
      data.planes.boiler_status?.diagnostics?.fan_hours !== undefined,
  )
}

/** Monday, ten o'clock in winter: between two slots of the living room's program, so its target is the night's. */
export const MONDAY = Date.UTC(2026, 0, 5, 10)
/** Refusals come faster than a regulator may be changed. */
export const NO_REST = 'guard:\n  actuatorIntervalMs: 0\n'
export const SET_ZONE = 'ebus.v1.semantic.schedules.set_zone_time_program'
export const SET_DHW = 'ebus.v1.semantic.schedules.set_dhw_time_program'

/** Hours of the day, halves allowed, as the schedule writers take them. */
export function slot(start: number, end: number, celsius?: number): Record<string, number> {
  return {
    start_hour: Math.floor(start),
    start_minute: (start % 1) * 60,
    end_hour: Math.floor(end),
    end_minute: (end % 1) * 60,
    ...(celsius === undefined ? {} : { temperature_c: celsius }),
  }
}

/** Until the weekly programs of both zones, hot water and circulation are there. */
export function programsRead(client: Client): Promise<Envelope> {
  return begun(
    () => call(client, 'ebus.v1.semantic.schedules.get'),
    ({ data }) =>
      data?.programs.filter(({ days = [] }: { days?: unknown[] }) => days.length === 7).length >= 4 &&
      data.programs.some(({ hc }: { hc: string }) => hc === 'dhw'),
  )
}
