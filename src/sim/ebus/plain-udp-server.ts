/**
 * Plain UDP server: the virtual bus as datagrams, for the client that sent to it last.
 */
import type { Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'

import type { VirtualBusServerOptions } from './adapter-server.ts'
import { PlainClientParticipant } from './plain-client-symbol-relay.ts'

export class PlainUdpServer {
  readonly #socket: Socket
  /** UDP has no connection, so the last sender gets the bus. */
  #peer: { readonly address: string; readonly port: number } | undefined

  private constructor({ system, clock }: VirtualBusServerOptions) {
    this.#socket = createSocket('udp4')
    const unsent: number[] = []
    const head = new PlainClientParticipant((symbol) => void unsent.push(symbol))
    system.bus.join(head)
    clock.afterwards(() => {
      if (unsent.length > 0 && this.#peer !== undefined)
        this.#socket.send(Uint8Array.from(unsent), this.#peer.port, this.#peer.address)
      unsent.length = 0
    })
    this.#socket.on('error', () => undefined)
    this.#socket.on('message', (bytes, peer) => {
      this.#peer = peer
      clock.act((nowMs) => head.say(bytes, system.bus, nowMs))
    })
  }

  static async open(options: VirtualBusServerOptions): Promise<PlainUdpServer> {
    const server = new PlainUdpServer(options)
    await new Promise<void>((resolve, reject) => {
      server.#socket.once('error', reject)
      server.#socket.bind(options.port, options.host, resolve)
    }).catch(async (error: unknown) => {
      await server.close()
      throw error
    })
    return server
  }

  get port(): number {
    return this.#socket.address().port
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }
}
