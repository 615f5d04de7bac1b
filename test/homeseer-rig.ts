/**
 * HomeSeer rig: the simulated HomeSeer on sockets, and the gateway before it: in this process for questions of policy,
 * in a process of its own with a real MCP client for everything that a client sees.
 */
import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { stringify } from 'yaml'
import type { Caller } from '../src/bus/call.ts'
import { configSchema } from '../src/config/schema.ts'
import { isJsonObject } from '../src/core/json.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import { OWNER_PRINCIPAL } from '../src/guard/authenticator.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'
import type { FacePrincipal } from '../src/mcp/face-bus.ts'
import { createToolResult } from '../src/mcp/mcp-results.ts'
import { startHomeseerSimulator } from '../src/sim/homeseer/homeseer-server.ts'
import type { HomeseerSimulator, HomeseerSimulatorOptions } from '../src/sim/homeseer/homeseer-server.ts'
import { connectHttp, createHome } from './gateway-process.ts'
import type { Home } from './gateway-process.ts'

export const CLAIMS = { confirm: true, intent: 'try it out', reason: 'a test asks for it' } as const
export const ADMIN_CLAIMS = { ...CLAIMS, maintenanceWindowId: 'sunday', changeTicket: 'CHG-1' } as const

export const AGENT: FacePrincipal = { kind: 'principal', id: 'agent', role: 'agent' }
export const APPROVER: FacePrincipal = { kind: 'principal', id: 'anna', role: 'approver' }

/** All gates of administration open. */
export const ADMIN_OPEN = {
  enabled: true,
  users: true,
  plugins: true,
  interfaces: true,
  system: true,
  cameras: true,
  events: true,
  config: true,
} as const

/** Limits that no test here is about. */
export const GUARD = {
  actuatorIntervalMs: 0,
  writesPerMinute: 100_000,
  callsPerMinute: 1_000_000,
  maxPendingPerPrincipal: 500,
  maxPendingApprovals: 500,
}

/** For what is not about the person who is asked before administration gives control away. */
export const ADMIN_TRUSTED: JsonObject = { guard: { ...GUARD, rules: [{ tool: 'hs4.admin.*', says: 'trust' }] } }

/** What a client sees: `{result}` or `{error}`. */
export type Answer = JsonObject

/** A member deep inside: `at(answer, 'result', 'items', 0, 'ref')`. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found: unknown = value
  for (const step of path) found = (found as Record<string | number, unknown> | undefined)?.[step]
  return found
}

export interface WorldState {
  /** What the relays, bolts and lamps do, by ref. */
  readonly hardware: readonly unknown[]
  /** What HomeSeer remembers and calls them, by ref. */
  readonly shown: readonly unknown[]
  /**
   * Users, events, cameras, plug-ins, interfaces, categories, settings, counters, backups, scripts, its own running.
   */
  readonly system: JsonObject
  /** Its files, by name. */
  readonly files: readonly (readonly [name: string, sha256: string])[]
  /** Attempts that reached it, let or not. */
  readonly deeds: number
}

export interface World {
  readonly simulator: HomeseerSimulator
  /** Everything of the simulated HomeSeer that a client could change, and how many deeds were attempted. */
  readonly state: () => WorldState
  readonly folder: string
  readonly close: () => Promise<void>
}

