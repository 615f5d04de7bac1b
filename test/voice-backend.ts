/**
 * Voice backend: a stand-in for the far end of an access point, as the cloud and the open servers behave there.
 *
 * Sequences, ids and close codes are those of facts that were measured or read: `initialize` with id 0 or a text, no
 * waiting for the answer before `tools/list`, 1008 for a bad token after the socket was accepted, and a second
 * connection with one token closing the first (1000).
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { isJsonObject } from '../src/core/json.ts'
import type { Json, JsonObject } from '../src/core/json.ts'

export interface VoiceBackend {
  readonly url: string
  /** The next tool side that connects with a good token. */
  readonly connected: () => Promise<BackendConnection>
  readonly connections: () => number
  readonly stop: () => Promise<void>
}

export interface BackendConnection {
  readonly path: string
  /** Sends a request and waits for the answer with exactly this id. */
  readonly ask: (id: string | number, method: string, params?: JsonObject) => Promise<JsonObject>
  /** Sends without waiting. */
  readonly tell: (message: Json) => void
  /** Every frame that came, as text. */
  readonly frames: readonly string[]
  readonly drop: () => void
  readonly close: (code: number) => void
  readonly closed: Promise<number>
}

export async function startVoiceBackend(token: string): Promise<VoiceBackend> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: true })
  await once(server, 'listening')
  const waiting: ((connection: BackendConnection) => void)[] = []
  const arrived: BackendConnection[] = []
  let current: WebSocket | undefined
  let count = 0
  server.on('connection', (socket, request) => {
    count += 1
    const { searchParams } = new URL(request.url ?? '', 'ws://backend')
    // Accepted first, then closed: so does the open endpoint server.
    if (searchParams.get('token') !== token) return socket.close(1_008, 'token')
    current?.close(1_000, 'replaced')
    current = socket
    const connection = connectionOf(socket, request.url ?? '')
    const next = waiting.shift()
    if (next === undefined) arrived.push(connection)
    else next(connection)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `ws://127.0.0.1:${port}/mcp_endpoint/mcp/`,
    connected: () => {
      const here = arrived.shift()
      return here === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(here)
    },
    connections: () => count,
    stop: async () => {
      for (const client of server.clients) client.terminate()
      server.close()
      await once(server, 'close')
    },
  }
}

function connectionOf(socket: WebSocket, path: string): BackendConnection {
  const frames: string[] = []
  const pending = new Map<string, (answer: JsonObject) => void>()
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    frames.push(text)
    const message = JSON.parse(text) as Json
    if (isJsonObject(message)) pending.get(JSON.stringify(message['id']))?.(message)
  })
  const tell = (message: Json): void => socket.send(JSON.stringify(message))
  return {
    path,
    frames,
    tell,
    ask: (id, method, params) =>
      new Promise((resolve) => {
        pending.set(JSON.stringify(id), resolve)
        tell({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
      }),
    drop: () => socket.terminate(),
    close: (code) => socket.close(code),
    closed: once(socket, 'close').then(([code]) => Number(code)),
  }
}
