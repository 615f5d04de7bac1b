/**
 * TCP transport: adapters on the network.
 */
import { connect } from 'node:net'

import { fail, ok } from '../../core/result.ts'
import { readSystemErrorCode } from '../../core/thrown-error.ts'
import { createStreamConnection } from './stream-transport.ts'
import type { ByteConnector } from './transport.ts'

export interface TcpOptions {
  readonly host: string
  readonly port: number
}

const CONNECT_TIMEOUT_MS = 10_000
/** Adapters lose their WiFi without closing the connection; keep-alive detects that. */
const KEEP_ALIVE_MS = 30_000

export function createTcpTransport({ host, port }: TcpOptions): ByteConnector {
  return {
    name: `tcp ${host}:${port}`,
    connect: (signal) =>
      new Promise((resolve) => {
        // Without noDelay, the two-byte messages, each of which waits for an answer, would be delayed by 40 ms each.
        const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS })
        const giveUp = (reason: string, code?: string): void => {
          socket.destroy()
          settle()
          resolve(fail({ kind: 'unreachable', reason, code }))
        }
        const onError = (error: Error): void => giveUp(error.message, readSystemErrorCode(error))
        const onAbort = (): void => giveUp('cancelled')
        const timer = setTimeout(() => giveUp(`no answer within ${CONNECT_TIMEOUT_MS} ms`), CONNECT_TIMEOUT_MS)
        const settle = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
          socket.off('error', onError)
          // Destroying the socket can still raise an error, which is ignored.
          socket.on('error', () => undefined)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        socket.once('error', onError)
        socket.once('connect', () => {
          settle()
          resolve(ok(createStreamConnection(socket)))
        })
        if (signal.aborted) onAbort()
      }),
  }
}
