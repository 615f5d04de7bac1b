/**
 * Credentials that are narrowed stay narrow: over the API, whatever is created, approved, stopped or seen through one is
 * at most what it could do itself. A real gateway, a real socket, tokens made by the owner.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CallResultView } from '../../src/web/api-requests.ts'
import { stringAt } from '../../console/src/core/json.ts'
import { openConsoleHouse } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { CLI, createHome } from '../gateway-process.ts'
import { doors } from '../strange-house.ts'

let house: ConsoleHouse
const front = doors()
let made = 0
beforeAll(async () => {
  house = await openConsoleHouse([front.service])
})
afterAll(() => house.stop())

async function token(wish: Record<string, unknown>, by = house.owner): Promise<string> {
  const answer = await house.api('/api/tokens', { method: 'POST', body: { name: `t${made++}`, ...wish }, token: by })
  const { token: text } = (await answer.json()) as { token?: string }
  if (text === undefined) throw new Error(`no token: ${answer.status}`)
  return text
}

async function status(path: string, by: string, method = 'GET', body?: unknown): Promise<number> {
  const answer = await house.api(path, { method, token: by, ...(method === 'GET' ? {} : { body: body ?? {} }) })
  await answer.arrayBuffer()
  return answer.status
}

async function call(tool: string, args: object, by: string): Promise<CallResultView> {
  const answer = await house.api('/api/call', { method: 'POST', body: { tool, arguments: args }, token: by })
  return (await answer.json()) as CallResultView
}

const NARROWINGS: readonly Record<string, readonly string[]>[] = [
  { effects: ['reads'] },
  { effects: ['reads', 'writes', 'sensitive'] },
  { effects: [] },
  { devices: ['device:lamp'] },
  { profiles: ['read'] },
]

describe('a narrowed admin token', () => {
  it.each(NARROWINGS)('with %j administers nothing beyond that', async (narrowing) => {
    const admin = await token({ role: 'admin', ...narrowing })
    const wide = { name: `wide${made}`, role: 'admin' }
    expect(await status('/api/tokens', admin, 'POST', wide)).toBe(403)
    expect(await status('/api/tokens', admin, 'POST', { ...wide, role: 'agent' })).toBe(403)
    expect(await status('/api/console/link', admin, 'POST', {})).toBe(403)
    expect(await status('/api/ledger/export', admin, 'POST', { folder: '/tmp/never-written' })).toBe(403)
    expect(await status('/api/ledger/erase', admin, 'POST', { entries: [0], reason: 'none' })).toBe(403)
    expect(await status('/api/stop', admin, 'DELETE')).toBe(403)
  })

  it.each([{ devices: ['device:lamp'] }, { profiles: ['read'] }, { profiles: ['home'] }])(
    'with %j can neither stop all changes nor have the ledger signed',
    async (narrowing) => {
      const admin = await token({ role: 'admin', ...narrowing })
      expect(await status('/api/stop', admin, 'POST', { reason: 'no' })).toBe(403)
      expect(await status('/api/ledger/checkpoint', admin, 'POST')).toBe(403)
    },
  )

  it('approves no call that it could not make itself', async () => {
    const agent = await token({ role: 'agent' })
    const asked = await call('test.door.open', { door: 'front' }, agent)
    const id = stringAt(asked.fault?.details, 'approval_id') ?? ''
    for (const narrowing of NARROWINGS.filter(({ effects }) => effects?.includes('sensitive') !== true)) {
      const admin = await token({ role: 'admin', ...narrowing })
      expect([narrowing, await status(`/api/approvals/${id}/approve`, admin, 'POST')]).toEqual([narrowing, 403])
    }
    await call('test.door.open', { door: 'front' }, agent)
    expect(front.opened).toEqual([])
    const approver = await token({ role: 'approver', effects: ['sensitive'] })
    expect(await status(`/api/approvals/${id}`, approver)).toBe(200)
    expect(await status(`/api/approvals/${id}/approve`, approver, 'POST')).toBe(200)
    await call('test.door.open', { door: 'front' }, agent)
    expect(front.opened).toHaveLength(1)
  })

  it('creates and revokes tokens narrowed like itself, and sees no others', async () => {
    const admin = await token({ role: 'admin', effects: ['reads', 'admin'] })
    const mine = await house.api('/api/tokens', {
      method: 'POST',
      body: { name: 'mine', role: 'observer', effects: ['reads'] },
      token: admin,
    })
    expect(mine.status).toBe(200)
    const listed = (await (await house.api('/api/tokens', { token: admin })).json()) as { name: string }[]
    const all = (await (await house.api('/api/tokens', { token: house.owner })).json()) as { name: string }[]
    expect(listed.map(({ name }) => name)).toContain('mine')
    expect(listed.length).toBeLessThan(all.length)
    await token({ name: 'not-mine', role: 'agent' })
    expect(await status('/api/tokens/not-mine', admin, 'DELETE')).toBe(403)
    expect(await status('/api/tokens/mine', admin, 'DELETE')).toBe(200)
  })
})

describe('ledger records', () => {
  it('are hidden from a token without effects, and from one for another device', async () => {
    const agent = await token({ role: 'agent' })
    const { traceId } = await call('test.door.open', { door: 'back' }, agent)
    for (const role of ['observer', 'agent', 'approver', 'admin']) {
      const nothing = await token({ role, effects: [] })
      const looked = [
        'status',
        'topology',
        'stats',
        'settings',
        'history',
        'tools',
        'traces',
        'events',
        'ledger',
        'grants',
      ]
      for (const path of looked) expect([role, path, await status(`/api/${path}`, nothing)]).toEqual([role, path, 403])
      expect(await status('/api/ledger/entries', nothing)).toBe(403)
      expect(await status(`/api/calls/${traceId}`, nothing)).toBe(404)
      expect(await (await house.api('/api/approvals', { token: nothing })).json()).toEqual([])
      expect(await status('/api/stop', nothing, 'POST', { reason: 'no' })).toBe(403)
      const elsewhere = { authorization: `Bearer ${nothing}`, 'x-forwarded-for': '192.0.2.1' }
      expect((await house.api('/metrics', { headers: elsewhere })).status).toBe(403)
    }
    const lamp = await token({ role: 'agent', devices: ['device:lamp'] })
    expect(await status(`/api/calls/${traceId}`, lamp)).toBe(404)
    expect(await (await house.api('/api/approvals', { token: lamp })).json()).toEqual([])
    const seen = await call('ledger_changes', { limit: 50 }, lamp)
    expect(JSON.stringify(seen.structured)).not.toContain('test.door.open')
    const traces = await call('bus_traces', { limit: 50 }, lamp)
    expect(JSON.stringify(traces.structured)).not.toContain('test.door.open')
  })

  it('of another agent’s reads are hidden from an agent, and those of its changes are not', async () => {
    const [one, other, watcher] = [
      await token({ role: 'agent' }),
      await token({ role: 'agent' }),
      await token({ role: 'observer' }),
    ]
    const asked = await call('server_ping', { message: 'between us' }, one)
    const tried = await call('test.door.open', { door: 'side' }, one)
    expect(await status(`/api/calls/${asked.traceId}`, other)).toBe(404)
    expect(await status(`/api/calls/${asked.traceId}`, one)).toBe(200)
    expect(await status(`/api/calls/${asked.traceId}`, watcher)).toBe(200)
    expect(await status(`/api/calls/${tried.traceId}`, other)).toBe(200)
  })

  it('in the event stream are limited to what the listener may read', async () => {
    const [one, other] = [await token({ role: 'agent' }), await token({ role: 'agent' })]
    const listening = new AbortController()
    const stream = await fetch(`${house.url}/api/events`, {
      headers: { authorization: `Bearer ${other}` },
      signal: listening.signal,
    })
    await call('server_ping', {}, one)
    await call('test.door.open', { door: 'cellar' }, one)
    await call('server_health', {}, other)
    let heard = ''
    const decoder = new TextDecoder()
    try {
      for await (const bytes of stream.body ?? []) {
        heard += decoder.decode(bytes as Uint8Array, { stream: true })
        if (heard.includes('server_health')) break
      }
    } finally {
      listening.abort()
    }
    expect(heard).toContain('test.door.open')
    expect(heard).not.toContain('server_ping')
  })
})

describe('an observer', () => {
  it('can neither sign a checkpoint nor stop changes nor start a verification', async () => {
    const observer = await token({ role: 'observer' })
    expect(await status('/api/ledger/checkpoint', observer, 'POST')).toBe(403)
    expect(await status('/api/ledger/verify', observer, 'POST')).toBe(403)
    expect(await status('/api/stop', observer, 'POST', { reason: 'no' })).toBe(403)
    const { checkpointSize } = (await signed()) ?? {}
    await call('ledger_checkpoint', {}, observer)
    await call('ledger_proof', { log_index: 0 }, observer)
    await status('/api/ledger/proof/0', observer)
    expect((await signed())?.checkpointSize).toBe(checkpointSize)
  })

  async function signed(): Promise<{ checkpointSize: number | null } | undefined> {
    const answer = await house.api('/api/status', { token: house.owner })
    return ((await answer.json()) as { ledger?: { checkpointSize: number | null } }).ledger
  }
})

describe('a gateway whose output is not a terminal', () => {
  it('writes the sign-in link into a file with mode 0600, and not to its output', async () => {
    const home = createHome()
    const child = spawn(process.execPath, [CLI, 'up', '--data', home.data, '--config', home.config])
    let said = ''
    for await (const line of createInterface({ input: child.stdout })) {
      said += `${line}\n`
      if (line.includes('Ctrl-C')) break
    }
    const file = join(home.data, 'keys', 'console.link')
    expect(said).not.toContain('#/sign-in/')
    expect(said).toContain(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\/[\w-]{43}\n$/)
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect(() => statSync(file)).toThrow('ENOENT')
    home.remove()
  })
})
