/**
 * Packet link, provider's end: connections that members have switched from HTTP to packets.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { PacketCallServer, InboundPacketConnection } from '../packets/packet-provider.ts'
import { PACKETS_HTTP_PATH, PACKETS_UPGRADE_PROTOCOL } from './envelope-headers.ts'
import { encodePacketFrame, PacketFrameReader, MAX_PACKET_OVERHEAD_BYTES } from './packet-frames.ts'

export interface PacketLinkServerOptions {
  readonly provider: PacketCallServer
  readonly maxBodyBytes: number
  /** The member at the other end, identified by its certificate. */
  readonly memberOf: (request: IncomingMessage) => string | undefined
}

/** A connection with more unread answers than this is closed. */
const MAX_UNTAKEN_BYTES = 16_777_216
/** A member needs one; others may remain from networks that it left without closing them. */
const MAX_LINKS_EACH = 8

export class PacketLinkServer {
  readonly #options: PacketLinkServerOptions
  readonly #links = new Map<Duplex, InboundPacketConnection>()
  #isStopping = false

  constructor(options: PacketLinkServerOptions) {
    this.#options = options
  }

  /** For a server's `upgrade` event. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { memberOf } = this.#options
    const isOurs = request.url === PACKETS_HTTP_PATH && request.headers.upgrade === PACKETS_UPGRADE_PROTOCOL
    const member = isOurs && !this.#isStopping ? memberOf(request) : undefined
    // The far end may have gone before it receives the answer.
    socket.on('error', () => socket.destroy())
    if (member === undefined) {
      // A client that does not close the connection now could keep it for ever, because HTTP's limits no longer apply
      // to it.
      socket.end(
        `HTTP/1.1 ${isOurs ? '401 Unauthorized' : '404 Not Found'}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        () => socket.destroy(),
      )
      return
    }
    this.#makeRoom(member)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${PACKETS_UPGRADE_PROTOCOL}\r\n\r\n`,
    )
    this.#serve(socket, member)
    if (head.length > 0) socket.unshift(head)
  }

  /** Closes idle connections at once, and busy ones when they are done. */
  stop(): void {
    this.#isStopping = true
    for (const [socket, { running }] of this.#links) if (running === 0) socket.end()
  }

  /** Closes the connections that are still busy after the stop's time limit. */
  destroy(): void {
    for (const socket of this.#links.keys()) socket.destroy()
  }

  /** Unread answers take memory for each of a member's connections, so their number is limited. */
  #makeRoom(member: string): void {
    const links = [...this.#links].filter(([, { shownBy }]) => shownBy === member)
    for (const [socket] of links.slice(0, Math.max(0, links.length + 1 - MAX_LINKS_EACH))) socket.destroy()
  }

  #serve(socket: Duplex, member: string): void {
    const { provider, maxBodyBytes } = this.#options
    const maxBytes = maxBodyBytes + MAX_PACKET_OVERHEAD_BYTES
    const source: InboundPacketConnection = {
      shownBy: member,
      mayLose: false,
      maxBytes,
      running: 0,
      answer: (packet) => {
        if (socket.writableLength > MAX_UNTAKEN_BYTES) socket.destroy()
        if (socket.destroyed) return
        socket.write(encodePacketFrame(packet))
        if (this.#isStopping && source.running === 0) socket.end()
      },
    }
    this.#links.set(socket, source)
    const reader = new PacketFrameReader(maxBytes)
    socket.on('data', (chunk: Buffer) => {
      const packets = reader.feed(chunk)
      if (packets === undefined) socket.destroy()
      else for (const packet of packets) provider.receive(packet, source)
    })
    socket.once('end', () => socket.end())
    socket.once('close', () => {
      this.#links.delete(socket)
      provider.gone(source)
    })
  }
}
