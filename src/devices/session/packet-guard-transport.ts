/**
 * Packet guard: a socket that is cut as soon as an MQTT packet announces more bytes than anybody should send, or pings
 * come faster than anybody should send them.
 *
 *   socket ──bytes──▶ follow lengths ──▶ broker          too long, malformed or too many ──▶ destroy
 *
 * Brokers buffer a packet until it is complete; MQTT allows 256 MB. The limit is small until the sender is known. A
 * broker answers pings by itself, so nobody behind it would see how many there are; messages have a budget in the
 * berth.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { systemClock } from '../../core/clock.ts'
import type { PacketLengths } from '../wire/mqtt-packet.ts'
import { trackPacketLengths, INITIAL_PACKET_LENGTHS } from '../wire/mqtt-packet.ts'
import { fullBucket, takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { FRAME_RATE } from './session-limits.ts'

/** Enough for a CONNECT with the longest credentials we sign. */
const STRANGER_LIMIT = 2_048

export class PacketGuard extends Duplex {
  readonly socket: Socket
  #lengths: PacketLengths = INITIAL_PACKET_LENGTHS
  #limit = STRANGER_LIMIT
  #bucket: TokenBucket = fullBucket(FRAME_RATE, systemClock.monotonic())

  constructor(socket: Socket) {
    super({ allowHalfOpen: false, readableHighWaterMark: 16_384, writableHighWaterMark: 65_536 })
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
    socket.on('drain', () => this.emit('socketDrain'))
  }

  /** The sender has proved who it is. */
  trust(limit: number): void {
    this.#limit = limit
  }

  #take(chunk: Buffer): void {
    const lengths = trackPacketLengths(this.#lengths, chunk, this.#limit)
    if (lengths === undefined) {
      this.destroy(new Error('an MQTT packet is malformed or too long'))
      return
    }
    if (!this.#affords(lengths.signals - this.#lengths.signals)) {
      this.destroy(new Error('too many packets'))
      return
    }
    this.#lengths = lengths
    if (!this.push(chunk)) this.socket.pause()
  }

  #affords(signals: number): boolean {
    const atMs = systemClock.monotonic()
    for (let each = 0; each < signals; each++) {
      const bucket = takeToken(this.#bucket, FRAME_RATE, atMs)
      if (bucket === undefined) return false
      this.#bucket = bucket
    }
    return true
  }

  override _read(): void {
    this.socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.socket.write(chunk)) done()
    else this.once('socketDrain', () => done())
  }

  /** Brokers write a packet field by field; to the network it is one piece, and one system call. */
  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(pieces.map(({ chunk }) => chunk)), 'binary', done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy()
    done(error)
  }
}
