/**
 * The probes that an earlier implementation was put to, row by row, each with the outcome that its contract promised.
 * Through a real MCP client, or as plain HTTP where the probe is one, against a gateway in a process of its own.
 */
import { request } from 'node:http'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, createHome, readCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { at, callTool, CLAIMS, homeseerConfig, openHouse, openWorld } from '../homeseer-rig.ts'
import type { Answer, House, World } from '../homeseer-rig.ts'

let world: World
let home: Home
let gateway: GatewayProcess
let client: Client
let token: string

/** Nobody is let in without a token here. */
beforeAll(async () => {
  world = await openWorld()
  const homeseer = homeseerConfig(world, { allow: { events: [31] } })
  // The probes set the same device one after the other.
  home = createHome(`  anonymous: off\n${stringify({ guard: { actuatorIntervalMs: 0 }, homeseer })}`)
  token = readCommandSync(home, 'token', 'create', 'claude', '--role', 'agent').split('\n')[0] ?? ''
  gateway = await startGatewayProcess(home)
  client = await connectHttp(gateway.url, 'modern', '/mcp', token)
})

afterAll(async () => {
  await client.close()
  await gateway.stop()
  await world.close()
  home.remove()
})

beforeEach(() => {
  world.simulator.system.deeds.length = 0
})

async function ask(tool: string, args: JsonObject): Promise<Answer> {
  return (await callTool(client, tool, args)).answer
}

function deeds(): readonly string[] {
  return world.simulator.system.deeds.map(({ kind }) => kind)
}

/** The code of a failure that a model can act on; throws on one that lacks any of the contract's five members. */
function errorOf(answer: Answer): { readonly code: unknown; readonly retryable: unknown } {
  const { code, message, retryable, fixHint, suggestedNextToolCalls: next } = at(answer, 'error') as JsonObject
  const words = [code, message, fixHint].every((text) => typeof text === 'string' && text !== '')
  const calls =
    Array.isArray(next) && next.length > 0 && next.every((call) => String(at(call, 'name')).startsWith('hs4.'))
  if (!words || !calls) throw new Error(`no error that one can act on: ${JSON.stringify(answer)}`)
  return { code, retryable }
}

