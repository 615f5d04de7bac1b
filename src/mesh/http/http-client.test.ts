import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { identityOf } from '../../../test/mesh-keys.ts'
import { tlsOf } from '../../../test/mesh-pair.ts'
import { HttpClient } from './http-client.ts'

const [here, there] = [identityOf(21), identityOf(22)]
const client = new HttpClient({ tls: tlsOf(here), maxAnswerBytes: 1_024 })
afterEach(() => client.close())

describe('HTTP client', () => {
  it('does not say that nothing was sent when the first try went out and the second could not', async () => {
    let heard = 0
    const server = createServer(
      { cert: tlsOf(there).certificate, key: tlsOf(there).key, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        request.resume()
        if (++heard === 1) {
          response.end('{}')
          return
        }
        // It dies with the request in hand: perhaps carried out, never answered for.
        server.close()
        request.socket.destroy()
      },
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const to = { nodeId: there.id, way: { transport: 'http' as const, host: '127.0.0.1', port } }
    const message = { fields: {}, proof: '', body: '{}', idempotent: false }
    const signal = new AbortController().signal
    expect(await client.send(to, message, signal)).toMatchObject({ ok: true })
    expect(await client.send(to, message, signal)).toMatchObject({ ok: false, fault: { kind: 'unknown-outcome' } })
    expect(heard).toBe(2)
    // Nobody is there any more: now nothing is sent, and that may be tried elsewhere.
    expect(await client.send(to, message, signal)).toMatchObject({ ok: false, fault: { kind: 'offline' } })
  })
})
