import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { silentLogger } from '../core/logger.ts'
import { startHttpListener } from './listener-server.ts'
import type { HttpListener } from './listener-server.ts'

const FRIEND = 'https://app.example'
let listener: HttpListener
beforeAll(async () => {
  listener = await startHttpListener({
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

describe('HTTP listener', () => {
  it('passes a request to the handler with the longest matching path prefix', async () => {
    expect(await (await ask('/mcp/read?names=dots')).text()).toBe('mcp')
    expect(await (await ask('/mcpx')).text()).toBe('page')
  })

  it('sends CORS headers to a page of an allowed origin, also on a preflight request', async () => {
    const preflight = await ask('/mcp', { method: 'OPTIONS', headers: { origin: FRIEND } })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, FRIEND])
    expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const answer = await ask('/mcp', { headers: { origin: FRIEND } })
    expect(answer.headers.get('access-control-allow-origin')).toBe(FRIEND)
  })

  it('refuses requests from pages of other origins', async () => {
    const refused = await ask('/mcp', { headers: { origin: 'https://evil.example' } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null])
  })

  it('answers 500 when a handler throws, and serves the next request', async () => {
    expect((await ask('/broken')).status).toBe(500)
    expect((await ask('/mcp')).status).toBe(200)
  })

  it('times out an incomplete request, with status 408 unless an answer has begun', async () => {
    const impatient = await startHttpListener({
      host: '127.0.0.1',
      port: 0,
      rules: { allowedHosts: [], allowedOrigins: [] },
      logger: silentLogger,
      requestTimeoutMs: 200,
      routes: [
        { prefix: '/reads', handle: (request, response) => void request.on('end', () => response.end()).resume() },
        { prefix: '/hasty', handle: (_, response) => void response.write('half an answer') },
      ],
    })
    const slow = 'host: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{'
    expect(await said(impatient, `POST /reads HTTP/1.1\r\n${slow}`)).toMatch(/^HTTP\/1\.1 408 [^]*too long to arrive/)
    expect(await said(impatient, 'POST /reads HTTP/1.1\r\nhost: 127')).toMatch(/^HTTP\/1\.1 408 /)
    const hasty = await said(impatient, `POST /hasty HTTP/1.1\r\n${slow}`)
    expect(hasty).not.toMatch(/[^]HTTP\/1\.1 408/)
    await impatient.stop()
  })

  it('drops an answer that the client does not read', async () => {
    const responses: ServerResponse[] = []
    const impatient = await startHttpListener({
      host: '127.0.0.1',
      port: 0,
      rules: { allowedHosts: [], allowedOrigins: [] },
      logger: silentLogger,
      takingTimeoutMs: 200,
      // More than what systems keep for a reader.
      routes: [{ prefix: '/', handle: (_, response) => void responses.push(response.end(Buffer.alloc(64 * 2 ** 20))) }],
    })
    const sleeper = connect(impatient.port, '127.0.0.1').pause()
    sleeper.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
    await expect
      .poll(() => responses.map(({ destroyed, writableFinished }) => [destroyed, writableFinished]))
      .toEqual([[true, false]])
    sleeper.destroy()
    await impatient.stop()
  })

  it('closes an idle connection for a new one when all places are taken, and keeps answering requests', async () => {
    const answering: ServerResponse[] = []
    const sitters: Socket[] = []
    let unfinished = 0
    const crowded = await startHttpListener({
      host: '127.0.0.1',
      port: 0,
      rules: { allowedHosts: [], allowedOrigins: [] },
      logger: silentLogger,
      maxConnections: 4,
      routes: [
        { prefix: '/', handle: (_, response) => void response.end('page') },
        { prefix: '/long', handle: (_, response) => void answering.push(response) },
        { prefix: '/takes', handle: () => void unfinished++ },
      ],
    })
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`
    const long = said(crowded, get('/long'))
    await expect.poll(() => answering.length).toBe(1)
    const silent = [
      said(crowded, ''),
      said(crowded, 'GET / HTTP/1.1\r\nhost: 127'),
      said(crowded, 'POST /takes HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{'),
    ]
    await expect.poll(() => unfinished).toBe(1)
    for (const one of silent) {
      expect(await said(crowded, get('/'))).toMatch(/^HTTP\/1\.1 200 [^]*page$/)
      // Whoever just left has made room: somebody else sits down, and says nothing either.
      sitters.push(connect(crowded.port, '127.0.0.1'))
      expect(await one).toBe('')
    }
    answering[0]?.end('at last')
    expect(await long).toMatch(/at last$/)
    for (const sitter of sitters) sitter.destroy()
    await crowded.stop()
  })

  it('closes a connection that pipelines requests, and serves one that waits for answers', async () => {
    const get = 'GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'
    const pipelined = await said(listener, get.repeat(500))
    expect(pipelined.split('HTTP/1.1 200').length).toBeLessThan(3)
    const waiting = connect(listener.port, '127.0.0.1')
    for (let count = 0; count < 3; count++) {
      waiting.write(get)
      expect(String(await once(waiting, 'data'))).toMatch(/^HTTP\/1\.1 200 [^]*mcp/)
    }
    waiting.destroy()
  })

  it('answers 400 to an invalid request and 431 to headers that are too long', async () => {
    expect(await said(listener, 'GET / NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*not an HTTP request/)
    expect(await said(listener, `GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}`)).toMatch(/^HTTP\/1\.1 431 /)
  })
})

/** All that comes back until the listener hangs up. */
async function said({ port }: HttpListener, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return text
}
