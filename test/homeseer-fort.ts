/**
 * Fort: a gateway before a simulated HomeSeer, and the only way to attack it: `attempt`, which looks at everything in
 * the simulator before and after, and finds each call of the attempt in the ledger with its end.
 *
 *   attempt(how, async ({ tool, prompt, resource }) => …)
 *     ├─ the simulator: the very same state, down to what reached it
 *     └─ the ledger: one record per call, under the attempt's own trace, that ended as the caller was told
 *
 * Nothing here hands out a client, so no attempt can be made that nobody looks at. What is in the ledger without
 * belonging to an attempt is counted, too.
 */
import { recordedActions, recordedEntries } from './recorded-calls.ts'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import { traceIdToUlid } from '../src/core/ids.ts'
import type { JsonObject } from '../src/core/json.ts'
import { connectHttp, startGatewayProcess } from './gateway-process.ts'
import type { Era, GatewayProcess, Home } from './gateway-process.ts'
import { at, homeseerHome } from './homeseer-rig.ts'
import type { Answer, World, WorldState } from './homeseer-rig.ts'

/** What the ledger says of one call. */
export interface Action {
  readonly tool: string
  readonly principal: string
  readonly outcome: string
  readonly errorCode: string | undefined
}

/** A call that was tried, with what the caller was told. */
interface Tried {
  /** As the ledger should know it. */
  readonly name: string
  readonly answer: Answer | undefined
}

export interface Weapons {
  readonly tool: (name: string, args: JsonObject) => Promise<Answer>
  /** Under another name than the one that is recorded, by another client, or both. */
  readonly toolAs: (call: {
    readonly name: string
    readonly args: JsonObject
    readonly recordedAs: string
    readonly by?: Weapon
  }) => Promise<Answer>
  readonly prompt: (name: string, args: Record<string, string>) => Promise<void>
  readonly resource: (uri: string) => Promise<void>
}

/** A client of another kind, path or credential. */
export interface Weapon {
  readonly era: Era
  readonly path?: string
  readonly token?: string
}

export interface Report {
  readonly answers: readonly Answer[]
  readonly actions: readonly Action[]
}

export interface Fort extends AsyncDisposable {
  /** What was tried, and what the ledger has of it; both have been compared already. */
  readonly attempt: (assault: (weapons: Weapons) => Promise<void>) => Promise<Report>
  /** Something that is allowed, so that an attempt can build on it. */
  readonly allowed: (name: string, args: JsonObject) => Promise<Answer>
  readonly attempts: () => number
  readonly calls: () => number
  /**
   * Calls through a door that belong neither to an attempt nor to what was allowed. The node asks things of its own.
   */
  readonly strays: () => readonly string[]
  /** What the simulator should look like: as it was, and as what was allowed has left it. */
  readonly lawful: () => WorldState
  readonly url: string
  /** The owner's own credential. */
  readonly ownerToken: string
  readonly events: (kind: string) => readonly JsonObject[]
}

export async function openFort(world: World, homeseer: JsonObject): Promise<Fort> {
  const home = homeseerHome(world, homeseer)
  const gateway = await startGatewayProcess(home)
  const client = await connectHttp(gateway.url, 'modern')
  const traces = new Set<string>()
  let lawful = world.state()
  let attempts = 0
  let calls = 0

  async function attempt(assault: (weapons: Weapons) => Promise<void>): Promise<Report> {
    attempts++
    const trace = newTrace()
    traces.add(trace.ulid)
    const tried: Tried[] = []
    await assault(weaponsFor({ gateway, client, tried, traceparent: trace.traceparent }))
    if (tried.length === 0) throw new Error('an attempt that tried nothing')
    calls += tried.length
    expect(world.state()).toEqual(lawful)
    const actions = actionsOf(home, trace.ulid)
    for (const one of tried) expectRecorded(one, tried, actions)
    return { answers: tried.map(({ answer }) => answer).filter((answer) => answer !== undefined), actions }
  }

  return {
    attempt,
    allowed: async (name, args) => {
      const trace = newTrace()
      traces.add(trace.ulid)
      const _meta = { traceparent: trace.traceparent }
      const result = await client.callTool({ name, arguments: { ...args }, _meta })
      lawful = world.state()
      return result.structuredContent as Answer
    },
    attempts: () => attempts,
    calls: () => calls,
    strays: () =>
      allActions(home)
        .filter(({ traceId, principal }) => OUTSIDE.has(principal) && !traces.has(traceId))
        .map(({ tool }) => tool),
    lawful: () => lawful,
    url: gateway.url,
    ownerToken: readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim(),
    events: (kind) => eventsOf(home, kind),
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await gateway.stop()
      home.remove()
    },
  }
}

