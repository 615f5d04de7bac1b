/**
 * Secrets under innocent names, on every way that a real client has to HomeSeer: a setting whose name is a value, what
 * a plug-in's function is told by position, a statement that sets a password. They reach HomeSeer, whoever has to say
 * yes sees what they allow, and nobody else ever finds them: not as an observer, not in the log, not in the files.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, readCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import {
  ADMIN_CLAIMS,
  ADMIN_OPEN,
  ADMIN_TRUSTED,
  at,
  callTool,
  CLAIMS,
  homeseerHome,
  openWorld,
} from '../homeseer-rig.ts'
import type { Answer, World } from '../homeseer-rig.ts'

/** Every secret of this file looks like this, in whatever case it is written down. */
const SECRET = /s3cr3t-\d+/gi
const SET_CODE = { plugin: 'Z-Wave', functionName: 'SetUserCode' }

let world: World
let home: Home
let gateway: GatewayProcess
let client: Client
let observer: Client
let observerToken: string
/** What the observer's page would hear meanwhile. */
let heard = ''
const listening = new AbortController()

beforeAll(async () => {
  world = await openWorld()
  world.simulator.system.settings.set('gSMTPPassword', 'S3CR3T-1')
  home = homeseerHome(world, { admin: ADMIN_OPEN }, ADMIN_TRUSTED)
  writeFileSync(home.config, readFileSync(home.config, 'utf8').replace('logLevel: warn', 'logLevel: debug'))
  observerToken = hearthbus('token', 'create', 'watcher', '--role', 'observer').split('\n')[0] ?? ''
  gateway = await startGatewayProcess(home)
  client = await connectHttp(gateway.url, 'modern')
  observer = await connectHttp(gateway.url, 'modern', '/mcp', observerToken)
  void listen()
  await vi.waitUntil(() => heard !== '', { timeout: 60_000 })
})
afterAll(async () => {
  listening.abort()
  await client.close()
  await observer.close()
  await gateway.stop()
  await world.close()
  home.remove()
})

async function listen(): Promise<void> {
  const headers = { authorization: `Bearer ${observerToken}` }
  try {
    const { body } = await fetch(`${gateway.url}/api/events`, { headers, signal: listening.signal })
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) heard += decoder.decode(chunk, { stream: true })
  } catch {
    // The gateway has stopped, or the test has ended.
  }
}

async function ask(tool: string, args: JsonObject): Promise<Answer> {
  return (await callTool(client, tool, args)).answer
}

/** As the owner does it, at the machine. */
function hearthbus(...words: readonly string[]): string {
  return readCommandSync(home, ...words)
}

async function askTheApi(path: string, token = observerToken): Promise<string> {
  const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  return answer.text()
}

/** The call waits for a person, who is shown `shown` and says yes; then it is made again. */
async function approved(tool: string, args: JsonObject, shown: string): Promise<Answer> {
  const refused = await ask(tool, args)
  const id = String(at(refused, 'error', 'details', 'approval_id'))
  expect(hearthbus('approvals', 'list')).toContain(shown)
  const seen = await askTheApi(`/api/approvals/${id}`)
  expect([seen.includes(id), seen.match(SECRET)]).toEqual([true, null])
  hearthbus('approvals', 'approve', id)
  // The question is answered: nobody needs to see it any more.
  const all = JSON.parse(hearthbus('--json', 'approvals', 'list', '--all')) as readonly JsonObject[]
  const decided = JSON.stringify(all.find((one) => one['id'] === id))
  expect([decided.includes('"approved"'), decided.match(SECRET)]).toEqual([true, null])
  return ask(tool, args)
}

