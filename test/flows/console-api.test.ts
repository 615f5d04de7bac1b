/**
 * What the console's HTTP side lets in, and what it tells.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { traceIdToUlid } from '../../src/core/ids.ts'
import type { CallResultView, ToolView } from '../../src/web/api-requests.ts'
import type {
  ApprovalView,
  TraceDetailView,
  SignInLinkView,
  ConsoleSessionView,
  SignInResultView,
} from '../../src/web/views.ts'
import { openConsoleHouse } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { callTool, newTraceId } from '../modern-request.ts'
import { doors } from '../strange-house.ts'

const KEY = 'x-hearthbus-key'
const { service, opened } = doors()
let house: ConsoleHouse

beforeAll(async () => {
  house = await openConsoleHouse([service])
})
afterAll(() => house.stop())

interface Signed {
  readonly headers: Record<string, string>
  readonly session: SignInResultView
  readonly cookie: string
}

async function signIn(role: string, body?: object): Promise<Signed> {
  const code = body === undefined ? ((await house.link(role)).split('/').at(-1) ?? '') : undefined
  const answer = await house.api('/api/session', { method: 'POST', body: body ?? { code } })
  expect(answer.status).toBe(200)
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
  const session = (await answer.json()) as SignInResultView
  return { headers: { cookie, [KEY]: session.key }, session, cookie: answer.headers.get('set-cookie') ?? '' }
}

async function ask(): Promise<ApprovalView> {
  const view = (await (
    await house.api('/api/call', {
      method: 'POST',
      body: { tool: 'test.door.open', arguments: { door: `front ${crypto.randomUUID()}` } },
    })
  ).json()) as CallResultView
  expect(view.outcome).toBe('denied')
  const open = (await (await house.api('/api/approvals?state=requested')).json()) as ApprovalView[]
  const found = open.find(({ shown }) => shown.traceId === view.traceId)
  if (found === undefined) throw new Error('nobody was asked')
  return found
}

describe('signing in', () => {
  it('accepts a link once, and sets an HttpOnly, SameSite cookie for /api only', async () => {
    const code = (await house.link()).split('/').at(-1)
    const first = await house.api('/api/session', { method: 'POST', body: { code } })
    expect(first.status).toBe(200)
    expect(first.headers.get('set-cookie')).toMatch(
      /^hearthbus-\w{12}=[\w.-]+; Path=\/api; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    )
    expect((await house.api('/api/session', { method: 'POST', body: { code } })).status).toBe(403)
  })

  it('is possible with a link, which only an admin can create', async () => {
    const path = '/api/console/link'
    expect((await house.api(path, { method: 'POST', body: {} })).status).toBe(403)
    for (const role of ['observer', 'agent', 'approver']) {
      const { headers } = await signIn(role)
      expect((await house.api(path, { method: 'POST', body: { role: 'admin' }, headers })).status).toBe(403)
    }
    const { headers } = await signIn('admin')
    const link = await house.api(path, { method: 'POST', body: { role: 'observer' }, headers })
    expect(((await link.json()) as SignInLinkView).role).toBe('observer')
  })

  it('works with a token, as its principal, until the token is revoked', async () => {
    const made = await house.api('/api/tokens', {
      method: 'POST',
      body: { name: 'anna', role: 'approver' },
      token: house.owner,
    })
    const { token } = (await made.json()) as { token: string }
    const { headers, session } = await signIn('', { token })
    expect([session.principal, session.role]).toEqual(['anna', 'approver'])
    expect((await house.api('/api/status', { headers })).status).toBe(200)
    await house.api('/api/tokens/anna', { method: 'DELETE', token: house.owner })
    expect((await house.api('/api/status', { headers })).status).toBe(401)
  })

  it('is recorded in the ledger', async () => {
    await signIn('observer')
    const entries = (await (await house.api('/api/ledger/entries?limit=20')).json()) as { kind: string }[]
    expect(entries.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['console.link', 'console.signed-in']))
  })
})

describe('a console session', () => {
  it('needs cookie and key together: either alone is refused, even for anonymous requests', async () => {
    const { headers } = await signIn('admin')
    const { cookie = '', [KEY]: key = '' } = headers
    expect((await house.api('/api/session', { headers })).status).toBe(200)
    expect((await house.api('/api/session', { headers: { cookie } })).status).toBe(401)
    expect((await house.api('/api/session', { headers: { [KEY]: key } })).status).toBe(401)
    expect((await house.api('/api/status', { headers: { cookie } })).status).toBe(401)
    const other = await signIn('observer')
    expect((await house.api('/api/session', { headers: { cookie, [KEY]: other.session.key } })).status).toBe(401)
  })

  it('is refused for requests from other origins', async () => {
    const { headers } = await signIn('admin')
    const body = { reason: 'forged' }
    for (const forged of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await house.api('/api/stop', { method: 'POST', body, headers: { ...headers, ...forged } })
      expect([forged, answer.status]).toEqual([forged, 403])
    }
    expect((await house.api('/api/status', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect(house.gateway.guard.stop.state()).toBeUndefined()
  })

  it('ends when it is signed out, or when an admin ends it', async () => {
    const one = await signIn('approver')
    await house.api('/api/session', { method: 'DELETE', headers: one.headers })
    expect((await house.api('/api/session', { headers: one.headers })).status).toBe(401)

    const two = await signIn('approver')
    const admin = await signIn('admin')
    const listed = (await (await house.api('/api/sessions', { headers: admin.headers })).json()) as ConsoleSessionView[]
    expect(listed.map(({ id }) => id)).toContain(two.session.session)
    const path = `/api/sessions/${two.session.session}`
    expect((await house.api(path, { method: 'DELETE', headers: (await signIn('observer')).headers })).status).toBe(404)
    expect((await house.api(path, { method: 'DELETE', headers: admin.headers })).status).toBe(200)
    expect((await house.api('/api/session', { headers: two.headers })).status).toBe(401)
  })

  it('does not authenticate requests to /mcp', async () => {
    const { headers } = await signIn('admin')
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    const answer = await house.api('/mcp', {
      method: 'POST',
      body,
      headers: { ...headers, accept: 'application/json, text/event-stream' },
    })
    // The cookie is for /api: whoever comes without a token is what any program on this machine is.
    expect(JSON.stringify(await answer.text())).not.toContain('"console"')
  })
})

describe('console roles', () => {
  it.each([
    ['observer', 403],
    ['agent', 403],
    ['approver', 200],
    ['admin', 200],
  ])('%s who approves receives status %i', async (role, status) => {
    const approval = await ask()
    const { headers } = await signIn(role)
    const answer = await house.api(`/api/approvals/${approval.id}/approve`, { method: 'POST', body: {}, headers })
    expect(answer.status).toBe(status)
    if (status !== 200)
      await house.api(`/api/approvals/${approval.id}/deny`, {
        method: 'POST',
        body: { reason: 'test' },
        token: house.owner,
      })
  })

  it('keep an approver from calling tools and from administration', async () => {
    const { headers } = await signIn('approver')
    const call = await house.api('/api/call', {
      method: 'POST',
      body: { tool: 'task_create', arguments: { title: 'x' } },
      headers,
    })
    expect(((await call.json()) as CallResultView).outcome).toBe('denied')
    expect((await house.api('/api/tokens', { headers })).status).toBe(403)
    expect((await house.api('/api/stop', { method: 'DELETE', headers })).status).toBe(403)
    expect((await house.api('/api/ledger/export', { method: 'POST', body: { folder: '/tmp' }, headers })).status).toBe(
      403,
    )
  })

  it('keep a person from approving a request of their own session', async () => {
    const { headers } = await signIn('admin')
    const body = { tool: 'test.door.open', arguments: { door: 'own' } }
    const view = (await (await house.api('/api/call', { method: 'POST', body, headers })).json()) as CallResultView
    expect(view.fault?.kind).toBe('approval-required')
    const open = (await (await house.api('/api/approvals?state=requested')).json()) as ApprovalView[]
    const id = open.find(({ binding }) => binding.principal === 'console')?.id
    expect((await house.api(`/api/approvals/${id}/approve`, { method: 'POST', body: {}, headers })).status).toBe(403)
    // The owner's file is another credential.
    const byOwner = await house.api(`/api/approvals/${id}/approve`, { method: 'POST', body: {}, token: house.owner })
    expect(byOwner.status).toBe(200)
  })
})

describe('a call through the console API', () => {
  it('is answered with its ledger position, also when refused, and recorded under its task and session', async () => {
    const ask = async (body: object): Promise<CallResultView & { readonly error?: unknown }> =>
      (await (await house.api('/api/call', { method: 'POST', body })).json()) as CallResultView
    const work = { task_id: 'task-7', session_id: 's-7' }
    for (const question of [
      { tool: 'server_ping', ...work },
      { tool: 'task_create', arguments: { title: 7 }, ...work },
      { tool: 'no.such.tool', ...work },
    ]) {
      const { record } = await ask(question)
      expect(record).toMatchObject(work)
      const { trace_id: traceId } = record as { readonly trace_id: string }
      const { entries } = (await (await house.api(`/api/calls/${traceId}`)).json()) as TraceDetailView
      expect(entries.map(({ seq }) => seq)).toEqual([record?.['log_index'], record?.['end_log_index']])
      expect(entries[0]?.entry).toMatchObject({ kind: 'call.enter', ...work })
    }
  })

  it('is shown with arguments, stages, approval and ledger entries', async () => {
    const before = opened.length
    const approval = await ask()
    await house.api(`/api/approvals/${approval.id}/approve`, { method: 'POST', body: {}, token: house.owner })
    const body = { tool: 'test.door.open', arguments: approval.shown.arguments }
    const view = (await (await house.api('/api/call', { method: 'POST', body })).json()) as CallResultView
    expect([view.outcome, opened.length]).toEqual(['ok', before + 1])
    expect(view.record).toMatchObject({ trace_id: view.traceId, approval: approval.id })
    const detail = (await (await house.api(`/api/calls/${view.traceId}`)).json()) as TraceDetailView
    expect(detail.traces.map(({ capability, result }) => [capability, result])).toEqual([['test.door.open', 'ok']])
    expect(Object.keys(detail.traces[0]?.stages ?? {})).toEqual(
      expect.arrayContaining(['lock', 'validate', 'audit enter', 'dispatch', 'audit exit', 'provider']),
    )
    expect(detail.entries.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['call.enter', 'approval.used', 'call.exit']),
    )
    expect(detail.calls).toMatchObject([{ arguments: approval.shown.arguments, result: { opened: true } }])
    const seq = detail.entries.find(({ kind }) => kind === 'call.exit')?.seq
    const proof = await (await house.api(`/api/ledger/proof/${seq}`)).text()
    expect(proof).toMatch(/^c2sp\.org\/tlog-proof@v1\n/)
  })

  it('is shown with its own arguments and result when other calls share its trace id', async () => {
    const trace = newTraceId()
    const door = `back ${trace}`
    await callTool(house.url, 'server_ping', {}, trace)
    await callTool(house.url, 'test.door.open', { door }, trace)
    const detail = (await (await house.api(`/api/calls/${traceIdToUlid(trace)}`)).json()) as TraceDetailView
    expect(detail.calls).toMatchObject([
      { enter: { entry: { tool: 'server_ping' } }, arguments: {}, withheld: 'reads-are-not-kept' },
      { enter: { entry: { tool: 'test.door.open' } }, arguments: { door }, exit: { entry: { outcome: 'denied' } } },
    ])
  })

  it('is shown with secrets redacted', async () => {
    const body = { tool: 'test.door.open', arguments: { door: 'secret', pin: '9384' } }
    const view = (await (await house.api('/api/call', { method: 'POST', body })).json()) as CallResultView
    const detail = await (await house.api(`/api/calls/${view.traceId}`)).text()
    expect(detail).toContain('[redacted]')
    expect(detail).not.toContain('9384')
  })

  it('with an unknown trace id is answered with 404', async () => {
    expect((await house.api('/api/calls/01K00000000000000000000000')).status).toBe(404)
    expect((await house.api(`/api/calls/${'x'.repeat(200)}`)).status).toBe(404)
  })
})

describe('the event stream', () => {
  it('reports calls and approvals, and resumes after the last event id', async () => {
    const first = await listen()
    await ask()
    const heard = await first.until((event) => event.name === 'approval')
    await first.until((event) => event.name === 'calls' && event.data.includes('test.door.open'))
    const lastId = first.lastId()
    first.close()
    await ask()
    const second = await listen({ 'last-event-id': lastId })
    const hello = await second.until((event) => event.name === 'hello')
    expect(JSON.parse(hello.data)).toMatchObject({ resumed: true })
    await second.until((event) => event.name === 'approval')
    second.close()
    expect(JSON.parse(heard.data)).toMatchObject({ state: 'requested' })
  })

  it('starts anew for an event id of another run', async () => {
    const stream = await listen({ 'last-event-id': 'another-run-7' })
    const hello = await stream.until((event) => event.name === 'hello')
    stream.close()
    expect(JSON.parse(hello.data)).toMatchObject({ resumed: false })
  })

  it('stays available to the owner when anonymous clients hold all places', async () => {
    const strangers = await Promise.all(Array.from({ length: 64 }, () => listen()))
    const own = await listen({ authorization: `Bearer ${house.owner}` })
    await own.until((event) => event.name === 'hello')
    await expect(strangers[0]?.until(() => false)).rejects.toThrow(/terminated|ended/)
    for (const stream of [own, ...strangers]) stream.close()
  })

  it('is refused without a complete session', async () => {
    const { headers } = await signIn('observer')
    const { cookie = '' } = headers
    expect((await house.api('/api/events', { headers: { cookie } })).status).toBe(401)
    expect((await house.api('/api/events', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect((await house.api('/api/events', { method: 'POST', body: {} })).status).toBe(405)
  })
})

describe('the console page', () => {
  it('has a content security policy that forbids foreign content and framing', async () => {
    const answer = await house.api('/')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
    expect(await answer.text()).not.toMatch(/<style|style=|<script(?![^>]*src=)/)
  })

  it('refers to immutable assets, and is itself revalidated', async () => {
    const page = await house.api('/')
    const [, asset = ''] = /src="(\/assets\/[^"]+)"/.exec(await page.text()) ?? []
    const script = await house.api(asset)
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const again = await house.api('/', { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
  })

  it('serves its own files only', async () => {
    for (const path of [
      '/../package.json',
      '/assets/../../package.json',
      '/assets/',
      '/%2e%2e/package.json',
      '/built-from',
    ])
      expect([path, (await house.api(path)).status]).toEqual([path, 404])
    expect((await house.api('/', { method: 'POST', body: {} })).status).toBe(405)
  })
})

describe('the API catalogue', () => {
  it('lists all routes at /api', async () => {
    const { routes, node } = (await (await house.api('/api')).json()) as { node: string; routes: readonly string[] }
    expect(node).toBe('home')
    expect(routes).toEqual(
      expect.arrayContaining(['GET /api', 'GET /api/status', 'POST /api/call', 'POST /api/session', 'GET /api/events']),
    )
    expect(routes.filter((route) => route.includes('*'))).toEqual([])
  })

  it('names the profiles that contain a tool', async () => {
    const tools = (await (await house.api('/api/tools')).json()) as ToolView[]
    expect(tools.find(({ name }) => name === 'test.door.open')?.profiles).toEqual(['all', 'test'])
    expect((await house.api('/api/tools?profile=nobody')).status).toBe(404)
  })

  it('omits schemas from a brief list, and returns one tool in full', async () => {
    const brief = (await (await house.api('/api/tools?brief=1')).json()) as Partial<ToolView>[]
    const listed = brief.find(({ name }) => name === 'test.door.open')
    expect([listed?.effect, listed?.inputSchema]).toEqual(['sensitive', undefined])
    const whole = (await (await house.api('/api/tools/test.door.open')).json()) as ToolView
    expect(whole).toMatchObject({ name: 'test.door.open', profiles: ['all', 'test'], inputSchema: { type: 'object' } })
    expect((await house.api('/api/tools/test.door.close')).status).toBe(404)
    const { headers } = await signIn('', { token: await readerToken() })
    expect((await house.api('/api/tools/test.door.open', { headers })).status).toBe(404)
  })
})

/** A token that is narrowed to reading: tools that do more do not exist for it. */
async function readerToken(): Promise<string> {
  const body = { name: 'reader', role: 'agent', effects: ['reads'] }
  const made = await house.api('/api/tokens', { method: 'POST', body, token: house.owner })
  return ((await made.json()) as { readonly token: string }).token
}

interface Heard {
  readonly id: string
  readonly name: string
  readonly data: string
}

/** Reads the stream as any client could. */
async function listen(headers: Record<string, string> = {}) {
  const abort = new AbortController()
  const response = await fetch(`${house.url}/api/events`, { headers, signal: abort.signal })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let [rest, lastId] = ['', '']
  const waiting: Heard[] = []
  return {
    lastId: () => lastId,
    close: () => abort.abort(),
    until: async (fits: (event: Heard) => boolean): Promise<Heard> => {
      for (;;) {
        const event = waiting.shift()
        if (event !== undefined) {
          lastId = event.id
          if (fits(event)) return event
          continue
        }
        const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done) throw new Error('the stream ended')
        const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n')
        rest = frames.pop() ?? ''
        for (const frame of frames) {
          const match = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(frame)
          if (match !== null) waiting.push({ id: match[1] ?? '', name: match[2] ?? '', data: match[3] ?? '' })
        }
      }
    },
  }
}
