/**
 * WebSocket client: connects to a backend with the headers and frames of a real device.
 *
 * No extensions, no Origin; the upgrade counts as accepted when the answer contains `HTTP/1.1 101`, and nothing else in
 * it is checked. A close frame from the server ends the channel but not the socket.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { concatBytes, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import type { HeaderLines } from './identity.ts'
import type { DeviceConnection, DeviceConnectionEvents } from './device-connection.ts'
import type { WebSocketOpcode } from './websocket-frame.ts'
import { decodeWebSocketFrame, encodeWebSocketFrame } from './websocket-frame.ts'

export interface SimulatedWebSocketConnectOptions {
  readonly url: string
  readonly headers: (host: string, port: number, key: string) => HeaderLines
  readonly timeoutMs: number
  readonly answersClose: boolean
  readonly events: DeviceConnectionEvents
}

const END_OF_HEAD = '\r\n\r\n'

/** Rejects with the status line when the backend refuses the upgrade. */
export function connectSimulatedDeviceOverWebSocket(options: SimulatedWebSocketConnectOptions): Promise<void> {
  const { host, port, path } = parseUrl(options.url)
  return new Promise((resolve, reject) => {
    const socket = connect(port, host)
    socket.setNoDelay(true)
    let head = ''
    const giveUp = (reason: string) => {
      clearTimeout(timer)
      socket.destroy()
      reject(new Error(reason))
    }
    const timer = setTimeout(() => giveUp('no answer to the upgrade'), options.timeoutMs)
    socket.once('connect', () => {
      const lines = options.headers(host, port, randomBytes(16).toString('base64'))
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    })
    socket.on('error', (error) => giveUp(error.message))
    socket.on('close', () => giveUp('closed during the upgrade'))
    const onHead = (chunk: Buffer) => {
      head += chunk.toString('latin1')
      const end = head.indexOf(END_OF_HEAD)
      if (end < 0) return
      if (!head.includes('HTTP/1.1 101')) {
        giveUp(head.slice(0, head.indexOf('\r\n')))
        return
      }
      clearTimeout(timer)
      socket.removeAllListeners()
      speak(socket, options, Buffer.from(head.slice(end + END_OF_HEAD.length), 'latin1'))
      resolve()
    }
    socket.on('data', onHead)
  })
}

function speak(socket: Socket, { events, answersClose }: SimulatedWebSocketConnectOptions, rest: Uint8Array): void {
  let buffer: Uint8Array = new Uint8Array(0)
  let fragments: Uint8Array[] = []
  let fragmentOf: WebSocketOpcode | undefined
  const write = (opcode: WebSocketOpcode, payload: Uint8Array) => {
    if (!socket.destroyed) socket.write(encodeWebSocketFrame(opcode, payload, randomBytes(4)))
  }
  const message = (opcode: WebSocketOpcode, payload: Uint8Array) => {
    events.data()
    const text = opcode === 'text' ? fromUtf8(payload) : undefined
    if (text !== undefined) events.text(text)
    if (opcode === 'binary') events.audio(payload)
  }
  const take = (chunk: Uint8Array) => {
    buffer = buffer.length === 0 ? chunk : concatBytes(buffer, chunk)
    for (;;) {
      const decoded = decodeWebSocketFrame(buffer)
      if (decoded === undefined) return
      if (decoded === 'malformed') {
        socket.destroy()
        return
      }
      buffer = buffer.subarray(decoded.size)
      const { opcode, final, payload } = decoded.frame
      if (opcode === 'ping') {
        if (events.answersPings()) write('pong', payload)
      } else if (opcode === 'close') {
        if (answersClose) {
          write('close', payload)
          socket.end()
        }
        events.closed('the backend closed the channel')
      } else if (opcode === 'continuation') {
        fragments.push(payload)
        if (final && fragmentOf !== undefined) {
          message(fragmentOf, concatBytes(...fragments))
          fragments = []
          fragmentOf = undefined
        }
      } else if (opcode !== 'pong' && fragmentOf === undefined) {
        // A new message in the middle of a fragmented one is dropped.
        if (final) message(opcode, payload)
        else {
          fragmentOf = opcode
          fragments = [payload]
        }
      }
    }
  }
  socket.on('data', take)
  socket.on('error', () => socket.destroy())
  socket.on('close', () => events.closed('the connection is gone'))
  const line: DeviceConnection = {
    send: (text) => write('text', toUtf8(text)),
    sendAudio: (bytes) => write('binary', bytes),
    destroy: () => socket.destroy(),
  }
  events.opened(line)
  if (rest.length > 0) take(rest)
}

/** The firmware's own parser does not support IPv6 and requires a port. */
function parseUrl(url: string): { readonly host: string; readonly port: number; readonly path: string } {
  const found = /^wss?:\/\/([^:/]+):(\d+)(\/.*)?$/.exec(url)
  if (found === null) throw new RangeError(`${url} is not an address a device can use`)
  return { host: found[1] ?? '', port: Number(found[2]), path: found[3] ?? '/' }
}
