/**
 * Packet link, provider's end: connections that members have turned over from HTTP to packets.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { PacketCallServer, PacketSource } from '../packets/packet-provider.ts'
import { PACKETS_HTTP_PATH, PACKETS_UPGRADE_PROTOCOL } from './envelope-headers.ts'
import { encodePacketFrame, PacketFrameReader, MAX_PACKET_OVERHEAD_BYTES } from './packet-frames.ts'

export interface PacketLinkServerOptions {
  readonly provider: PacketCallServer
  readonly maxBodyBytes: number
  /** The member at the other end, by the certificate that it showed. */
  readonly memberOf: (request: IncomingMessage) => string | undefined
}

/** Answers that nobody takes, beyond which the connection is given up. */
const MAX_UNTAKEN_BYTES = 16_777_216
/** A member has one; a few more are of networks that it left without a word. */
const MAX_LINKS_EACH = 8

export class PacketLinkServer {
  readonly #options: PacketLinkServerOptions
  readonly #links = new Map<Duplex, PacketSource>()
  #isStopping = false

  constructor(options: PacketLinkServerOptions) {
    this.#options = options
  }

  /** For a server's `upgrade` event. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { memberOf } = this.#options
    const isOurs = request.url === PACKETS_HTTP_PATH && request.headers.upgrade === PACKETS_UPGRADE_PROTOCOL
    const member = isOurs && !this.#isStopping ? memberOf(request) : undefined
    // The far end may be gone before it hears.
    socket.on('error', () => socket.destroy())
    if (member === undefined) {
      // Whoever does not hang up now would be a connection for ever: HTTP's own limits do not hold for it any more.
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

  /** Those that rest go at once, those that work when they are done. */
  stop(): void {
    this.#isStopping = true
    for (const [socket, { running }] of this.#links) if (running === 0) socket.end()
  }

  /** Whoever still works has had its time. */
  destroy(): void {
    for (const socket of this.#links.keys()) socket.destroy()
  }

  /** What nobody takes is kept for every one of them. */
  #makeRoom(member: string): void {
    const links = [...this.#links].filter(([, { shownBy }]) => shownBy === member)
    for (const [socket] of links.slice(0, Math.max(0, links.length + 1 - MAX_LINKS_EACH))) socket.destroy()
  }

  #serve(socket: Duplex, member: string): void {
    const { provider, maxBodyBytes } = this.#options
    const maxBytes = maxBodyBytes + MAX_PACKET_OVERHEAD_BYTES
    const source: PacketSource = {
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
