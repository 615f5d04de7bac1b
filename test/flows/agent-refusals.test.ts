/**
 * Refusals as an agent meets them, over real sockets in the virtual house: what the caller can supply is an argument
 * error with the whole call, which runs as it is printed; what a person has to decide is a state with one next step from
 * the caller's own list, and a client that listens hears when it is decided.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Era, GatewayProcess, Home } from '../gateway-process.ts'
import { at } from '../homeseer-rig.ts'

let home: Home
let gateway: GatewayProcess
let contract: Client
let short: Client
beforeAll(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home, ['--demo'])
  contract = await connectHttp(gateway.url, 'modern', '/mcp')
  short = await connectHttp(gateway.url, 'legacy', '/mcp/home')
  await vi.waitUntil(async () => JSON.stringify(await call(short, 'home_overview', {})).includes('is wanted'), {
    timeout: 120_000,
    interval: 500,
  })
})
afterAll(async () => {
  await contract.close()
  await short.close()
  await gateway.kill()
  home.remove()
})

async function call(client: Client, name: string, args: JsonObject): Promise<JsonObject> {
  const { structuredContent } = await client.callTool({ name, arguments: args })
  return structuredContent as JsonObject
}

/** As it is printed, whatever the family calls its parts; again where a busy machine garbles the simulated bus. */
async function run(client: Client, printed: unknown): Promise<JsonObject> {
  const { tool, name = tool, arguments: args, args: given = args } = printed as Record<string, unknown>
  for (let attempt = 1; ; attempt++) {
    const answer = await call(client, String(name), given as JsonObject)
    if (at(answer, 'error', 'retriable') !== true || attempt === 5) return answer
  }
}

const UNLOCK = { ref: 141, label: 'Unlock', confirm: true, intent: 'let the plumber in', reason: 'the owner asked' }
/** Room setpoint of the first zone, by day. */
const SETPOINT = { group: 3, instance: 0, addr: 0x22, data: '0000a841' }
const INVOKE = { address: 0x15, plane: 'system', method: 'set_ext_register', params: SETPOINT }

