import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import type { Socket } from 'node:net'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { newUlid } from '../../src/core/ids.ts'
import {
  encodeEnvelopeHeaders,
  PACKETS_HTTP_PATH,
  PACKETS_UPGRADE_PROTOCOL,
  SIGNATURE_HTTP_HEADER,
} from '../../src/mesh/http/envelope-headers.ts'
import { PacketFrameReader, encodePacketFrame } from '../../src/mesh/http/packet-frames.ts'
import { createSelfSignedNodeCertificate } from '../../src/mesh/identity/self-signed-certificate.ts'
import type { NodeIdentity } from '../../src/mesh/identity/node-key.ts'
import { formatMeshTime } from '../../src/mesh/identity/mesh-time.ts'
import { meshAttacks } from '../mesh-attacks.ts'
import type { Answered } from '../mesh-attack-wire.ts'
import { until } from '../mesh-house.ts'

meshAttacks(
  'HTTP',
  async () => ({
    mesh: '',
    open: async ({ port, member }) => ({
      post: (fields, proof, body) => post(port, encodeEnvelopeHeaders(fields, proof), body),
      packet: (packet) => sendPacket(port, member, packet),
      close: async () => undefined,
    }),
  }),
  (attacker) => {
    it('mesh pages are served to members, and only /health to others', async () => {
      const { port, member, stranger } = attacker()
      expect(await get(port, '/manifest', stranger)).toBe(401)
      expect(await get(port, '/community/manifest', stranger)).toBe(401)
      expect(await get(port, '/manifest', member)).toBe(200)
      expect(await get(port, '/health', undefined)).toBe(200)
    })

    it('a connection upgrade is refused for non-members and without a certificate', async () => {
      const { port, stranger } = attacker()
      await expect(sendPacket(port, stranger, 'hbp2')).rejects.toThrow('401')
      await expect(sendPacket(port, undefined, 'hbp2')).rejects.toThrow('401')
    })

    it('a refused upgrade closes the connection even if the client keeps its side open', async () => {
      const { port, stranger } = attacker()
      // Its type does not say so, but TLS passes this on to the socket below.
      const halfOpen = { host: '127.0.0.1', port, allowHalfOpen: true, ...shownBy(stranger) }
      const socket = connect(halfOpen)
      await once(socket, 'secureConnect')
      socket.write(`GET ${PACKETS_HTTP_PATH} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n`)
      socket.resume()
      await once(socket, 'end')
      // What is sent to somebody who has left is answered with a reset, sooner or later.
      const talking = setInterval(() => socket.write('still here'), 20)
      const broken = await new Promise((resolve) => socket.once('error', resolve))
      clearInterval(talking)
      expect(broken).toMatchObject({ code: expect.stringMatching(/^(EPIPE|ECONNRESET)$/) })
    })

    it('members can connect however many connections non-members hold', async () => {
      const { port, member, stranger } = attacker()
      const open: TLSSocket[] = []
      const closed: number[] = []
      for (let count = 0; count <= 256; count++) {
        const socket = connect({ host: '127.0.0.1', port, ...shownBy(stranger) })
        socket.once('close', () => closed.push(count))
        socket.on('error', () => undefined)
        await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')])
        open.push(socket)
      }
      await until('the longest silent one is closed', () => closed.length > 0)
      expect(closed).toEqual([0])
      expect(await get(port, '/manifest', member)).toBe(200)
      expect(await get(port, '/health', stranger)).toBe(200)
      for (const socket of open) socket.destroy()
    })

    it('the oldest of many upgraded connections of one member is closed', async () => {
      const { port, member } = attacker()
      const links: TLSSocket[] = []
      const gone: number[] = []
      for (let number = 0; number < 9; number++) {
        const socket = connect({ host: '127.0.0.1', port, ...shownBy(member) })
        socket.on('error', () => undefined)
        socket.once('close', () => gone.push(number))
        await once(socket, 'secureConnect')
        socket.write(
          `GET ${PACKETS_HTTP_PATH} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: ${PACKETS_UPGRADE_PROTOCOL}\r\n\r\n`,
        )
        expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 101 /)
        links.push(socket)
      }
      await until('one is closed', () => gone.length > 0)
      expect(gone).toEqual([0])
      for (const socket of links) socket.destroy()
    })

    it('a long body is accepted from members only', async () => {
      const { port, member, stranger } = attacker()
      const ids = { from: member.id, to: member.id, community: member.id }
      const facts = { request_id: newUlid(), timestamp: formatMeshTime(Date.now()), deadline_ms: '1000' }
      const headers = encodeEnvelopeHeaders({ capability: 'test.echo', version: '1.0', ...ids, ...facts }, '')
      const long = JSON.stringify({ x: 'x'.repeat(100_000) })
      expect(await post(port, headers, long, stranger)).toMatchObject({ status: 413 })
      expect(await post(port, headers, long)).toMatchObject({ status: 413 })
      // Taken whole, and refused for whom it is for.
      expect(await post(port, headers, long, member)).toMatchObject({ status: 401 })
    })

    it('an idle connection has TCP keep-alive', async ({ skip }) => {
      if (process.platform !== 'linux') skip()
      const { port, member } = attacker()
      const socket = connect({ host: '127.0.0.1', port, ...shownBy(member) })
      await once(socket, 'secureConnect')
      const timer = (): string => timerOf(port, socket.localPort ?? 0)
      await until('nothing else is waited for', () => timer().startsWith('02:'))
      expect(timer()).toMatch(/^02:0{4}/)
      socket.destroy()
    })

    it('a packet over the size limit ends the connection', async () => {
      const { port, member } = attacker()
      await expect(sendPacket(port, member, 'x'.repeat(1_048_576))).rejects.toThrow('hung up')
    })
  },
)

/** What the kernel waits for on the server's side of a connection, as /proc has it: 02 is the next probe. */
function timerOf(port: number, peer: number): string {
  const hexPort = (number: number): string => `:${number.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local = '', remote = '', , , timer = ''] = line.trim().split(/\s+/)
    if (local.endsWith(hexPort(port)) && remote.endsWith(hexPort(peer))) return timer
  }
  return ''
}

function post(port: number, headers: Record<string, string>, body: string, identity?: NodeIdentity): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/bus/v1/call',
        method: 'POST',
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        ...tlsAs(identity),
      },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, proof: String(response.headers[SIGNATURE_HTTP_HEADER]) }),
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
      path: PACKETS_HTTP_PATH,
      headers: { connection: 'Upgrade', upgrade: PACKETS_UPGRADE_PROTOCOL },
      ...tlsAs(identity),
    })
    outgoing.on('response', ({ statusCode }) => reject(new Error(`${statusCode}`)))
    outgoing.on('upgrade', (_, socket: Socket) => {
      const reader = new PacketFrameReader(1_048_576)
      socket.on('data', (chunk: Buffer) => {
        const [first] = reader.feed(chunk) ?? []
        if (first === undefined) return
        resolve(first)
        socket.destroy()
      })
      socket.on('error', () => undefined)
      socket.on('close', () => reject(new Error('it hung up')))
      socket.write(encodePacketFrame(packet))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

function tlsAs(identity: NodeIdentity | undefined): RequestOptions {
  return { agent: false, ...shownBy(identity) }
}

function shownBy(identity: NodeIdentity | undefined): Pick<ConnectionOptions, 'cert' | 'key' | 'rejectUnauthorized'> {
  if (identity === undefined) return { rejectUnauthorized: false }
  const key = identity.privateKey.export({ type: 'pkcs8', format: 'pem' })
  return { rejectUnauthorized: false, cert: createSelfSignedNodeCertificate(identity), key }
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
