/**
 * UDP transport: plain adapters that speak datagrams. A datagram may be lost or late, which the line decoder handles.
 */
import { createSocket } from 'node:dgram'

import { fail, ok } from '../../core/result.ts'
import { readSystemErrorCode } from '../../core/thrown-error.ts'
import { BoundedQueue } from './bounded-queue.ts'
import type { ByteConnection, ByteConnector } from './transport.ts'

export interface UdpOptions {
  readonly host: string
  readonly port: number
}

const MAX_QUEUED = 256
const NOTHING = new Uint8Array()

export function createUdpTransport({ host, port }: UdpOptions): ByteConnector {
  return {
    name: `udp ${host}:${port}`,
    connect: (signal) =>
      new Promise((resolve) => {
        const socket = createSocket('udp4')
        const queue = new BoundedQueue<Uint8Array>(MAX_QUEUED)
        let reason = 'the adapter is gone'
        const end = (why: string): void => {
          if (queue.ended) return
          reason = why
          queue.end()
          socket.close()
        }
        const onAbort = (): void => {
          end('cancelled')
          resolve(fail({ kind: 'unreachable', reason }))
        }
        signal.addEventListener('abort', onAbort, { once: true })
        // If nothing listens on the port, the socket gets an error.
        socket.on('error', (error) => {
          end(error.message)
          resolve(fail({ kind: 'unreachable', reason, code: readSystemErrorCode(error) }))
        })
        socket.on('message', (bytes) => queue.push(bytes))
        const connection: ByteConnection = {
          received: queue,
          write: (bytes) => {
            if (!queue.ended) socket.send(bytes)
          },
          close: () => end('closed by us'),
          endReason: () => reason,
        }
        socket.connect(port, host, () => {
          signal.removeEventListener('abort', onAbort)
          // An empty datagram tells the address of this machine to an adapter that answers the last sender.
          socket.send(NOTHING)
          resolve(ok(connection))
        })
        if (signal.aborted) onAbort()
      }),
  }
}
