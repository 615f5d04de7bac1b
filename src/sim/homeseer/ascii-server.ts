/**
 * ASCII server: port 11000 of the simulated HomeSeer, with push to every open connection.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { startListening } from '../../core/listen-server.ts'
import {
  encodeAsciiDeviceChange,
  EMPTY_PARTIAL_ASCII_LINE,
  splitCompleteAsciiLines,
  type AsciiDeviceChange,
} from '../../homeseer/wire/ascii.ts'
import { answerAsciiLine } from './ascii-answer.ts'
import type { SimulatorListenOptions } from './http-server.ts'
import type { SimulatedWorld } from './simulated-world.ts'

export interface AsciiServer {
  readonly server: Server
  readonly push: (change: AsciiDeviceChange) => void
  readonly hangUp: () => void
  readonly stop: () => Promise<void>
}

export async function startAsciiServer(world: SimulatedWorld, place: SimulatorListenOptions): Promise<AsciiServer> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.setEncoding('utf8')
    let rest = EMPTY_PARTIAL_ASCII_LINE
    socket.on('data', (piece: string) => {
      const taken = splitCompleteAsciiLines(rest, piece)
      rest = taken.rest
      for (const line of taken.lines) answer(world, socket, line)
      // Sent after the answers, so that a client reads `ok` before the change that it caused.
      place.settle()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
  })
  await startListening(server, place)
  const hangUp = () => {
    for (const socket of open) socket.destroy()
  }
  const push = (change: AsciiDeviceChange) => {
    for (const socket of open) socket.write(encodeAsciiDeviceChange(change))
  }
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      hangUp()
    })
  return { server, push, hangUp, stop }
}

function answer(world: SimulatedWorld, socket: Socket, line: string): void {
  if (world.faults.asciiDeaf) return
  const text = answerAsciiLine(world, line, { address: socket.remoteAddress ?? '', nowMs: Date.now() })
  socket.write(`${text}\r\n`)
}
