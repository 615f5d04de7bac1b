/**
 * mDNS transport: an adapter that is looked for on the local network each time it is connected to, so that it may have
 * another address every day.
 */
import { fail } from '../../core/result.ts'
import { openBonjour } from '../../toolbox/bonjour-client.ts'
import type { MdnsAdapter } from './mdns-adapter.ts'
import { ADAPTER_MDNS_SERVICE, chooseMdnsAdapter, parseMdnsAdapter } from './mdns-adapter.ts'
import { createTcpTransport } from './tcp-transport.ts'
import type { ByteTransport } from './transport.ts'

export interface MdnsTransportOptions {
  /** Of the adapter; `undefined` where there is only one. */
  readonly id: string | undefined
  /** The IP address of ours on the network to look in; `undefined` for all. */
  readonly via: string | undefined
}

/** ebusd waits as long. One that was asked for by its id is taken as soon as it is heard. */
const LOOK_MS = 5_000

export function createMdnsDiscoveryTransport({ id, via }: MdnsTransportOptions): ByteTransport {
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
    // Without multicast nobody is heard, which is what the caller is told.
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