/** Whoever comes without a token, and the owner. */
const OUTSIDE: ReadonlySet<string> = new Set(['local', 'owner'])

function newTrace(): { readonly traceparent: string; readonly ulid: string } {
  const id = randomBytes(16).toString('hex')
  return { traceparent: `00-${id}-${randomBytes(8).toString('hex')}-01`, ulid: traceIdToUlid(id) }
}

function weaponsFor(at: {
  readonly gateway: GatewayProcess
  readonly client: Client
  readonly tried: Tried[]
  readonly traceparent: string
}): Weapons {
  const { gateway, client, tried, traceparent } = at
  const _meta = { traceparent }
  const toolAs: Weapons['toolAs'] = async ({ name, args, recordedAs, by }) => {
    const caller = by === undefined ? client : await connectHttp(gateway.url, by.era, by.path, by.token)
    try {
      const result = await caller.callTool({ name, arguments: { ...args }, _meta })
      const answer = result.structuredContent as Answer
      tried.push({ name: recordedAs, answer })
      return answer
    } catch (error) {
      // A name that nobody knows is an error of the protocol, and on record all the same.
      tried.push({ name: recordedAs, answer: undefined })
      return { error: { code: 'PROTOCOL', message: String(error) } }
    } finally {
      if (caller !== client) await caller.close()
    }
  }
  return {
    toolAs,
    tool: (name, args) => toolAs({ name, args, recordedAs: name }),
    prompt: async (name, args) => {
      await client.getPrompt({ name, arguments: args, _meta }).catch(() => undefined)
      tried.push({ name, answer: undefined })
    },
    resource: async (uri) => {
      await client.readResource({ uri, _meta }).catch(() => undefined)
      tried.push({ name: uri, answer: undefined })
    },
  }
}

/** Each of several equal calls has a record of its own, and it ended as the caller was told. */
function expectRecorded({ name, answer }: Tried, tried: readonly Tried[], actions: readonly Action[]): void {
  const records = actions.filter((action) => action.tool === name)
  const made = tried.filter((one) => one.name === name).length
  expect(records.length, `${name} in the ledger`).toBeGreaterThanOrEqual(made)
  expect(records.every(({ outcome }) => outcome !== 'running' && outcome !== 'aborted')).toBe(true)
  if (answer === undefined) return
  const code = at(answer, 'error', 'code')
  const outcomes = records.map(({ outcome }) => outcome)
  expect(outcomes, `${name}, answered with ${JSON.stringify(code)}`).toContain(
    code === undefined ? 'ok' : code === 'POLICY_DENY' ? 'denied' : 'error',
  )
}

function actionsOf(home: Home, traceId: string): readonly Action[] {
  return allActions(home).filter((action) => action.traceId === traceId)
}

function allActions(home: Home): readonly (Action & { readonly traceId: string })[] {
  return recordedActions(home.data).map(({ tool, principal, trace_id, outcome, error_code }) => ({
    tool,
    principal,
    traceId: trace_id,
    outcome,
    errorCode: error_code ?? undefined,
  }))
}

function eventsOf(home: Home, kind: string): readonly JsonObject[] {
  return recordedEntries(home.data, kind)
}
