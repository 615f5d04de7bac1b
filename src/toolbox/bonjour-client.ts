/**
 * Bonjour client: a socket for mDNS whose troubles are told instead of thrown.
 *
 * The library hands over what goes wrong while it answers, but not that it could not bind or send: those are events of
 * its inner socket, and one that nobody listens for ends the program.
 */
import type { EventEmitter } from 'node:events'
import { Bonjour } from 'bonjour-service'

export interface BonjourOptions {
  /** The IP address of ours on the network to look in; `undefined` for all. */
  readonly via?: string | undefined
  readonly onError: (error: unknown) => void
}

export function openBonjour({ via, onError }: BonjourOptions): Bonjour {
  // Handed on to the socket as it is; its types know of services only. Bound to one address of ours, a socket would
  // hear nothing that is sent to the group: the interface alone chooses the network.
  const socket: object = via === undefined ? {} : { interface: via, bind: '0.0.0.0' }
  const bonjour = new Bonjour(socket, onError)
  const { server } = bonjour as unknown as { readonly server: { readonly mdns: EventEmitter } }
  server.mdns.on('error', onError)
  server.mdns.on('warning', () => undefined)
  return bonjour
}
