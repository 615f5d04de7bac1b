/**
 * Everything that comes from a wire can be wrong. It gets a clear error in the right envelope, nothing is written but
 * the audit of the refusal, and the gateway goes on.
 */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { recordedActions, recordedBodies, recordedEntries } from '../recorded-calls.ts'
import { MODERN, callTool } from '../modern-request.ts'

let home: Home
let gateway: GatewayProcess
beforeAll(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home)
})
afterAll(async () => {
  await gateway.stop()
  home.remove()
})

interface Refusal {
  readonly status: number
  readonly code: number | undefined
  readonly message: string
}

/** Bytes as they are, with headers that promise a good request. */
async function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Refusal> {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': 'task_create',
      ...headers,
    },
    body,
  })
  const answer = (await response.json()) as { error?: { code?: number; message?: string } }
  return { status: response.status, code: answer.error?.code, message: answer.error?.message ?? '' }
}

function request(argumentsText: string): string {
  const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"${MODERN}","io.modelcontextprotocol/clientCapabilities":{}}`
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_create","arguments":${argumentsText},${meta}}}`
}

function count(of: 'entries' | 'actions' | 'tasks'): number {
  if (of === 'actions') return recordedActions(home.data).length
  return recordedEntries(home.data, of === 'tasks' ? 'task.created' : undefined).length
}

describe('an invalid HTTP request', () => {
  it.each([
    ['malformed JSON', '{"jsonrpc":"2.0",', 400, -32_700],
    ['nothing at all', '', 400, -32_700],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 400, -32_700],
    ['duplicate keys', request('{"title":"a","title":"b"}'), 400, -32_700],
    ['nesting without end', request(`{"title":${'['.repeat(20_000)}${']'.repeat(20_000)}}`), 400, -32_700],
    ['a prototype', request('{"title":"a","__proto__":{"status":"DONE"}}'), 400, -32_700],
    ['a bare number', '42', 400, -32_600],
  ])('is refused without a ledger entry: %s', async (_, body, status, code) => {
    const before = count('entries')
    const refusal = await post(body)
    expect([refusal.status, refusal.code]).toEqual([status, code])
    expect(refusal.message.length).toBeGreaterThan(10)
    expect(count('entries')).toBe(before)
  })

  it('is refused for a body over the limit, before all of it is read', async () => {
    const refusal = await post(request(`{"title":"${'x'.repeat(5_000_000)}"}`))
    expect(refusal.status).toBe(413)
    expect(refusal.message).toContain('4194304')
  })

  it('is refused for another content type', async () => {
    expect((await post('title=x', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
  })

  it('is refused for headers that contradict the body', async () => {
    expect(await post(request('{"title":"a"}'), { 'mcp-name': 'server_ping' })).toMatchObject({
      status: 400,
      code: -32_020,
    })
  })

  it('is refused for a foreign host name or origin', async () => {
    expect((await rawGet('Host: evil.example')).startsWith('HTTP/1.1 403')).toBe(true)
    expect((await rawGet(`Host: 127.0.0.1\r\nOrigin: http://evil.example`)).startsWith('HTTP/1.1 403')).toBe(true)
  })

  it('does not disturb later requests: garbage, and a connection closed in the middle', async () => {
    await rawBytes('\u0000\u0001\u0002 HTTP\r\n\r\n', 300)
    await rawBytes(
      'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n\r\n{"jso',
      300,
    )
    expect((await callTool(gateway.url, 'server_ping', {})).status).toBe(200)
  })
})

describe('invalid tool arguments', () => {
  it.each([
    ['a wrong type', { title: 7 }],
    ['a missing argument', {}],
    ['an unknown key', { title: 'a', colour: 'red' }],
    ['an empty title', { title: '' }],
  ])('are refused in the tool’s own envelope, audited, and change nothing: %s', async (_, args) => {
    const [tasks, actions] = [count('tasks'), count('actions')]
    const { status, body } = await callTool(gateway.url, 'task_create', args)
    expect(status).toBe(200)
    expect(body.result).toMatchObject({
      isError: true,
      structuredContent: { ok: false, error: { code: 'INVALID_PARAMS' } },
    })
    expect([count('tasks'), count('actions')]).toEqual([tasks, actions + 1])
  })

  it('of an unknown tool are refused with -32602, and audited', async () => {
    const before = count('actions')
    const { body } = await callTool(gateway.url, 'no_such_tool', {})
    expect(body.error?.code).toBe(-32_602)
    expect(count('actions')).toBe(before + 1)
  })

  it('are recorded with secrets redacted', async () => {
    await callTool(gateway.url, 'task_create', { title: 'a', password: 'hunter2-in-the-clear' })
    await gateway.stop()
    gateway = await startGatewayProcess(home)
    const bodies = recordedBodies(home.data)
    expect(JSON.stringify(bodies)).toContain('password')
    expect(JSON.stringify(bodies)).not.toContain('hunter2')
  })
})

it('a gateway that received invalid input logs nothing and stops with exit code 0', async () => {
  expect(await gateway.stop()).toBe(0)
  expect(gateway.log()).toBe('')
})

function rawGet(headers: string): Promise<string> {
  return rawBytes(`GET /health HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`)
}

/** Writes, and waits until the other side hangs up, or for a moment only. */
function rawBytes(bytes: string, patienceMs?: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('error', () => resolve(answer))
    socket.on('close', () => resolve(answer))
    socket.write(bytes)
    if (patienceMs !== undefined) setTimeout(() => socket.destroy(), patienceMs)
  })
}
