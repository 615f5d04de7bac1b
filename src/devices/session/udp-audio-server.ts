/**
 * UDP audio server: where MQTT devices send their audio, and from where they get it. Without such an address every wake
 * word ends in an alert.
 *
 *   datagram ▸ ssrc (bytes 4 to 7) ▸ session ▸ whoever listens decides whether it is deciphered at all
 *
 * Packets carry no proof of who sent them (wire/udp-audio.ts): the first valid one of a session says from which address
 * it speaks, and packets from other addresses are dropped from then on.
 */
import { createSocket } from 'node:dgram'
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { UdpKeys } from '../wire/udp-audio.ts'
import { decodeUdpAudio, encodeUdpAudio, udpSource } from '../wire/udp-audio.ts'

export interface UdpAudioServer {
  readonly port: number
  readonly packets: () => number
  /** A session with keys of its own; `hear` is called for every packet of it, and what it does not read is not read. */
  readonly open: (keys: UdpKeys, hear: (read: () => AudioFrame | undefined) => void) => UdpAudioSession
  readonly close: () => Promise<void>
}

export interface UdpAudioSession {
  /** Lost while the device has not sent anything: nobody knows where it is before that. */
  readonly send: (frame: AudioFrame) => void
  readonly close: () => void
}

interface Peer {
  readonly address: string
  readonly port: number
}

interface Session {
  readonly keys: UdpKeys
  readonly hear: (read: () => AudioFrame | undefined) => void
  peer: Peer | undefined
  heard: number
  sent: number
}

export function openUdpAudio({
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
      const ssrc = udpSource(bytes)
      const session = ssrc === undefined ? undefined : sessions.get(ssrc)
      if (session === undefined || (session.peer !== undefined && session.peer.address !== address)) return
      session.peer = { address, port: from }
      session.hear(() => readPacket(session, bytes))
    })
    socket.once('error', reject)
    socket.bind(port, host, () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve({
        port: socket.address().port,
        packets: () => packets,
        open: (keys, hear) => {
          const session: Session = { keys, hear, peer: undefined, heard: 0, sent: 0 }
          const ssrc = Number.parseInt(keys.nonceHex.slice(8, 16), 16)
          sessions.set(ssrc, session)
          return {
            send: ({ timestampMs, opus }) => {
              const { peer } = session
              if (peer === undefined) return
              session.sent++
              const packet = encodeUdpAudio(keys, { timestampMs, sequence: session.sent, opus })
              socket.send(packet, peer.port, peer.address, () => undefined)
            },
            close: () => {
              if (sessions.get(ssrc) === session) sessions.delete(ssrc)
            },
          }
        },
        close: () => new Promise((done) => socket.close(() => done())),
      })
    })
  })
}

/** Old and repeated packets are dropped, as the firmware drops them; gaps are for the decoder. */
function readPacket(session: Session, bytes: Uint8Array): AudioFrame | undefined {
  const packet = decodeUdpAudio(session.keys.keyHex, bytes)
  if (!packet.ok || packet.value.sequence <= session.heard) return undefined
  session.heard = packet.value.sequence
  return { timestampMs: packet.value.timestampMs, opus: packet.value.opus }
}
