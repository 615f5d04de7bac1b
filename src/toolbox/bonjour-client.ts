/**
 * Bonjour client: a socket for mDNS whose errors go to a callback instead of being thrown.
 *
 * The library reports errors while it answers, but not a failure to bind or to send: those are events of its inner
 * socket, and an `error` event without a listener ends the process.
 */
import type { EventEmitter } from 'node:events'
import { Bonjour } from 'bonjour-service'

export interface BonjourOptions {
  /** This machine's IP address on the network that is searched; `undefined` searches all networks. */
  readonly via?: string | undefined
  readonly onError: (error: unknown) => void
}

export function openBonjour({ via, onError }: BonjourOptions): Bonjour {
  // Options that the library passes on to the socket, and that its types lack. A socket that is bound to one address
  // would not receive multicast packets, so `interface` alone chooses the network.
  const socket: object = via === undefined ? {} : { interface: via, bind: '0.0.0.0' }
  const bonjour = new Bonjour(socket, onError)
  const { server } = bonjour as unknown as { readonly server: { readonly mdns: EventEmitter } }
  server.mdns.on('error', onError)
  server.mdns.on('warning', () => undefined)
  return bonjour
}
