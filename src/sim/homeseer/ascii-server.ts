/**
 * ASCII server: port 11000 of the simulated HomeSeer, with push to every open connection.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { listenOn } from '../../core/listen-server.ts'
import { encodeChange, EMPTY_PARTIAL_LINE, splitCompleteLines, type DeviceChange } from '../../homeseer/wire/ascii.ts'
import { answerLine } from './ascii-port.ts'
import type { ListenPlace } from './http-server.ts'
import type { SimulatedWorld } from './world.ts'

export interface AsciiServer {
  readonly server: Server
  readonly push: (change: DeviceChange) => void
  readonly hangUp: () => void
  readonly stop: () => Promise<void>
}

export async function startAsciiServer(world: SimulatedWorld, place: ListenPlace): Promise<AsciiServer> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.setEncoding('utf8')
    let rest = EMPTY_PARTIAL_LINE
    socket.on('data', (piece: string) => {
      const taken = splitCompleteLines(rest, piece)
      rest = taken.rest
      for (const line of taken.lines) answer(world, socket, line)
      // After the answers, so that a client reads `ok` before the change it caused.
      place.settle()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
  })
  await listenOn(server, place)
  const hangUp = () => {
    for (const socket of open) socket.destroy()
  }
  const push = (change: DeviceChange) => {
    for (const socket of open) socket.write(encodeChange(change))
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
  const text = answerLine(world, line, { address: socket.remoteAddress ?? '', nowMs: Date.now() })
  socket.write(`${text}\r\n`)
}