describe('probes of tools and prompts', () => {
  // The original says POLICY_DENY: docs/adr/0280.
  it('C1 devices.set without confirm: BAD_REQUEST with three reasons', async () => {
    const answer = await ask('hs4.devices.set', { ref: 120, value: 255 })
    expect(at(answer, 'error', 'code')).toBe('BAD_REQUEST')
    expect(at(answer, 'error', 'details', 'rules')).toEqual(['confirm', 'intent', 'reason'])
    expect(deeds()).toEqual([])
  })

  it('C2 devices.set without ref: BAD_REQUEST in the envelope', async () => {
    const { answer, isError } = await callTool(client, 'hs4.devices.set', { value: 255 })
    expect(isError).toBe(true)
    expect(errorOf(answer)).toEqual({ code: 'BAD_REQUEST', retryable: false })
    expect(at(answer, 'error', 'suggestedNextToolCalls')).toEqual([
      { name: 'hs4.help.route', args: { goal: 'use hs4.devices.set' } },
    ])
  })

  it('C5 events.run with an id that is not listed: denied', async () => {
    const answer = await ask('hs4.events.run', { id: 32, ...CLAIMS })
    expect(at(answer, 'error', 'details', 'rules')).toEqual(['event-list'])
  })

  it('C6 events.run of the same event by group and name: denied', async () => {
    const answer = await ask('hs4.events.run', { group: 'Evening', name: 'Movie Night', ...CLAIMS })
    expect(at(answer, 'error', 'details', 'rules')).toEqual(['event-list'])
    expect(deeds()).toEqual([])
  })

  it('C7 admin.users.create, administration off, tier omitted: denied', async () => {
    const answer = await ask('hs4.admin.users.create', { username: 'eve', ...CLAIMS, maintenanceWindowId: 'x' })
    expect(at(answer, 'error', 'details', 'rules')).toEqual(['admin-enabled', 'admin-domain', 'change-ticket'])
    expect(deeds()).toEqual([])
  })

  it('C8 the same with tier admin: denied, with the envelope', async () => {
    const answer = await ask('hs4.admin.users.create', {
      username: 'eve',
      ...CLAIMS,
      maintenanceWindowId: 'x',
      operationTier: 'admin',
    })
    expect(answer).toMatchObject({
      error: {
        code: 'POLICY_DENY',
        details: {
          envelope: {
            result: 'failed',
            precheck: [
              { check: 'policy', status: 'fail' },
              { check: 'maintenance_window', status: 'pass', required: true },
              { check: 'change_ticket', status: 'fail', required: true },
            ],
            steps: [],
            rollback: 'not_needed',
            auditRef: expect.stringMatching(/^trace:/),
            operationTier: 'admin',
            domain: 'users',
            maintenanceWindowId: 'x',
            changeTicket: null,
            riskLevel: 'medium',
          },
        },
      },
    })
  })

  it('C11 prepare with a ref that is not a number: BAD_REQUEST, and no token', async () => {
    const answer = await ask('hs4.change.prepare', { toolName: 'hs4.devices.set', args: { ref: 'abc' } })
    expect(errorOf(answer)).toEqual({ code: 'BAD_REQUEST', retryable: false })
    expect(JSON.stringify(answer)).not.toContain('chg_')
  })

  it('C10 two parallel commits of one token, and a hundred: one wins', async () => {
    for (const many of [2, 100]) {
      world.simulator.system.deeds.length = 0
      const args = { ref: 120, value: world.simulator.house.hardware(120)?.value === 0 ? 255 : 0, ...CLAIMS }
      const staged = await ask('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
      const commit = { token: String(at(staged, 'result', 'token')) }
      const all = await Promise.all(Array.from({ length: many }, () => ask('hs4.change.commit', commit)))
      const codes = all.map((answer) => at(answer, 'error', 'code'))
      expect(codes.filter((code) => code === undefined)).toHaveLength(1)
      expect(codes.filter((code) => code === 'BAD_REQUEST')).toHaveLength(many - 1)
      expect(deeds()).toEqual(['control'])
    }
  })

  it('C12 a control that HomeSeer refuses with a bare error: HS4_ERROR, and no write of its memory', async () => {
    world.simulator.faults.refused.add(120)
    const answer = await ask('hs4.devices.set', { ref: 120, label: 'On', ...CLAIMS })
    world.simulator.faults.refused.clear()
    expect(errorOf(answer)).toEqual({ code: 'HS4_ERROR', retryable: false })
    expect(world.simulator.system.deeds).toMatchObject([{ kind: 'control', done: false }])
  })

  it('C13 set_status 99 on a dimmer, payloads as HomeSeer sends them: switched to control', async () => {
    const answer = await ask('hs4.devices.set', { ref: 131, mode: 'set_status', value: 99, ...CLAIMS })
    expect(answer).toMatchObject({
      result: {
        applied: true,
        mode: 'control_value',
        requestedMode: 'set_status',
        modeAutoSwitch: expect.any(String),
      },
    })
    expect(world.simulator.house.hardware(131)?.value).toBe(99)
  })

  it('C14 events.get 999: NOT_FOUND', async () => {
    expect(errorOf(await ask('hs4.events.get', { id: 999 }))).toEqual({ code: 'NOT_FOUND', retryable: false })
    expect(errorOf(await ask('hs4.events.definition.get', { id: 999 }))).toEqual({
      code: 'NOT_FOUND',
      retryable: false,
    })
  })

  it('C15 devices.set of an unknown ref: NOT_FOUND', async () => {
    const answer = await ask('hs4.devices.set', { ref: 4_711, value: 1, ...CLAIMS })
    expect(errorOf(answer)).toEqual({ code: 'NOT_FOUND', retryable: false })
    expect(at(answer, 'error', 'suggestedNextToolCalls')).toContainEqual({
      name: 'hs4.resolve.devices',
      args: { query: 'device 4711' },
    })
  })

  it('C17 resolve "lamp": an endpoint first, with its pairs and its parent', async () => {
    const answer = await ask('hs4.resolve.devices', { query: 'hall lamp' })
    expect(at(answer, 'result', 'items', 0)).toMatchObject({
      ref: 101,
      recommended: true,
      actionability: { role: 'endpoint', controlPairCount: 4, parentRef: 100, relationship: '4', rank: 8 },
    })
    const lamp = await ask('hs4.resolve.devices', { query: 'lamp' })
    expect(at(lamp, 'result', 'items', 0, 'actionability', 'role')).toBe('endpoint')
  })

  it('C18 an intent in a whole sentence: resolves, without its filler', async () => {
    const answer = await ask('hs4.intent.device_set_by_name', {
      query: 'turn on the kitchen lamp please',
      value: 255,
      ...CLAIMS,
    })
    expect(answer).toMatchObject({ result: { execute: false, resolution: { resolvedRef: 120, match: 'exact' } } })
  })

  it('C19 an intent without a shared word: NOT_FOUND', async () => {
    const answer = await ask('hs4.intent.device_set_by_name', { query: 'xylophone', value: 255, ...CLAIMS })
    expect(errorOf(answer)).toEqual({ code: 'NOT_FOUND', retryable: false })
  })

  it('C20 the prompt hs4_diagnostics with suspectedRef as text: a message', async () => {
    const { messages } = await client.getPrompt({
      name: 'hs4_diagnostics',
      arguments: { symptom: 'dark', suspectedRef: '101' },
    })
    expect(messages).toMatchObject([{ role: 'user', content: { text: expect.stringContaining('device 101') } }])
  })
})

describe('probes over HTTP', () => {
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'probe', version: '1' } },
  })

  /** As `fetch` would not send it: with any Host. */
  function send(options: {
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly path?: string
  }): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly text: string }> {
    const { hostname, port } = new URL(gateway.url)
    const { method = 'POST', path = '/mcp' } = options
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...options.headers,
    }
    return new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, path, method, headers }, (incoming) => {
        let text = ''
        incoming.on('data', (chunk: Buffer) => (text += chunk.toString()))
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }))
      })
      outgoing.on('error', reject)
      outgoing.end(method === 'POST' ? initialize : undefined)
    })
  }

  it('C21 without a token 401, with a wrong one 403, with a good one 200', async () => {
    const none = await send({})
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, expect.stringContaining('Bearer')])
    const wrong = await send({ headers: { authorization: `Bearer ${token.slice(0, -1)}x` } })
    expect(wrong.status).toBe(403)
    expect(JSON.parse(wrong.text)).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } })
    const good = await send({ headers: { authorization: `Bearer ${token}` } })
    expect([good.status, good.text]).toEqual([200, expect.stringContaining('"serverInfo"')])
  })

  it('C22 a foreign Host is refused, also with a good token', async () => {
    for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost@evil.example']) {
      const answer = await send({ headers: { host, authorization: `Bearer ${token}` } })
      expect([host, answer.status]).toEqual([host, 403])
    }
  })

  it('C23 GET /mcp opens nothing: 405 in the revision of 2026, 400 for a session that is none', async () => {
    const authorization = `Bearer ${token}`
    const modern = await send({ method: 'GET', headers: { authorization, 'mcp-protocol-version': '2026-07-28' } })
    expect([modern.status, modern.headers['allow']]).toEqual([405, 'POST'])
    const legacy = await send({ method: 'GET', headers: { authorization } })
    expect(legacy.status).toBe(400)
    const put = await send({ method: 'PUT', headers: { authorization } })
    expect([put.status, put.headers['allow']]).toEqual([405, 'GET, POST, DELETE'])
    expect((await send({ method: 'GET' })).status).toBe(401)
  })
})

