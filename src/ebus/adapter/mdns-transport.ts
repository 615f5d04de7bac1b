/**
 * mDNS transport: an adapter that is looked for on the local network each time it is connected to, so that it may have
 * another address every day.
 */
import { Bonjour } from 'bonjour-service'
import { fail } from '../../core/result.ts'
import type { AnnouncedAdapter } from './mdns-adapter.ts'
import { ADAPTER_SERVICE, chooseAdapter, readAnnouncedAdapter } from './mdns-adapter.ts'
import { tcpTransport } from './tcp-transport.ts'
import type { ByteTransport } from './transport.ts'

export interface MdnsTransportOptions {
  /** Of the adapter; `undefined` where there is only one. */
  readonly id: string | undefined
  /** The IP address of ours on the network to look in; `undefined` for all. */
  readonly via: string | undefined
}

/** ebusd waits as long. One that was asked for by its id is taken as soon as it is heard. */
const LOOK_MS = 5_000

export function mdnsTransport({ id, via }: MdnsTransportOptions): ByteTransport {
  return {
    name: `mdns ${id ?? ''}`.trim(),
    connect: async (signal) => {
      const chosen = chooseAdapter(await lookForAdapters({ id, via }, signal), id)
      if (signal.aborted) return fail({ kind: 'unreachable', reason: 'cancelled' })
      return chosen.ok
        ? tcpTransport(chosen.value).connect(signal)
        : fail({ kind: 'unreachable', reason: chosen.fault })
    },
  }
}

function lookForAdapters({ id, via }: MdnsTransportOptions, signal: AbortSignal): Promise<readonly AnnouncedAdapter[]> {
  return new Promise((resolve) => {
    const found: AnnouncedAdapter[] = []
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      browser.stop()
      bonjour.destroy()
      resolve(found)
    }
    // Handed on to the socket as it is; its types know of services only.
    const socket: object = via === undefined ? {} : { interface: via }
    // Without multicast nobody is heard, which is what the caller is told.
    const bonjour = new Bonjour(socket, () => undefined)
    const browser = bonjour.find({ type: ADAPTER_SERVICE }, (service) => {
      const adapter = readAnnouncedAdapter(service)
      if (adapter === undefined) return
      found.push(adapter)
      if (adapter.id === id?.toLowerCase()) done()
    })
    const timer = setTimeout(done, LOOK_MS)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