export async function openWorld(options: Partial<HomeseerSimulatorOptions> = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-hs-'))
  const simulator = await startHomeseerSimulator({
    host: '127.0.0.1',
    httpPort: 0,
    asciiPort: 0,
    dataDirectory: folder,
    ...options,
  })
  return {
    simulator,
    folder,
    state: () => stateOf(simulator, folder),
    close: async () => {
      await simulator.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function stateOf({ house, system }: HomeseerSimulator, folder: string): WorldState {
  const { deeds, groupRefs, settings, counters, scripts, ...lists } = system
  return {
    hardware: house.refs.map((ref) => [ref, house.hardware(ref)]),
    shown: house.refs.map((ref) => [ref, house.record(ref, true)]),
    // Through JSON, so that a picture taken before does not change with what it shows.
    system: JSON.parse(
      JSON.stringify({
        ...lists,
        groupRefs: [...groupRefs],
        settings: [...settings],
        counters: [...counters],
        scripts: [...scripts],
      }),
    ) as JsonObject,
    files: readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [name, hash('sha256', readFileSync(join(parentPath, name)))] as const),
    deeds: deeds.length,
  }
}

/** The configuration that reaches the simulated HomeSeer. */
export function homeseerConfig({ simulator }: World, more: JsonObject = {}): JsonObject {
  const { push, ...rest } = more
  return {
    url: `http://127.0.0.1:${simulator.httpPort}`,
    user: 'default',
    password: 'default',
    eventsPath: simulator.eventFiles?.events ?? '/nowhere',
    eventGroupsPath: simulator.eventFiles?.groups ?? '/nowhere',
    verifyIntervalMs: 100,
    readRetryBackoffMs: 10,
    push: isJsonObject(push) ? push : { asciiPort: simulator.asciiPort },
    ...rest,
  }
}

/** A home whose gateway, in a process of its own, reaches the simulated HomeSeer. */
export function homeseerHome(world: World, more: JsonObject = {}, rest: JsonObject = {}): Home {
  return createHome(stringify({ guard: GUARD, homeseer: homeseerConfig(world, more), ...rest }))
}

export interface House extends AsyncDisposable {
  readonly gateway: Gateway
  readonly call: (name: string, args?: JsonObject, caller?: Caller) => Promise<Answer>
  /** Says yes to everything that waits. */
  readonly approveAll: () => Promise<number>
  readonly stop: () => Promise<void>
}

export interface HouseOptions {
  readonly homeseer?: JsonObject
  readonly config?: JsonObject
  readonly dataRoot?: string
}

/** The gateway in this process, reached as its faces reach it. */
export async function openHouse(world: World, options: HouseOptions = {}): Promise<House> {
  const dataRoot = options.dataRoot ?? mkdtempSync(join(tmpdir(), 'hearthbus-hs-data-'))
  const started = await startGateway({
    config: configSchema.parse({
      guard: GUARD,
      homeseer: homeseerConfig(world, options.homeseer),
      ...options.config,
    }),
    dataRoot,
    version: '0.0.0',
    logger: silentLogger,
    listen: false,
  })
  if (!started.ok) throw new Error(started.fault.message)
  const gateway = started.value
  // Who decides, and who calls, was let in before: the log takes no decision of a stranger.
  if (gateway.guard.tokens.list().length === 0)
    for (const { id, role } of [AGENT, APPROVER]) await gateway.guard.tokens.create(OWNER_PRINCIPAL, { name: id, role })
  let running = true
  const stop = async (): Promise<void> => {
    if (running) await gateway.stop()
    running = false
  }
  return {
    gateway,
    call: async (name, args = {}, caller = AGENT) => {
      const outcome = await gateway.bus.call(name, undefined, args, { caller, channel: 'mcp-http' })
      const offer = gateway.bus.offer(name)
      if (offer === undefined) return { error: { code: 'NO_SUCH_TOOL' } }
      return createToolResult(outcome, offer)['structuredContent'] as Answer
    },
    approveAll: async () => {
      const waiting = gateway.guard.approvals.list({ state: 'requested', limit: 100 })
      for (const { id } of waiting) await gateway.guard.approvals.approve(id, APPROVER)
      return waiting.length
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
      if (options.dataRoot === undefined) rmSync(dataRoot, { recursive: true, force: true })
    },
  }
}

/** A tool called by a real MCP client: what it answered, and whether as an error. */
export async function callTool(
  client: Client,
  name: string,
  args: JsonObject = {},
): Promise<{ readonly answer: Answer; readonly isError: boolean; readonly content: readonly Json[] }> {
  const result = await client.callTool({ name, arguments: { ...args } })
  return {
    answer: result.structuredContent as Answer,
    isError: result.isError === true,
    content: result.content as unknown as readonly Json[],
  }
}

/** The same by a client of its own, as before and after a power cut. */
export async function callOnce(url: string, name: string, args: JsonObject): Promise<Answer> {
  const client = await connectHttp(url, 'modern')
  try {
    return (await callTool(client, name, args)).answer
  } finally {
    await client.close()
  }
}

/** Commands that reached a device, let or not. */
export function countControls({ simulator }: World): number {
  return simulator.system.deeds.filter(({ kind }) => kind === 'control').length
}

/** One row of the policy matrix: R refused, D dry, X executed. */
export interface MatrixRow {
  readonly safeMode: 'read_only' | 'read_write'
  readonly defaultDryRun: boolean
  readonly confirm: boolean
  readonly listed: boolean
  readonly direct: 'R' | 'D' | 'X'
  readonly commit: 'R' | 'D' | 'X'
}

/** The matrix that a replacement has to pass; "any" is both. */
export const POLICY_MATRIX: readonly MatrixRow[] = [
  { safeMode: 'read_only', defaultDryRun: false, confirm: true, listed: true, direct: 'R', commit: 'R' },
  { safeMode: 'read_only', defaultDryRun: true, confirm: true, listed: true, direct: 'D', commit: 'D' },
  { safeMode: 'read_only', defaultDryRun: true, confirm: false, listed: true, direct: 'D', commit: 'D' },
  { safeMode: 'read_write', defaultDryRun: false, confirm: false, listed: true, direct: 'R', commit: 'R' },
  { safeMode: 'read_write', defaultDryRun: false, confirm: true, listed: false, direct: 'R', commit: 'R' },
  { safeMode: 'read_write', defaultDryRun: true, confirm: true, listed: true, direct: 'D', commit: 'D' },
  { safeMode: 'read_write', defaultDryRun: false, confirm: true, listed: true, direct: 'X', commit: 'X' },
]

/** `ref` is on the row's list, or something else is. */
export function matrixConfig({ safeMode, defaultDryRun, listed }: MatrixRow, ref: number): JsonObject {
  return { safeMode, defaultDryRun, allow: { devices: [listed ? ref : 1] } }
}

/** R, D or X; anything else in full, so that a failure says what it was. */
export function verdictOf(answer: Answer, didSomething: boolean): string {
  if (didSomething) return 'X'
  if (at(answer, 'error', 'code') === 'POLICY_DENY') return 'R'
  return at(answer, 'result', 'dryRun') === true ? 'D' : JSON.stringify(answer)
}
