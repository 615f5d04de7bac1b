/**
 * UDP sink: where MQTT devices send their audio, because without such an address every wake word ends in an alert.
 *
 * Packets are counted and dropped. They carry no proof of who sent them (wire/udp-audio.ts), so they count for nothing.
 *
 * Does I/O.
 */
import { createSocket } from 'node:dgram'

export interface UdpSink {
  readonly port: number
  readonly packets: () => number
  readonly close: () => Promise<void>
}

export function openUdpSink({ host, port }: { readonly host: string; readonly port: number }): Promise<UdpSink> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    let packets = 0
    socket.on('message', () => {
      packets++
    })
    socket.once('error', reject)
    socket.bind(port, host, () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve({
        port: socket.address().port,
        packets: () => packets,
        close: () => new Promise((done) => socket.close(() => done())),
      })
    })
  })
}