describe('probes with other settings', () => {
  async function committed(house: House): Promise<Answer> {
    const args = { ref: 120, value: world.simulator.house.hardware(120)?.value === 0 ? 255 : 0, ...CLAIMS }
    const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
    return house.call('hs4.change.commit', { token: String(at(staged, 'result', 'token')) })
  }

  it('C3 prepare and commit, read_only: the commit is denied', async () => {
    await using house = await openHouse(world, { homeseer: { safeMode: 'read_only' } })
    expect(at(await committed(house), 'error', 'details', 'rules')).toEqual(['safe-mode'])
    expect(deeds()).toEqual([])
  })

  it('C4 prepare and commit, read_only with default dry run: dry', async () => {
    await using house = await openHouse(world, { homeseer: { safeMode: 'read_only', defaultDryRun: true } })
    expect(await committed(house)).toMatchObject({ result: { committed: false, dryRun: true } })
    expect(deeds()).toEqual([])
  })

  it('C9 admin.users.list in read_only with a script list of "nothing": no script is run', async () => {
    await using house = await openHouse(world, {
      homeseer: { safeMode: 'read_only', allow: { scripts: ['nothing'] }, admin: { enabled: true, users: true } },
    })
    const answer = await house.call('hs4.admin.users.list')
    expect(at(answer, 'error', 'details', 'rules')).toEqual(['safe-mode', 'script-list'])
    expect(deeds()).toEqual([])
  })

  it('C16 HomeSeer down: NETWORK, retryable', async () => {
    const gone = await openWorld()
    await using away = await openHouse(gone, { homeseer: { readRetries: 0 } })
    await gone.close()
    expect(errorOf(await away.call('hs4.health.get'))).toEqual({ code: 'NETWORK', retryable: true })
    expect(errorOf(await away.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS }))).toEqual({
      code: 'NETWORK',
      retryable: true,
    })
  })

  it('C16 and beside it: a wrong password is AUTH, JSON switched off says which switch', async () => {
    await using stranger = await openHouse(world, { homeseer: { password: 'wrong' } })
    expect(errorOf(await stranger.call('hs4.health.get'))).toEqual({ code: 'AUTH', retryable: false })
    world.simulator.faults.jsonDisabled = true
    const answer = await ask('hs4.health.get', {})
    world.simulator.faults.jsonDisabled = false
    expect(answer).toMatchObject({ error: { code: 'HS4_ERROR', fixHint: expect.stringContaining('JSON') } })
  })
})
