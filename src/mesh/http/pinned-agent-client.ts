/**
 * Pinned agent: keep-alive connections to one node, over TLS 1.3, where the far end's key has to be the node's own.
 *
 * Certificate authorities and host names do not matter: the far end must have the key that is the node's id.
 */
import { Agent } from 'node:http'
import { Socket } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type { Duplex } from 'node:stream'
import { readTlsPeerId } from '../identity/self-signed-certificate.ts'
import type { TlsIdentity } from '../identity/self-signed-certificate.ts'

/** The caller checks the far end's key after the TLS handshake. */
export function openUnverifiedTlsConnection({
  host,
  port,
  tls,
}: {
  readonly host: string
  readonly port: number
  readonly tls: TlsIdentity
}): TLSSocket {
  return connect({
    host,
    port,
    cert: tls.certificate,
    key: tls.key,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['http/1.1'],
    // Only the key is checked.
    rejectUnauthorized: false,
  })
}

export interface PinnedHttpAgentOptions {
  readonly host: string
  readonly port: number
  readonly nodeId: string
  readonly tls: TlsIdentity
}

class PeerKeyMismatchError extends Error {
  override readonly name = 'WrongKey'
}

const CONNECT_MS = 5_000
/** Less than the far end's keep-alive time, so that the far end seldom closes a connection first. */
const IDLE_MS = 30_000
const MAX_SOCKETS = 64

export class PinnedHttpAgent extends Agent {
  readonly #options: PinnedHttpAgentOptions

  constructor(options: PinnedHttpAgentOptions) {
    super({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: 16, timeout: 0, scheduling: 'lifo' })
    this.#options = options
  }

  override createConnection(
    _options: unknown,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const { host, port, nodeId } = this.#options
    const socket = openUnverifiedTlsConnection(this.#options)
    const impatience = setTimeout(
      () => socket.destroy(new Error(`no TLS connection within ${CONNECT_MS} ms`)),
      CONNECT_MS,
    )
    const settle = (error: Error | null): void => {
      clearTimeout(impatience)
      socket.off('error', settle)
      callback?.(error, socket)
    }
    socket.once('error', settle)
    socket.once('secureConnect', () => {
      const shown = readTlsPeerId(socket)
      if (shown !== nodeId) {
        socket.destroy()
        settle(new PeerKeyMismatchError(`${host}:${port} is ${shown ?? 'an unknown node'} and not ${nodeId}`))
        return
      }
      socket.setNoDelay(true)
      socket.setKeepAlive(true, 15_000)
      socket.on('timeout', () => socket.destroy())
      settle(null)
    })
    return undefined
  }

  /** A connection that was idle for long is closed before the far end closes it. */
  override keepSocketAlive(socket: Duplex): void {
    restUntil(socket, IDLE_MS)
    return super.keepSocketAlive(socket)
  }

  override reuseSocket(socket: Duplex, request: Parameters<Agent['reuseSocket']>[1]): void {
    restUntil(socket, 0)
    super.reuseSocket(socket, request)
  }
}

function restUntil(socket: Duplex, ms: number): void {
  if (socket instanceof Socket) socket.setTimeout(ms)
}
