/**
 * Audio channel client: sends and receives the Opus packets of a simulated device, over UDP if the backend named a
 * server for it, else on the device's connection.
 */
import type { AudioVersion } from '../../devices/wire/audio-frame.ts'
import { decodeAudioFrame, encodeAudioFrame } from '../../devices/wire/audio-frame.ts'
import type { DeviceConnection } from './device-connection.ts'
import { openUdpAudioConnection } from './udp-audio-client.ts'
import type { UdpAudioConnection, UdpAudioTarget } from './udp-audio-client.ts'

/** A packet of silence that every Opus decoder accepts. */
const OPUS_SILENCE = Uint8Array.of(0xf8, 0xff, 0xfe)
const PACKET_MS = 60

export class AudioChannelClient {
  /** From the configuration, never negotiated. */
  version: AudioVersion
  readonly #onPacket: (opus: Uint8Array) => void
  #udp: UdpAudioConnection | undefined

  constructor(version: AudioVersion, onPacket: (opus: Uint8Array) => void) {
    this.version = version
    this.#onPacket = onPacket
  }

  open(udp: UdpAudioTarget | undefined): void {
    this.close()
    if (udp !== undefined) this.#udp = openUdpAudioConnection(udp, this.#onPacket)
  }

  close(): void {
    this.#udp?.close()
    this.#udp = undefined
  }

  /** Sends these packets, or as many of silence. */
  async send(packets: number | readonly Uint8Array[], line: () => DeviceConnection | undefined): Promise<void> {
    const frames = typeof packets === 'number' ? Array.from({ length: packets }, () => OPUS_SILENCE) : packets
    for (const [index, opus] of frames.entries())
      if (this.#udp !== undefined) await this.#udp.send(opus)
      else line()?.sendAudio(encodeAudioFrame(this.version, { timestampMs: (index + 1) * PACKET_MS, opus }))
  }

  /** Hears a frame that came on the connection. */
  receive(frame: Uint8Array): void {
    const decoded = decodeAudioFrame(this.version, frame)
    if (decoded.ok) this.#onPacket(decoded.value.opus)
  }
}
