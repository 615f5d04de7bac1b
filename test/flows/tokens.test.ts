/**
 * Credentials as their owner handles them: made before the first start, shown by clients, refused when they are gone.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLI, connectHttp, createHome, runCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { EndedCommand, Home } from '../gateway-process.ts'
import { MODERN } from '../modern-request.ts'

let home: Home
beforeEach(() => {
  home = createHome('  host: 0.0.0.0\n  anonymous: off\n')
})
afterEach(() => home.remove())

function cli(...words: readonly string[]): EndedCommand {
  return runCommandSync(home, ...words)
}

describe('a node that listens on all interfaces', () => {
  it('does not start without a token, which can be created beforehand, and serves only callers with one', async () => {
    const refused = cli('up')
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('hearthbus token create')])
    const [token = ''] = cli('token', 'create', 'claude', '--role', 'observer').stdout.split('\n')
    const gateway = await startGatewayProcess(home)
    const url = gateway.url.replace('0.0.0.0', '127.0.0.1')
    await expect(connectHttp(url, 'legacy')).rejects.toThrow('token')
    const client = await connectHttp(url, 'modern', '/mcp', token)
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name)).toContain('server_ping')
    expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true)
    await client.close()
    expect(cli('token', 'revoke', 'claude').status).toBe(0)
    await expect(connectHttp(url, 'modern', '/mcp', token)).rejects.toThrow('403')
    await gateway.stop()
  })

  it('serves metrics to local and authenticated callers only', async () => {
    const [token = ''] = cli('token', 'create', 'prometheus', '--role', 'observer').stdout.split('\n')
    const gateway = await startGatewayProcess(home)
    const url = gateway.url.replace('0.0.0.0', '127.0.0.1')
    // As a proxy on this machine says it; another machine's address is not to be had in every test.
    const elsewhere = { 'x-forwarded-for': '192.168.1.20' }
    const asked = [
      fetch(`${url}/metrics`),
      fetch(`${url}/metrics`, { headers: elsewhere }),
      fetch(`${url}/metrics`, { headers: { ...elsewhere, authorization: `Bearer ${token}` } }),
      fetch(`${url}/metrics`, { headers: { ...elsewhere, authorization: 'Bearer hb_nonsense' } }),
      fetch(`${url}/health`, { headers: elsewhere }),
      fetch(`${url}/ready`, { headers: elsewhere }),
    ]
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 401, 200, 403, 200, 200])
    const figures = await (await fetch(`${url}/metrics`)).text()
    const names = ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds', 'process_open_fds']
    const queues = ['hearthbus_queue_length{queue="locks"} 0', 'hearthbus_queue_length{queue="approvals"} 0']
    for (const name of [...names, ...queues]) expect(figures).toContain(`\n${name}`)
    expect(figures).toContain('hearthbus_requests_refused_total{cause="unauthenticated"} 1')
    expect(figures).toContain('hearthbus_requests_refused_total{cause="credential"} 1')
    await gateway.stop()
  })
})

describe('a narrowed token', () => {
  it('is documented in the help as limiting what it may see and decide', () => {
    const help = cli('token', 'create', '--help').stdout.replaceAll(/\s+/g, ' ')
    expect(help).toContain('--profiles <list> narrow what it may call and see to profiles')
    expect(help).toContain('--devices <list> narrow what it may call, see and decide about to devices')
  })

  it('is refused for unknown devices or profiles, before the first start and after', async () => {
    const wishes = [
      ['--devices', 'nonsense'],
      ['--devices', 'Hall Lamp (Hall, Ground)'],
      ['--profiles', 'nope'],
    ]
    const refusals = [
      expect.stringContaining('"nonsense" is none'),
      expect.stringContaining('"Hall Lamp (Hall" is none'),
      expect.stringMatching(/no profile "nope"\. There are: all, read, .*ebus/),
    ]
    const tried = () => wishes.map((wish) => cli('token', 'create', 'tv', '--role', 'agent', ...wish))
    const before = tried()
    expect(before.map(({ status }) => status)).toEqual([1, 1, 1])
    expect(before.map(({ stdout }) => stdout)).toEqual(refusals)
    expect(cli('token', 'create', 'tv', '--role', 'agent', '--profiles', 'ebus').status).toBe(0)
    const gateway = await startGatewayProcess(home)
    const after = tried()
    expect(after.every(({ status }) => status !== 0)).toBe(true)
    expect(after.slice(0, 2).map(({ text }) => text)).toEqual(refusals.slice(0, 2))
    expect(after[2]?.text).toContain('no profile "nope"')
    await gateway.stop()
  })

  it('is listed with its restrictions', async () => {
    cli('token', 'create', 'tv', '--role', 'agent', '--effects', 'reads', '--devices', 'device:tv, homeseer:ref:7')
    const gateway = await startGatewayProcess(home)
    expect(cli('token', 'list').stdout).toContain('reads · device:tv, homeseer:ref:7')
    await gateway.stop()
  })
})

describe('a revoked token', () => {
  it('has its open streams closed, and streams of other tokens stay open', async () => {
    const [token = ''] = cli('token', 'create', 'claude', '--role', 'agent').stdout.split('\n')
    const [other = ''] = cli('token', 'create', 'other', '--role', 'agent').stdout.split('\n')
    const gateway = await startGatewayProcess(home)
    const url = `${gateway.url.replace('0.0.0.0', '127.0.0.1')}/mcp`
    const streams = [await openSession(url, token), await openSubscription(url, token)]
    const spared = await openSubscription(url, other)
    expect(cli('token', 'revoke', 'claude').status).toBe(0)
    await Promise.all(streams.map(untilEnd))
    await expect(openSubscription(url, token)).rejects.toThrow('403')
    const sparedEnds = untilEnd(spared).then(() => 'ended')
    expect(await Promise.race([sparedEnds, openSubscription(url, other).then(() => 'still open')])).toBe('still open')
    await gateway.stop()
  })

  it('ends the stdio client that uses it', async () => {
    const [token = ''] = cli('token', 'create', 'claude', '--role', 'agent').stdout.split('\n')
    const child = spawn(process.execPath, [CLI, 'mcp', '--data', home.data, '--config', home.config], {
      env: { ...process.env, HEARTHBUS_TOKEN: token },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, ...INITIALIZE })}\n`)
    await once(child.stdout, 'data')
    // Closed, not only gone: what it complained about has been read, too.
    const ended = once(child, 'close')
    expect(cli('token', 'revoke', 'claude').status).toBe(0)
    expect((await ended)[0]).toBe(4)
    expect(complaint).toContain('is not valid here, or no longer')
  })
})

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
}

function headersOf(token: string, more: Record<string, string> = {}): Record<string, string> {
  const accept = 'application/json, text/event-stream'
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept, ...more }
}

/** What the server has to say to a client of the 2025 family. */
async function openSession(url: string, token: string): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...INITIALIZE })
  const begun = await fetch(url, { method: 'POST', headers: headersOf(token), body })
  await begun.text()
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  return opened(await fetch(url, { headers: headersOf(token, session) }))
}

/** The same for one of 2026-07-28. */
async function openSubscription(url: string, token: string): Promise<Response> {
  const method = 'subscriptions/listen'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  }
  const params = { notifications: { toolsListChanged: true }, _meta: meta }
  const headers = headersOf(token, { 'mcp-protocol-version': MODERN, 'mcp-method': method })
  return opened(
    await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }),
  )
}

function opened(response: Response): Response {
  if (!response.ok) throw new Error(String(response.status))
  return response
}

/** However it ends. */
async function untilEnd(response: Response): Promise<void> {
  await response.text().catch(() => undefined)
}
