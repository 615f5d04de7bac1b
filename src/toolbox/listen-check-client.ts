/**
 * Listen check: whether a listener could be opened, found by opening and closing it. For examinations before a start:
 * while a gateway runs, its own ports are of course taken.
 */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import type { ListenAddressSettings } from '../core/listen-address.ts'
import { explainListenFault } from './listen-fault.ts'

/** A sentence for each listener that cannot be opened now. */
export async function findListenFaults(listeners: readonly ListenAddressSettings[]): Promise<readonly string[]> {
  const faults = await Promise.all(listeners.map(findListenFault))
  return faults.filter((fault) => fault !== undefined)
}

/** By trying: asking the system for its sockets takes rights that a doctor should not need. */
export async function findListenFault(settings: ListenAddressSettings): Promise<string | undefined> {
  try {
    await (settings.protocol === 'udp' ? tryUdp(settings) : tryTcp(settings))
    return undefined
  } catch (error) {
    return explainListenFault(error, settings)
  }
}

function tryTcp({ host, port }: ListenAddressSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => server.close(() => resolve()))
  })
}

function tryUdp({ host, port }: ListenAddressSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    socket.once('error', (error) => {
      socket.close()
      reject(error)
    })
    socket.bind(port, host, () => socket.close(() => resolve()))
  })
}