describe('a secret HomeSeer setting', () => {
  it('is written, shown to nobody, and reported as impossible to undo', async () => {
    const set = { key: 'gSMTPPassword', value: 'S3CR3T-2', ...ADMIN_CLAIMS }
    const done = await ask('hs4.admin.system.config.set', set)
    expect(world.simulator.system.settings.get('gSMTPPassword')).toBe('S3CR3T-2')
    expect(done).toMatchObject({
      result: {
        result: 'applied',
        rollback: 'not_needed',
        rollbackNote: 'This cannot be taken back: a secret is part of it, and secrets are not kept.',
        before: { key: 'gSMTPPassword', value: '[redacted]' },
        after: { key: 'gSMTPPassword', value: '[redacted]' },
        diff: {
          changed: true,
          changedKeys: ['value'],
          changes: { value: { before: '[redacted]', after: '[redacted]' } },
        },
        data: { payload: { key: 'gSMTPPassword', value: '[redacted]' }, raw: '[redacted]' },
      },
    })
    expect(JSON.stringify(done).match(SECRET)).toBeNull()
    // The same again is no change, hidden or not.
    expect(at(await ask('hs4.admin.system.config.set', set), 'result', 'diff', 'changed')).toBe(false)
  })

  it('leaves no trace when planned, prepared, committed or set through another tool', async () => {
    const set = { key: 'gSMTPPassword', ...ADMIN_CLAIMS }
    const planned = await ask('hs4.admin.system.config.set', { ...set, value: 'S3CR3T-3', dryRun: true })
    const prepared = await ask('hs4.change.prepare', {
      toolName: 'hs4.admin.system.config.set',
      args: { ...set, value: 'S3CR3T-4' },
      summary: { setting: 'gSMTPPassword', value: 'S3CR3T-4' },
    })
    const committed = await ask('hs4.change.commit', { token: String(at(prepared, 'result', 'token')) })
    expect(committed).toMatchObject({ result: { committed: true, data: { rollback: 'not_needed' } } })
    expect(world.simulator.system.settings.get('gSMTPPassword')).toBe('S3CR3T-4')
    const routed = await ask('router_call', {
      capability: 'hs4.admin.system.config.set',
      arguments: { ...set, value: 'S3CR3T-5' },
    })
    expect(world.simulator.system.settings.get('gSMTPPassword')).toBe('S3CR3T-5')
    // The caller's own summary is the caller's to hear.
    const { summary: _, ...told } = at(prepared, 'result') as JsonObject
    expect(JSON.stringify([planned, told, committed, routed]).match(SECRET)).toBeNull()
  })

  it('is distinguished from a plain setting, which is recorded and can be undone', async () => {
    const done = await ask('hs4.admin.system.config.set', { key: 'gLocLabel', value: 'Zimmer', ...ADMIN_CLAIMS })
    expect(done).toMatchObject({ result: { rollback: 'available', before: { value: 'Room' } } })
    const { answer } = await callTool(observer, 'hs4.audit.query', { tool: 'hs4.admin.system.config.set', limit: 1 })
    expect(at(answer, 'result', 'entries', 0)).toMatchObject({
      target: { key: 'gLocLabel', value: 'Zimmer' },
      diff: { changes: { value: { before: 'Room', after: 'Zimmer' } } },
    })
  })
})

describe('secrets in other admin operations are redacted', () => {
  it.each<readonly [tool: string, args: JsonObject]>([
    ['users.create', { username: 'mia', password: 'S3CR3T-6' }],
    ['users.update', { userId: 'mia', password: 'S3CR3T-7' }],
    ['interfaces.update', { interfaceId: 'hue-1', settings: { user: 'hb', mqttpassword: 'S3CR3T-8' } }],
    ['interfaces.update', { interfaceId: 'hue-1', settings: { list: [{ name: 'MQTT password', value: 'S3CR3T-9' }] } }],
    ['cameras.config.update', { camId: 1, streamUrl: 'rtsp://anna:S3CR3T-10@192.0.2.9/x' }],
    ['cameras.config.update', { camId: 1, streamUrl: 'rtsp://192.0.2.9/x?pwd=S3CR3T-11' }],
  ])('hs4.admin.%s %j', async (op, args) => {
    const done = await ask(`hs4.admin.${op}`, { ...args, ...ADMIN_CLAIMS })
    expect(at(done, 'result', 'result')).toBe('applied')
    expect(JSON.stringify(done).match(SECRET)).toBeNull()
  })
})

