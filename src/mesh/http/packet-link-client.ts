/**
 * Packet link, caller's end: one connection to a node that was opened with HTTP and then switched to packets.
 *
 *   GET /bus/v1/packets, Upgrade: hearthbus-packets ─▶ 101 ─▶ frames both ways      anything else ─▶ POST as before
 *
 * It is opened with the first call and closed when it was idle for a while. When nothing arrives through it any more, a
 * new one replaces it, since TCP can take minutes to notice that a network is back.
 */
import { request } from 'node:http'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { formatDestinationKey } from '../transport.ts'
import type { MessageDestination, PacketConnectionListener, PacketConnection } from '../transport.ts'
import { PACKETS_HTTP_PATH, PACKETS_UPGRADE_PROTOCOL } from './envelope-headers.ts'
import { encodePacketFrame, PacketFrameReader } from './packet-frames.ts'

const REST_MS = 30_000
/** A node that does not support packets is asked again after this time; one that could not be reached, sooner. */
const REFUSED_MS = 60_000
const FAILED_MS = 1_000
/** Calls that wait longer for it use POST. */
const OPEN_MS = 2_000
/** With more unsent bytes, calls use POST. */
const MAX_UNSENT_BYTES = 4_194_304
const MAX_LINKS = 1_024

interface Place {
  link: PacketLink | undefined
  opening: Promise<PacketConnection | undefined> | undefined
  notBeforeMs: number
}

export interface PacketLinksOptions {
  readonly agent: (to: MessageDestination<'http'>) => Agent
  readonly maxAnswerBytes: number
}

export class PacketLinks {
  readonly #options: PacketLinksOptions
  readonly #places = new Map<string, Place>()
  /**
   * The same entry by endpoint object, so that the string key is built only for the first call after each heartbeat.
   */
  #placeOfEndpoint = new WeakMap<MessageDestination<'http'>['endpoint'], Place>()
  #events: PacketConnectionListener | undefined

  constructor(options: PacketLinksOptions) {
    this.#options = options
  }

  onPackets(events: PacketConnectionListener): void {
    this.#events = events
  }

  wire(to: MessageDestination<'http'>): PacketConnection | Promise<PacketConnection | undefined> | undefined {
    const place = this.#placeOfEndpoint.get(to.endpoint) ?? this.#placeFor(to)
    if (place.link?.isOpen === true) return place.link
    // A hundred first calls wait for one connection instead of opening sixty-four.
    if (place.opening === undefined && performance.now() >= place.notBeforeMs) place.opening = this.#open(to, place)
    return place.opening
  }

  close(): void {
    for (const { link } of this.#places.values()) link?.destroy('this node stops')
    this.#places.clear()
    this.#placeOfEndpoint = new WeakMap()
  }

  #placeFor({ nodeId, endpoint }: MessageDestination<'http'>): Place {
    const key = formatDestinationKey(nodeId, endpoint)
    let place = this.#places.get(key)
    if (place === undefined) {
      if (this.#places.size >= MAX_LINKS) this.close()
      place = { link: undefined, opening: undefined, notBeforeMs: 0 }
      this.#places.set(key, place)
    }
    this.#placeOfEndpoint.set(endpoint, place)
    return place
  }

  #open(to: MessageDestination<'http'>, place: Place): Promise<PacketConnection | undefined> {
    const events = this.#events
    if (events === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const settle = (waitMs: number, link?: PacketLink): void => {
        clearTimeout(impatience)
        place.opening = undefined
        place.notBeforeMs = performance.now() + waitMs
        place.link = link
        resolve(link)
      }
      const asking = request({
        agent: this.#options.agent(to),
        path: PACKETS_HTTP_PATH,
        host: to.endpoint.host,
        port: to.endpoint.port,
        headers: { connection: 'Upgrade', upgrade: PACKETS_UPGRADE_PROTOCOL },
      })
      const impatience = setTimeout(() => asking.destroy(new Error('no answer')), OPEN_MS)
      asking.once('upgrade', (_, socket: Socket, head) => {
        if (head.length > 0) socket.unshift(head)
        settle(0, new PacketLink(to.nodeId, socket, { events, maxBytes: this.#options.maxAnswerBytes }))
      })
      asking.once('response', (response) => {
        response.resume()
        settle(REFUSED_MS)
      })
      asking.once('error', () => settle(FAILED_MS))
      asking.end()
    })
  }
}

class PacketLink implements PacketConnection {
  readonly nodeId: string
  readonly mayLose = false
  inFlight = 0
  readonly #socket: Socket
  readonly #events: PacketConnectionListener
  readonly #watch: NodeJS.Timeout
  #isOpen = true
  #isUsed = true
  #receivedMs = performance.now()

  constructor(
    nodeId: string,
    socket: Socket,
    { events, maxBytes }: { readonly events: PacketConnectionListener; readonly maxBytes: number },
  ) {
    this.nodeId = nodeId
    this.#socket = socket
    this.#events = events
    const reader = new PacketFrameReader(maxBytes)
    socket.on('data', (chunk: Buffer) => {
      this.#receivedMs = performance.now()
      this.#isUsed = true
      const packets = reader.feed(chunk)
      if (packets === undefined) this.destroy(`its answer has more than ${maxBytes} bytes`)
      else for (const packet of packets) events.receive(packet)
    })
    socket.once('end', () => this.#ended('it hung up'))
    socket.once('close', () => this.#ended('the connection broke'))
    // A `close` event follows, which handles it.
    socket.on('error', () => undefined)
    // The socket's own time-out is not used, because it would be set again for every packet.
    this.#watch = setInterval(() => this.#look(), REST_MS)
    this.#watch.unref()
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  send(packet: string): boolean {
    if (!this.#isOpen || this.#socket.writableLength > MAX_UNSENT_BYTES) return false
    this.#isUsed = true
    this.#socket.write(encodePacketFrame(packet))
    return true
  }

  doubt(sinceMs: number): void {
    // Running calls may still be answered; new ones use another connection.
    if (this.#receivedMs < sinceMs) this.#isOpen = false
  }

  destroy(why: string): void {
    this.#ended(why)
    this.#socket.destroy()
  }

  #look(): void {
    if (!this.#isUsed) this.#rest()
    this.#isUsed = false
  }

  #rest(): void {
    if (this.inFlight > 0 && this.#isOpen) return
    this.#isOpen = false
    if (this.inFlight === 0) this.#socket.end()
    else this.destroy('nothing came for too long')
  }

  #ended(why: string): void {
    clearInterval(this.#watch)
    this.#isOpen = false
    this.#events.broke(this, why)
  }
}
