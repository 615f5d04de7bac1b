import { createSocket } from 'node:dgram'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { describe } from 'vitest'
import { toHex } from '../../src/core/bytes.ts'
import { createSerialTransport } from '../../src/ebus/adapter/serial-transport.ts'
import { createTcpTransport } from '../../src/ebus/adapter/tcp-transport.ts'
import { createUdpTransport } from '../../src/ebus/adapter/udp-transport.ts'
import { hasSerialLine, serialLine } from './ebus-serial-line.ts'
import type { FarEnd } from './ebus-transport.ts'
import { transportContract } from './ebus-transport.ts'

const host = '127.0.0.1'

/** A TCP server with one visitor at a time. */
async function tcpFarEnd(): Promise<Omit<FarEnd, 'transport'> & { readonly port: number }> {
  let visitor: Socket | undefined
  let received = ''
  const server: Server = createServer((socket) => {
    visitor = socket
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => (received += toHex(bytes)))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    send: (bytes) => void visitor?.write(bytes),
    vanish: () => void visitor?.resetAndDestroy(),
    close: async () => {
      visitor?.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

transportContract('TCP', {
  noticesLoss: true,
  nowhere: () => createTcpTransport({ host, port: 1 }),
  open: async () => {
    const far = await tcpFarEnd()
    return { ...far, transport: createTcpTransport({ host, port: far.port }) }
  },
})

transportContract('UDP', {
  noticesLoss: false,
  nowhere: () => createUdpTransport({ host, port: 1 }),
  open: async () => {
    const socket = createSocket('udp4')
    let received = ''
    let peer = 0
    socket.on('message', (bytes, from) => {
      received += toHex(bytes)
      peer = from.port
    })
    await new Promise<void>((resolve) => socket.bind(0, host, resolve))
    return {
      transport: createUdpTransport({ host, port: socket.address().port }),
      received: () => received,
      send: (bytes) => socket.send(bytes, peer, host),
      vanish: () => undefined,
      close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
    }
  },
})

describe.runIf(hasSerialLine())('serial', () => {
  transportContract('a serial line', {
    noticesLoss: true,
    nowhere: () => createSerialTransport({ path: '/dev/no-such-line', baud: 9_600 }),
    open: async () => {
      const far = await tcpFarEnd()
      const line = await serialLine(far.port)
      return {
        ...far,
        transport: createSerialTransport({ path: line.path, baud: 9_600 }),
        vanish: line.close,
        close: async () => {
          line.close()
          await far.close()
        },
      }
    },
  })
})