describe('secrets in code', () => {
  it('are shown to the approver, and stored nowhere', async () => {
    const call = { ...SET_CODE, params: [1, 'S3CR3T-20'], ...CLAIMS }
    const done = await approved('hs4.plugins.function.call', call, '"params":[1,"S3CR3T-20"]')
    // The contract repeats them to the caller, who knows them.
    expect(done).toMatchObject({ result: { invoked: true, params: [1, 'S3CR3T-20'] } })
    const { answer } = await callTool(observer, 'hs4.audit.query', { action: 'plugins.function.call', limit: 1 })
    expect(at(answer, 'result', 'entries', 0, 'target')).toMatchObject({ ...SET_CODE, params: '[redacted]' })
  })

  it('of nested or prepared calls are stored nowhere', async () => {
    const args = { ...SET_CODE, params: [2, 'S3CR3T-21'], ...CLAIMS }
    const prepared = await ask('hs4.change.prepare', { toolName: 'hs4.plugins.function.call', args })
    const token = String(at(prepared, 'result', 'token'))
    expect(await approved('hs4.change.commit', { token }, 'S3CR3T-21')).toMatchObject({ result: { committed: true } })
    const routed = { capability: 'hs4.plugins.function.call', arguments: { ...args, params: [3, 'S3CR3T-22'] } }
    expect(at(await ask('router_call', routed), 'error')).toBeDefined()
    expect(hearthbus('approvals', 'list')).toContain('S3CR3T-22')
  })

  it('are redacted in the recorded script', async () => {
    const command = 'pwd = "S3CR3T-23" : hs.WriteLog("Set","SMTP"); hs.SaveINISetting("S","gSMTPPassword","S3CR3T-24")'
    await approved('hs4.scripts.run', { command, ...CLAIMS }, 'S3CR3T-24')
    const { answer } = await callTool(observer, 'hs4.audit.query', { action: 'scripts.run', limit: 1 })
    expect(at(answer, 'result', 'entries', 0, 'target', 'command')).toBe(
      'pwd = "[redacted]" : hs.WriteLog("Set","SMTP"); hs.SaveINISetting("S","gSMTPPassword","[redacted]")',
    )
  })
})

describe('after all calls with secrets', () => {
  it('an observer finds none in audit, approvals, calls and resources', async () => {
    const audit = await callTool(observer, 'hs4.audit.query', { limit: 1_000 })
    const traces = JSON.stringify(audit.answer).match(/trace:\w+/g) ?? []
    expect(traces.length).toBeGreaterThan(20)
    const said = [JSON.stringify(audit.answer), await askTheApi('/api/approvals?limit=100')]
    for (const uri of ['hs4://admin/audit/diff', 'hs4://audit/recent', 'hs4://admin/users'])
      said.push(JSON.stringify(await observer.readResource({ uri })))
    for (const trace of new Set(traces)) said.push(await askTheApi(`/api/calls/${trace.slice('trace:'.length)}`))
    expect(said.join('\n').match(SECRET)).toBeNull()
    expect(said.join('\n')).toContain('gSMTPPassword')
    await expect.poll(() => heard).toContain('SetUserCode')
    expect(heard.match(SECRET)).toBeNull()
  })

  it('log and files contain none, while the gateway runs and after it stopped', async () => {
    expect(found()).toEqual([])
    await gateway.stop()
    expect(found()).toEqual([])
    expect(gateway.log().match(SECRET)).toBeNull()
  })
})

/** Raw bytes, so that pages which the database has let go of count as well. */
function found(): readonly string[] {
  const files = readdirSync(home.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  expect(files.some((path) => path.endsWith('.db'))).toBe(true)
  return files.flatMap((path) => (readFileSync(path, 'latin1').match(SECRET) ?? []).map((one) => `${path}: ${one}`))
}
