/**
 * Adapter server: the virtual bus on TCP, as an enhanced adapter and as a plain one, for any number of clients.
 */
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'

import { startListening } from '../../core/listen-server.ts'
import type { AdapterMessage } from '../../ebus/wire/enhanced-protocol.ts'
import {
  INFO_FEATURE_FLAG,
  encodeAdapterMessage,
  newEnhancedParser,
  parseHostBytes,
} from '../../ebus/wire/enhanced-protocol.ts'
import { EnhancedClientParticipant } from './enhanced-client-participant.ts'
import { encodeAdapterInfoAnswer } from './adapter-info.ts'
import type { HeatingSystem } from './heating-system.ts'
import { PlainClientParticipant } from './plain-client-symbol-relay.ts'
import type { HeatingSystemDriver } from './heating-system-driver.ts'

/** Where a virtual bus is offered, and what keeps its time. */
export interface VirtualBusServerOptions {
  readonly system: HeatingSystem
  readonly clock: HeatingSystemDriver
  readonly host: string
  readonly port: number
}

export interface AdapterServerOptions extends VirtualBusServerOptions {
  readonly protocol: 'enhanced' | 'plain'
}

/** ebusd expects an answer only after it has written the request; real adapters are never faster than this. */
const INFO_DELAY_MS = 5
/** A client that does not read is disconnected before it fills the memory. */
const MAX_UNSENT_BYTES = 65_536

export class AdapterServer {
  readonly #options: AdapterServerOptions
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #heads = new Set<EnhancedClientParticipant>()
  #restarts = 0
  #refusing = false

  private constructor(options: AdapterServerOptions) {
    this.#options = options
    this.#server = createServer({ noDelay: true }, (socket) => this.#welcome(socket))
  }

  static async open(options: AdapterServerOptions): Promise<AdapterServer> {
    const server = new AdapterServer(options)
    await startListening(server.#server, options)
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get clients(): number {
    return this.#clients.size
  }

  /** Closes every connection, and refuses new ones for a while. */
  dropConnections(refuseForMs: number): void {
    this.#refusing = refuseForMs > 0
    if (this.#refusing) this.#options.clock.later(refuseForMs, () => (this.#refusing = false))
    for (const socket of this.#clients) socket.destroy()
  }

  /** Resets the adapter as a short power cut would: every client gets RESETTED without a request. */
  reset(): void {
    this.#restarts++
    this.#options.clock.act(() => {
      for (const head of this.#heads) head.reset(INFO_FEATURE_FLAG)
    })
  }

  reportFraming(): void {
    this.#options.clock.act(() => {
      for (const head of this.#heads) head.reportFraming()
    })
  }

  async close(): Promise<void> {
    for (const socket of this.#clients) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #welcome(socket: Socket): void {
    if (this.#refusing) {
      socket.destroy()
      return
    }
    this.#clients.add(socket)
    const { system, clock } = this.#options
    // All symbols of one wake-up are sent in one packet, as by an adapter's own buffer.
    const unsent: number[] = []
    const flush = (): void => {
      if (unsent.length === 0 || socket.destroyed) return
      if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy()
      else socket.write(Uint8Array.from(unsent))
      unsent.length = 0
    }
    const leave =
      this.#options.protocol === 'plain' ? this.#servePlain(socket, unsent) : this.#serveEnhanced(socket, unsent)
    clock.afterwards(flush)
    // A `close` event follows, which handles a client that vanished.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#clients.delete(socket)
      clock.forget(flush)
      system.bus.leave(leave)
      if (leave instanceof EnhancedClientParticipant) this.#heads.delete(leave)
    })
  }

  #serveEnhanced(socket: Socket, unsent: number[]): EnhancedClientParticipant {
    const { system, clock } = this.#options
    const tell = (message: AdapterMessage): void => void unsent.push(...encodeAdapterMessage(message))
    const head = new EnhancedClientParticipant({
      tell,
      transmit: (symbol) => system.bus.send(head, symbol, clock.now()),
      answerInfo: (id) =>
        clock.later(INFO_DELAY_MS, () => {
          for (const data of encodeAdapterInfoAnswer(id, this.#restarts) ?? []) tell({ event: 'info', data })
        }),
    })
    const parser = newEnhancedParser()
    system.bus.join(head)
    this.#heads.add(head)
    socket.on('data', (bytes) =>
      clock.act(() => {
        // The bytes are not a valid message: a real adapter reports that and continues.
        const complain = (): void => tell({ event: 'error-host', data: 0x00 })
        for (const message of parseHostBytes(parser, bytes, complain)) head.obey(message)
      }),
    )
    return head
  }

  #servePlain(socket: Socket, unsent: number[]): PlainClientParticipant {
    const { system, clock } = this.#options
    const head = new PlainClientParticipant((symbol) => void unsent.push(symbol))
    system.bus.join(head)
    socket.on('data', (bytes) => clock.act((nowMs) => head.say(bytes, system.bus, nowMs)))
    return head
  }
}
