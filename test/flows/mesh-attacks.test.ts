import { request } from 'node:https'
import { expect, it } from 'vitest'
import { headersOf, SIGNATURE_HEADER } from '../../src/mesh/http/headers.ts'
import { nodeCertificate } from '../../src/mesh/identity/certificate.ts'
import type { NodeIdentity } from '../../src/mesh/identity/node-key.ts'
import { meshAttacks } from '../mesh-attacks.ts'
import type { Answered } from '../mesh-attacks.ts'

meshAttacks(
  'HTTP',
  async () => ({
    mesh: '',
    open: async ({ port }) => ({
      post: (fields, proof, body) => post(port, headersOf(fields, proof), body),
      close: async () => undefined,
    }),
  }),
  (attacker) => {
    it('shows its pages to members, and to a stranger only that it lives', async () => {
      const { port, member, stranger } = attacker()
      expect(await get(port, '/manifest', stranger)).toBe(401)
      expect(await get(port, '/community/manifest', stranger)).toBe(401)
      expect(await get(port, '/manifest', member)).toBe(200)
      expect(await get(port, '/health', undefined)).toBe(200)
    })
  },
)

function post(port: number, headers: Record<string, string>, body: string): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/bus/v1/call',
        method: 'POST',
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        rejectUnauthorized: false,
        agent: false,
      },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, proof: String(response.headers[SIGNATURE_HEADER]) }),
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function get(port: number, path: string, identity: NodeIdentity | undefined): Promise<number | undefined> {
  const tls = identity && {
    cert: nodeCertificate(identity),
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...tls }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}
