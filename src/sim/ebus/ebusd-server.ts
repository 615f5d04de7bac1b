/**
 * ebusd server: the virtual bus behind ebusd's own TCP port, for clients of ebusd.
 */
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'

import { startListening } from '../../core/listen-server.ts'
import type { TelegramExchange } from '../../ebus/wire/telegram.ts'
import type { VirtualBusServerOptions } from './adapter-server.ts'
import { formatEbusdExchange, formatEbusdOutcome, parseEbusdCommand } from './ebusd-protocol.ts'
import { BusStation } from './bus-station.ts'

/** ebusd's usual address. The bounds keep a client from filling the memory with a line or with traffic. */
const OWN_ADDRESS = 0x31
const MAX_LINE = 1_024
const MAX_GRABBED = 1_024
/** A client that watches the bus and does not read is disconnected before it fills the memory. */
const MAX_UNSENT_BYTES = 65_536

interface Client {
  readonly socket: Socket
  direct: boolean
}

export class EbusdServer {
  readonly #options: VirtualBusServerOptions
  readonly #server: Server
  readonly #clients = new Set<Client>()
  readonly #station: BusStation
  /** Grabbing is on from the start, as it is in ebusd. */
  #grabbing = true
  readonly #grabbed = new Map<string, number>()

  private constructor(options: VirtualBusServerOptions) {
    this.#options = options
    this.#station = new BusStation({
      initiator: OWN_ADDRESS,
      targets: [],
      answer: () => undefined,
      overhear: (exchange) => this.#overhear(exchange),
    })
    options.system.bus.join(this.#station)
    this.#server = createServer({ noDelay: true }, (socket) => this.#welcome(socket))
  }

  static async open(options: VirtualBusServerOptions): Promise<EbusdServer> {
    const server = new EbusdServer(options)
    await startListening(server.#server, options)
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #welcome(socket: Socket): void {
    const client: Client = { socket, direct: false }
    this.#clients.add(client)
    let unread = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      unread += chunk
      if (unread.length > MAX_LINE && !unread.includes('\n')) socket.destroy()
      for (let end = unread.indexOf('\n'); end >= 0; end = unread.indexOf('\n')) {
        const line = unread.slice(0, end)
        unread = unread.slice(end + 1)
        this.#options.clock.act(() => this.#obey(client, line))
      }
    })
    socket.on('error', () => undefined)
    socket.once('close', () => this.#clients.delete(client))
  }

  #obey(client: Client, line: string): void {
    const command = parseEbusdCommand(line, client.direct)
    switch (command.kind) {
      case 'send':
        this.#station.say(command.telegram, (outcome) => {
          const answer = formatEbusdOutcome(outcome, command.telegram.target)
          this.#reply(client, client.direct ? `${line.trim()}:${answer}` : answer)
        })
        break
      case 'grab':
        this.#grabbing = command.on
        if (!command.on) this.#grabbed.clear()
        this.#reply(client, command.on ? 'grab started' : 'grab stopped')
        break
      case 'grab-result':
        this.#reply(client, [...this.#grabbed].map(([telegram, count]) => `${telegram} = ${count}`).join('\n'))
        break
      case 'direct':
        // Both answers are in the form of direct mode: it begins before the first and ends after the last.
        if (command.on) client.direct = true
        this.#reply(client, command.on ? 'direct mode started' : 'direct mode stopped')
        client.direct = command.on
        break
      case 'quit':
        client.socket.end()
        break
      case 'text':
        this.#reply(client, client.direct ? `${line.trim()}:${command.text}` : command.text)
        break
    }
  }

  /** Answers end with an empty line, except in direct mode. */
  #reply(client: Client, answer: string): void {
    if (client.socket.writableLength > MAX_UNSENT_BYTES) client.socket.destroy()
    else client.socket.write(client.direct ? `${answer}\n` : `${answer}\n\n`)
  }

  #overhear(exchange: TelegramExchange): void {
    const own = exchange.telegram.source === OWN_ADDRESS
    if (this.#grabbing && !own) {
      const telegram = formatEbusdExchange(exchange, ' / ')
      if (this.#grabbed.size < MAX_GRABBED || this.#grabbed.has(telegram))
        this.#grabbed.set(telegram, (this.#grabbed.get(telegram) ?? 0) + 1)
    }
    if (own) return
    for (const client of this.#clients) if (client.direct) this.#reply(client, formatEbusdExchange(exchange, ' '))
  }
}