describe('a refusal for missing arguments', () => {
  it('in HomeSeer: is BAD_REQUEST and suggests the complete call, which runs as suggested', async () => {
    const refused = await call(contract, 'hs4.devices.set', { ref: 120, label: 'On' })
    expect(refused).toMatchObject({
      error: {
        code: 'BAD_REQUEST',
        details: { issues: [{ path: ['confirm'] }, { path: ['intent'] }, { path: ['reason'] }] },
      },
    })
    const printed = at(refused, 'error', 'suggestedNextToolCalls', 0)
    expect(await run(contract, printed)).toMatchObject({ result: { applied: true, ref: 120 } })
  })

  it('in HomeSeer with another mistake: names both, and suggests no call that would fail', async () => {
    const refused = await call(contract, 'hs4.devices.set', { ref: 9_999, label: 'On' })
    expect(refused).toMatchObject({
      error: { code: 'BAD_REQUEST', details: { alsoWrong: expect.stringMatching(/9999/) } },
    })
    expect(JSON.stringify(at(refused, 'error', 'suggestedNextToolCalls'))).not.toContain('9999')
  })

  it('in HomeSeer with a policy refusal: is POLICY_DENY with every reason and missing argument', async () => {
    const refused = await call(contract, 'hs4.admin.users.create', { username: 'eve' })
    expect(refused).toMatchObject({ error: { code: 'POLICY_DENY' } })
    const rules = at(refused, 'error', 'details', 'rules')
    expect(rules).toEqual(expect.arrayContaining(['confirm', 'intent', 'reason', 'admin-enabled', 'admin-domain']))
    expect(at(refused, 'error', 'details', 'issues', 0, 'path')).toEqual(['confirm'])
  })

  it('of a commit: suggests a commit that carries out what was prepared without claims', async () => {
    const prepared = await call(contract, 'hs4.change.prepare', {
      toolName: 'hs4.devices.set',
      args: { ref: 120, label: 'Off' },
    })
    const token = at(prepared, 'result', 'token')
    const refused = await call(contract, 'hs4.change.commit', { token: String(token) })
    expect(refused).toMatchObject({ error: { code: 'BAD_REQUEST' } })
    const printed = at(refused, 'error', 'suggestedNextToolCalls', 0)
    expect(await run(contract, printed)).toMatchObject({ result: { committed: true } })
  })

  it.each([
    ['nothing said', {}],
    ['no key', { intent: 'MUTATE', allow_dangerous: true }],
  ])('on eBUS, %s: is INVALID_ARGUMENT and suggests the complete call, which runs', async (_, said) => {
    const refused = await call(contract, 'ebus.v1.rpc.invoke', { ...INVOKE, ...said })
    expect(refused).toMatchObject({ error: { code: 'INVALID_ARGUMENT', retriable: false } })
    const printed = at(refused, 'error', 'details', 'next')
    expect(printed).toMatchObject({ arguments: { intent: 'MUTATE', allow_dangerous: true } })
    expect(await run(contract, printed)).toMatchObject({ error: null, data: { confirmed: { value: true } } })
  })

  it('on eBUS: is PERMISSION_DENIED if the caller itself wrote READ_ONLY or allow_dangerous false', async () => {
    const args = { ...INVOKE, intent: 'READ_ONLY', allow_dangerous: false }
    expect(await call(contract, 'ebus.v1.rpc.invoke', args)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
    const half = { ...INVOKE, intent: 'MUTATE', allow_dangerous: false }
    expect(await call(contract, 'ebus.v1.rpc.invoke', half)).toMatchObject({
      error: {
        code: 'PERMISSION_DENIED',
        reasons: [{ rule: 'allow-dangerous' }, { rule: 'idempotency-key' }],
        details: { issues: [{ path: ['idempotency_key'] }] },
      },
    })
  })

  it('on eBUS: suggests a read as READ_ONLY', async () => {
    const read = { ...INVOKE, method: 'get_ext_register', params: { group: 3, instance: 0, addr: 0x22 } }
    const refused = await call(contract, 'ebus.v1.rpc.invoke', read)
    const printed = at(refused, 'error', 'details', 'next')
    expect(printed).toMatchObject({ arguments: { intent: 'READ_ONLY', allow_dangerous: false } })
    expect(await run(contract, printed)).toMatchObject({ error: null })
  })

  it('of a home tool: suggests the call with a reason, which runs', async () => {
    const refused = await call(short, 'home_set', { thing: 'kitchen lamp', to: 'on' })
    expect(refused).toMatchObject({ error: { code: 'schema_mismatch' } })
    expect(await run(short, refused['next'])).toMatchObject({ say: expect.stringContaining('read back') })
  })

  it('through tools_call: suggests a call of tools_call', async () => {
    const args = { ref: 120, label: 'Off' }
    const refused = await call(short, 'tools_call', { name: 'hs4.devices.set', arguments: args })
    expect(refused['next']).toMatchObject({ tool: 'tools_call' })
    expect(await run(short, refused['next'])).toMatchObject({ quoted: { applied: true } })
  })
})

describe('a refusal that waits for an approval', () => {
  const NEVER = /hearthbus approvals|hearthbus call/

  it('names as next step the approval tool under the name in the caller’s list', async () => {
    const asked = await call(contract, 'hs4.devices.set', UNLOCK)
    const waiting = {
      id: expect.any(String),
      state: 'requested',
      expires_at: expect.stringMatching(/^2\d{3}-.*Z$/),
      resource: expect.stringMatching(/^hearthbus:\/\/approvals\//),
      next: { tool: 'approval', arguments: { id: expect.any(String), wait_seconds: 60 } },
    }
    expect(asked).toMatchObject({ error: { code: 'POLICY_DENY', details: { approval: waiting } } })
    expect(JSON.stringify(asked)).not.toMatch(NEVER)
    const { arguments: next } = at(asked, 'error', 'details', 'approval', 'next') as { arguments: JsonObject }
    expect(await call(contract, 'approval', { ...next, wait_seconds: 0 })).toMatchObject({
      approval: { state: 'requested' },
    })
    const home = await call(short, 'home_set', { thing: 'garage door', to: 'open', why: 'the car' })
    expect(home).toMatchObject({ approval: waiting })
    expect(JSON.stringify(home)).not.toMatch(NEVER)
  })

  it('names as next step the same call on a list without the approval tool', async () => {
    const family = await connectHttp(gateway.url, 'modern', '/mcp/homeseer?names=underscore')
    const asked = await call(family, 'hs4_devices_set', UNLOCK)
    expect(asked).toMatchObject({
      error: { details: { approval: { next: { tool: 'hs4_devices_set', arguments: UNLOCK } } } },
    })
    expect(JSON.stringify(asked)).not.toMatch(NEVER)
    await family.close()
  })

  it('on eBUS names as next step the approval tool', async () => {
    const raw = { address: 0x15, plane: 'system', method: 'read_raw', params: { payload: [2, 0, 0, 0, 0x36, 0] } }
    const gate = { intent: 'MUTATE', allow_dangerous: true, idempotency_key: 'raw' }
    const asked = await call(contract, 'ebus.v1.rpc.invoke', { ...raw, ...gate })
    expect(asked).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { approval: { state: 'requested', next: { tool: 'approval' } } } },
    })
    expect(JSON.stringify(asked)).not.toMatch(NEVER)
  })

  it.each<Era>(['modern', 'legacy'])('notifies a subscribed %s client when a person has decided', async (era) => {
    const client = await connectHttp(gateway.url, era, '/mcp/home')
    const wish = { thing: 'front door lock', to: 'unlock', why: `a visitor, ${era}` }
    const asked = await call(client, 'home_set', wish)
    const { id, resource: uri } = asked['approval'] as { id: string; resource: string }
    const heard: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
    if (era === 'modern') await client.listen({ resourceSubscriptions: [uri] })
    else await client.subscribeResource({ uri })
    const waited = client.callTool({ name: 'approval', arguments: { id, wait_seconds: 90 } })
    const { code } = await runCommand(home, ['approvals', 'approve', id])
    expect(code).toBe(0)
    expect((await waited).structuredContent).toMatchObject({ approval: { id, state: 'approved' } })
    await vi.waitFor(() => expect(heard).toContain(uri), { timeout: 120_000 })
    const { contents } = await client.readResource({ uri })
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ approval: { state: 'approved' } })
    await call(client, 'home_set', wish)
    expect(await call(client, 'approval', { id })).toMatchObject({ approval: { state: 'used' } })
    await call(client, 'home_set', { thing: 'front door lock', to: 'lock', why: 'as it was' })
    await client.close()
  })

  it('can be withdrawn by its caller, and the request of another caller cannot be read', async () => {
    const asked = await call(short, 'home_set', { thing: 'garage door', to: 'open', why: 'the car' })
    const { id, resource: uri } = asked['approval'] as { id: string; resource: string }
    expect(await call(short, 'approval', { id, withdraw: true })).toMatchObject({ approval: { state: 'withdrawn' } })
    await expect(short.readResource({ uri: `${uri}0` })).rejects.toThrow('no request')
  })

  it('reports progress while the approval tool waits', async () => {
    const asked = await call(contract, 'hs4.devices.set', { ...UNLOCK, ref: 150, label: 'Open' })
    const id = String(at(asked, 'error', 'details', 'approval', 'id'))
    const progress: string[] = []
    await contract.callTool(
      { name: 'approval', arguments: { id, wait_seconds: 1 } },
      { onprogress: ({ message }) => void progress.push(message ?? '') },
    )
    expect(progress).toContain('A person was asked.')
  })
})
