/**
 * UDP audio client: sends and receives the encrypted packets of an MQTT session, at the address in the hello.
 */
import { createSocket } from 'node:dgram'
import type { UdpAudioKeys } from '../../devices/wire/udp-audio.ts'
import { decodeUdpAudio, encodeUdpAudio } from '../../devices/wire/udp-audio.ts'

export interface UdpAudioTarget extends UdpAudioKeys {
  readonly server: string
  readonly port: number
}

export interface UdpAudioConnection {
  readonly send: (opus: Uint8Array) => Promise<void>
  readonly close: () => void
}

export function openUdpAudioConnection(
  target: UdpAudioTarget,
  receive: (opus: Uint8Array) => void,
): UdpAudioConnection {
  const socket = createSocket('udp4')
  socket.unref()
  socket.on('error', () => undefined)
  let sequence = 0
  let lastSequence = 0
  socket.on('message', (bytes) => {
    const packet = decodeUdpAudio(target.keyHex, bytes)
    // Old sequence numbers are dropped, gaps are accepted.
    if (!packet.ok || packet.value.sequence <= lastSequence) return
    lastSequence = packet.value.sequence
    receive(packet.value.opus)
  })
  return {
    send: (opus) =>
      new Promise((resolve) => {
        sequence++
        // Opus frames of 60 ms, numbered from 1.
        const packet = encodeUdpAudio(target, { timestampMs: sequence * 60, sequence, opus })
        socket.send(packet, target.port, target.server, () => resolve())
      }),
    close: () => socket.close(),
  }
}
