/**
 * mDNS transport: searches the adapter on the local network before each connection, so that its address may change.
 */
import { fail } from '../../core/result.ts'
import { openBonjour } from '../../toolbox/bonjour-client.ts'
import type { MdnsAdapter } from './mdns-adapter.ts'
import { ADAPTER_MDNS_SERVICE, chooseMdnsAdapter, parseMdnsAdapter } from './mdns-adapter.ts'
import { createTcpTransport } from './tcp-transport.ts'
import type { ByteConnector } from './transport.ts'

export interface MdnsTransportOptions {
  /** The adapter's id; `undefined` if there is only one adapter. */
  readonly id: string | undefined
  /** This machine's IP address on the network that is searched; `undefined` searches all networks. */
  readonly via: string | undefined
}

/** ebusd waits as long. An adapter with the configured id is used as soon as it is found. */
const LOOK_MS = 5_000

export function createMdnsDiscoveryTransport({ id, via }: MdnsTransportOptions): ByteConnector {
  return {
    name: `mdns ${id ?? ''}`.trim(),
    connect: async (signal) => {
      const chosen = chooseMdnsAdapter(await lookForAdapters({ id, via }, signal), id)
      if (signal.aborted) return fail({ kind: 'unreachable', reason: 'cancelled' })
      return chosen.ok
        ? createTcpTransport(chosen.value).connect(signal)
        : fail({ kind: 'unreachable', reason: chosen.fault })
    },
  }
}

function lookForAdapters({ id, via }: MdnsTransportOptions, signal: AbortSignal): Promise<readonly MdnsAdapter[]> {
  return new Promise((resolve) => {
    const found: MdnsAdapter[] = []
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      browser.stop()
      bonjour.destroy()
      resolve(found)
    }
    // Without multicast no adapter is found, which the caller is told.
    const bonjour = openBonjour({ via, onError: () => undefined })
    const browser = bonjour.find({ type: ADAPTER_MDNS_SERVICE }, (service) => {
      const adapter = parseMdnsAdapter(service)
      if (adapter === undefined) return
      found.push(adapter)
      if (adapter.id === id?.toLowerCase()) done()
    })
    const timer = setTimeout(done, LOOK_MS)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
