/**
 * Places: how many connections the listener holds, and who goes when all places are taken.
 *
 *   silent ──a request, whole──▶ being answered ──answered──▶ silent
 *     └─ goes first, the longest silent before the others
 *
 * To connect takes no credential. Were newcomers turned away, whoever opens enough connections and says nothing would
 * keep everybody out, and the owner's emergency stop with them.
 *
 * Does I/O: it hangs up.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Places {
  /** What was begun last on this connection. */
  readonly underWay: (socket: Duplex) => ServerResponse | undefined
}

export function keepPlaces(server: Server, places: number): Places {
  /** Each with its last answer; who was heard of longest ago comes first. */
  const connected = new Map<Duplex, ServerResponse | undefined>()

  server.on('connection', (socket: Duplex) => {
    connected.set(socket, undefined)
    socket.once('close', () => connected.delete(socket))
    // Where all others are being answered, it is the newcomer itself.
    if (connected.size > places) leave(longestSilent(connected) ?? socket)
  })
  server.on('request', ({ socket }, response) => {
    // Set anew, so that the order is that of the last words. What came from one that has gone is not kept.
    if (connected.delete(socket)) connected.set(socket, response)
  })

  function leave(socket: Duplex): void {
    connected.delete(socket)
    socket.destroy()
  }

  return { underWay: (socket) => connected.get(socket) }
}

function longestSilent(connected: ReadonlyMap<Duplex, ServerResponse | undefined>): Duplex | undefined {
  for (const [socket, response] of connected) if (!isBeingAnswered(response)) return socket
  return undefined
}

/** A request that does not end, or an answer that is not fetched, is a way of keeping silent, too. */
function isBeingAnswered(response: ServerResponse | undefined): boolean {
  return response !== undefined && response.req.complete && !response.writableEnded
}
