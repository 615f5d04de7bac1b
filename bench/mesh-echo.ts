/**
 * Mesh echo: a line there and back over a bare socket, plain or TLS, and nothing else: no call, no check, no answer to
 * wait for beside it. What Node's sockets leave for anybody who puts something on top.
 */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectPlain, createServer as createPlainServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { createSelfSignedNodeCertificate } from '../src/mesh/identity/self-signed-certificate.ts'
import { deriveNodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { CallOnce } from './mesh-ends.ts'

const LINE_FEED = 0x0a

/** Resolves to the address. */
export async function startEcho(isTls: boolean): Promise<{ readonly port: number }> {
  const answer = (socket: Socket): void => {
    socket.setNoDelay(true)
    // As text, since whoever answers has read what it was asked.
    socket.on('data', (chunk) => void socket.write(chunk.toString()))
  }
  const server = isTls ? createTlsServer(ownKey(), answer) : createPlainServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port }
}

/** Any number of lines may be under way: they come back in the order in which they went. */
export async function echoCaller(isTls: boolean, { port }: { readonly port: number }): Promise<CallOnce> {
  const where = { host: '127.0.0.1', port }
  const socket = isTls ? connectTls({ ...where, rejectUnauthorized: false }) : connectPlain(where)
  await once(socket, isTls ? 'secureConnect' : 'connect')
  socket.setNoDelay(true)
  const waiting: (() => void)[] = []
  socket.on('data', (chunk) => {
    for (const byte of chunk) if (byte === LINE_FEED) waiting.shift()?.()
  })
  return (body) =>
    new Promise<void>((resolve) => {
      waiting.push(resolve)
      socket.write(`${JSON.stringify(body)}\n`)
    })
}

function ownKey(): { readonly key: string; readonly cert: string } {
  const { privateKey } = generateKeyPairSync('ed25519')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: createSelfSignedNodeCertificate(deriveNodeIdentity(privateKey)),
  }
}
