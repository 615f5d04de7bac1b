import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { silentLogger } from '../core/logger.ts'
import { startListener } from './listener-server.ts'
import type { Listener } from './listener-server.ts'

const FRIEND = 'https://app.example'
let listener: Listener
beforeAll(async () => {
  listener = await startListener({
    host: '127.0.0.1',
    port: 0,
    rules: { allowedHosts: [], allowedOrigins: [FRIEND] },
    logger: silentLogger,
    routes: [
      { prefix: '/mcp', handle: (_, response) => void response.end('mcp') },
      { prefix: '/', handle: (_, response) => void response.end('page') },
      { prefix: '/broken', handle: () => Promise.reject(new Error('bug')) },
    ],
  })
})
afterAll(() => listener.stop())

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${listener.url}${path}`, init)
}

describe('listener', () => {
  it('hands a request to whoever owns its path, the longest first', async () => {
    expect(await (await ask('/mcp/read?names=dots')).text()).toBe('mcp')
    expect(await (await ask('/mcpx')).text()).toBe('page')
  })

  it('tells a page that the owner named that it may read the answer, also when its browser asks first', async () => {
    const preflight = await ask('/mcp', { method: 'OPTIONS', headers: { origin: FRIEND } })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, FRIEND])
    expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const answer = await ask('/mcp', { headers: { origin: FRIEND } })
    expect(answer.headers.get('access-control-allow-origin')).toBe(FRIEND)
  })

  it('tells other pages nothing', async () => {
    const refused = await ask('/mcp', { headers: { origin: 'https://evil.example' } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null])
  })

  it('answers a mistake of ours with a sentence and goes on', async () => {
    expect((await ask('/broken')).status).toBe(500)
    expect((await ask('/mcp')).status).toBe(200)
  })
})
