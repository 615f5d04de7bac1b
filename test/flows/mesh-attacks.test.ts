import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { headersOf, PACKETS_PATH, PACKETS_PROTOCOL, SIGNATURE_HEADER } from '../../src/mesh/http/headers.ts'
import { FrameReader, framed } from '../../src/mesh/http/packet-frames.ts'
import { nodeCertificate } from '../../src/mesh/identity/certificate.ts'
import type { NodeIdentity } from '../../src/mesh/identity/node-key.ts'
import { meshAttacks } from '../mesh-attacks.ts'
import type { Answered } from '../mesh-attack-wire.ts'

meshAttacks(
  'HTTP',
  async () => ({
    mesh: '',
    open: async ({ port, member }) => ({
      post: (fields, proof, body) => post(port, headersOf(fields, proof), body),
      packet: (packet) => sendPacket(port, member, packet),
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

    it('turns no connection over to a stranger, nor to nobody', async () => {
      const { port, stranger } = attacker()
      await expect(sendPacket(port, stranger, 'hbp2')).rejects.toThrow('401')
      await expect(sendPacket(port, undefined, 'hbp2')).rejects.toThrow('401')
    })

    it('hangs up on a packet that is larger than anybody may send', async () => {
      const { port, member } = attacker()
      await expect(sendPacket(port, member, 'x'.repeat(1_048_576))).rejects.toThrow('hung up')
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

/** Over a connection of its own that was turned over to packets: what comes back first. */
function sendPacket(port: number, identity: NodeIdentity | undefined, packet: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path: PACKETS_PATH,
      headers: { connection: 'Upgrade', upgrade: PACKETS_PROTOCOL },
      ...tlsAs(identity),
    })
    outgoing.on('response', ({ statusCode }) => reject(new Error(`${statusCode}`)))
    outgoing.on('upgrade', (_, socket: Socket) => {
      const reader = new FrameReader(1_048_576)
      socket.on('data', (chunk: Buffer) => {
        const [first] = reader.feed(chunk) ?? []
        if (first === undefined) return
        resolve(first)
        socket.destroy()
      })
      socket.on('error', () => undefined)
      socket.on('close', () => reject(new Error('it hung up')))
      socket.write(framed(packet))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

function tlsAs(identity: NodeIdentity | undefined): RequestOptions {
  const shown = identity && {
    cert: nodeCertificate(identity),
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  return { rejectUnauthorized: false, agent: false, ...shown }
}

function get(port: number, path: string, identity: NodeIdentity | undefined): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, ...tlsAs(identity) }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}
