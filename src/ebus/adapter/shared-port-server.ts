/**
 * Shared port: lets other programs use our adapter. ebusd, or any client of the enhanced protocol, connects here as if
 * this were the adapter, and takes turns with us and the other clients.
 *
 *   client ─INIT─▶ RESETTED from us: no client restarts the adapter of all others
 *   client ─START─▶ its turn ─▶ STARTED or FAILED        client ─SEND─▶ only while the bus is its own, or it answers
 *   client ─INFO─▶ from the cache, or in line             adapter restarts ─▶ RESETTED; adapter gone ─▶ disconnected
 */
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'

import { startListening } from '../../core/listen-server.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { isInitiatorAddress } from '../wire/address.ts'
import type { AdapterMessage, HostMessage } from '../wire/enhanced-protocol.ts'
import {
  FRAMING_ERROR_CODE,
  CANCEL_START_ADDRESS,
  encodeAdapterMessage,
  newEnhancedParser,
  parseHostBytes,
} from '../wire/enhanced-protocol.ts'
import type { AdapterInfoId } from './adapter-info.ts'
import type { SharedPortClientAcceptor, SharedPortClientNotification, SharedPortAccess } from './shared-port-access.ts'

export interface SharedPortOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

export interface SharedPortFault {
  readonly kind: 'cannot-listen'
  readonly error: unknown
}

const MAX_CLIENTS = 8
const MAX_UNSENT_BYTES = 65_536
const LAST_INFO_ID = 7

export class SharedPort {
  readonly #host: SharedPortClientAcceptor
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: MAX_CLIENTS })

  private constructor(host: SharedPortClientAcceptor) {
    this.#host = host
    this.#server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#welcome(socket))
  }

  static async open(
    host: SharedPortClientAcceptor,
    place: SharedPortOptions,
  ): Promise<Result<SharedPort, SharedPortFault>> {
    const shared = new SharedPort(host)
    return startListening(shared.#server, place).then(
      () => ok(shared),
      (error: unknown) => fail({ kind: 'cannot-listen', error }),
    )
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get clients(): number {
    return this.#clients.size
  }

  async close(): Promise<void> {
    for (const socket of this.#clients) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #welcome(socket: Socket): void {
    this.#clients.add(socket)
    this.#limiter.accept(socket)
    const send = (message: AdapterMessage): void => {
      if (socket.destroyed) return
      if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy()
      else socket.write(encodeAdapterMessage(message))
    }
    const client = this.#host.share((news) => pass(news, send, socket))
    const parser = newEnhancedParser()
    socket.on('data', (bytes) => {
      this.#limiter.recordActivity(socket)
      const complain = (): void => send({ event: 'error-host', data: FRAMING_ERROR_CODE })
      for (const message of parseHostBytes(parser, bytes, complain)) obey(message, client, send)
    })
    // A `close` event follows, which handles a client that vanished.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#clients.delete(socket)
      client.leave()
    })
  }
}

function pass(news: SharedPortClientNotification, send: (message: AdapterMessage) => void, socket: Socket): void {
  switch (news.kind) {
    case 'symbol':
      send({ event: 'received', data: news.symbol })
      break
    case 'started':
      send({ event: 'started', data: news.address })
      break
    case 'failed':
      send({ event: 'failed', data: news.winner })
      break
    case 'reset':
      send({ event: 'resetted', data: news.features })
      break
    case 'down':
      socket.destroy()
      break
  }
}

function obey({ command, data }: HostMessage, client: SharedPortAccess, send: (message: AdapterMessage) => void): void {
  switch (command) {
    case 'init':
      send({ event: 'resetted', data: client.features() })
      break
    case 'start':
      if (data === CANCEL_START_ADDRESS || !isInitiatorAddress(data)) client.cancel()
      else client.want(data)
      break
    case 'send':
      client.say(data)
      break
    case 'info':
      if (data > LAST_INFO_ID) return
      client.requestInfo(data as AdapterInfoId, (answer) => {
        for (const byte of answer === undefined ? [] : [answer.length, ...answer]) send({ event: 'info', data: byte })
      })
      break
  }
}
