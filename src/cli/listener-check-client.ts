/**
 * Listener check: which of the configured listeners a start could not open, found by opening and closing each.
 */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { listConfiguredListeners } from '../config/listeners.ts'
import type { Config } from '../config/schema.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { ListenAddressSettings } from '../toolbox/listen-fault.ts'

/** A sentence for each listener that cannot be opened now; while a gateway runs its own ports are of course taken. */
export async function checkListeners(config: Config): Promise<readonly string[]> {
  const faults = await Promise.all(listConfiguredListeners(config).map(listenerFault))
  return faults.filter((fault) => fault !== undefined)
}

/** By trying: asking the system for its sockets takes rights that a doctor should not need. */
async function listenerFault(settings: ListenAddressSettings): Promise<string | undefined> {
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
