/**
 * TCP transport: adapters on the network.
 */
import { connect } from 'node:net'

import { fail, ok } from '../../core/result.ts'
import { readSystemErrorCode } from '../../core/thrown-error.ts'
import { createStreamConnection } from './stream-transport.ts'
import type { ByteTransport } from './transport.ts'

export interface TcpOptions {
  readonly host: string
  readonly port: number
}

const CONNECT_TIMEOUT_MS = 10_000
/** Adapters lose their WiFi without a word; this is how one finds out. */
const KEEP_ALIVE_MS = 30_000

export function createTcpTransport({ host, port }: TcpOptions): ByteTransport {
  return {
    name: `tcp ${host}:${port}`,
    connect: (signal) =>
      new Promise((resolve) => {
        // Two-byte messages in lockstep: waiting for more to send would cost 40 ms per symbol.
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
          // Destroying can still raise one; nobody is left to hear it.
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
