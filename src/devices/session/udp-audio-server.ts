/**
 * UDP audio server: exchanges audio with MQTT devices. A device without such an address shows an alert after every wake
 * word.
 *
 *   datagram ▸ ssrc (bytes 4 to 7) ▸ session ▸ its listener decides whether the packet is decrypted
 *
 * Packets carry no proof of who sent them (wire/udp-audio.ts): the first valid one of a session fixes the session's
 * address, and packets from other addresses are dropped from then on.
 */
import type { Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import { decodeUdpAudio, encodeUdpAudio, readUdpAudioSsrc } from '../wire/udp-audio.ts'
import type { DeviceLinkHandlers } from './fleet.ts'

export interface UdpAudioServer {
  readonly port: number
  readonly packets: () => number
  /**
   * Opens a session with keys of its own. `listener` is called for every packet; a packet is decrypted only if the
   * listener reads it.
   */
  readonly open: (keys: UdpAudioKeys, listener: Pick<DeviceLinkHandlers, 'audio'>) => UdpAudioSession
  readonly close: () => Promise<void>
}

export interface UdpAudioSession {
  /** Frames are dropped until the device has sent a packet, because its address is unknown before. */
  readonly send: (frame: AudioFrame) => void
  readonly close: () => void
}

interface Peer {
  readonly address: string
  readonly port: number
}

/** The audio of one hello. Every device that sent a hello has one, so it is one object without closures. */
class Session implements UdpAudioSession {
  readonly #socket: Socket
  readonly #sessions: Map<number, Session>
  readonly #keys: UdpAudioKeys
  readonly #listener: Pick<DeviceLinkHandlers, 'audio'>
  #peer: Peer | undefined
  #lastSequence = 0
  #sent = 0

  constructor(
    socket: Socket,
    sessions: Map<number, Session>,
    { keys, listener }: { readonly keys: UdpAudioKeys; readonly listener: Pick<DeviceLinkHandlers, 'audio'> },
  ) {
    this.#socket = socket
    this.#sessions = sessions
    this.#keys = keys
    this.#listener = listener
    sessions.set(this.#source, this)
  }

  take(bytes: Uint8Array, from: Peer): void {
    if (this.#peer !== undefined && this.#peer.address !== from.address) return
    this.#peer = from
    this.#listener.audio(() => this.#read(bytes))
  }

  send({ timestampMs, opus }: AudioFrame): void {
    if (this.#peer === undefined) return
    this.#sent++
    const packet = encodeUdpAudio(this.#keys, { timestampMs, sequence: this.#sent, opus })
    this.#socket.send(packet, this.#peer.port, this.#peer.address, () => undefined)
  }

  close(): void {
    if (this.#sessions.get(this.#source) === this) this.#sessions.delete(this.#source)
  }

  get #source(): number {
    return Number.parseInt(this.#keys.nonceHex.slice(8, 16), 16)
  }

  /** Old and repeated packets are dropped, as the firmware drops them; the decoder handles gaps. */
  #read(bytes: Uint8Array): AudioFrame | undefined {
    const packet = decodeUdpAudio(this.#keys.keyHex, bytes)
    if (!packet.ok || packet.value.sequence <= this.#lastSequence) return undefined
    this.#lastSequence = packet.value.sequence
    return { timestampMs: packet.value.timestampMs, opus: packet.value.opus }
  }
}

export function openUdpAudioServer({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Promise<UdpAudioServer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    const sessions = new Map<number, Session>()
    let packets = 0
    socket.on('message', (bytes, { address, port: from }) => {
      packets++
      const ssrc = readUdpAudioSsrc(bytes)
      if (ssrc !== undefined) sessions.get(ssrc)?.take(bytes, { address, port: from })
    })
    socket.once('error', reject)
    socket.bind(port, host, () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve({
        port: socket.address().port,
        packets: () => packets,
        open: (keys, listener) => new Session(socket, sessions, { keys, listener }),
        close: () => new Promise((done) => socket.close(() => done())),
      })
    })
  })
}
