/**
 * Relay backend: a stand-in for a voice backend as the open servers behave towards a device, over WebSocket and over
 * MQTT with audio over UDP, with an OTA address that hands out either and wants activation first if asked to.
 *
 * What it says is what was read or measured of them: `initialize` has id 1 and a `vision` of its own, `tools/list` id 2,
 * calls count from 1 again; its `mcp` frames carry no session id; an abort is answered with `tts stop`; the broker pushes
 * to devices that never subscribed.
 */
import { createSocket } from 'node:dgram'
import type { RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { Aedes } from 'aedes'
import type { Client } from 'aedes'
import { WebSocketServer } from 'ws'
import type { JsonObject } from '../src/core/json.ts'
import { decodeUdpAudio, encodeUdpAudio } from '../src/devices/wire/udp-audio.ts'

/** Any 16 bytes; bytes 4 to 7 of the nonce are the session. */
const KEYS = { keyHex: '75d99bfda983bc124d4b946966f019e5', nonceHex: '01000000000000610000000000000000' }
const AUDIO = { format: 'opus', sample_rate: 24_000, channels: 1, frame_duration: 60 }

export interface BackendConversation {
  readonly headers: IncomingHttpHeaders
  /** Everything that came as text, hello included. */
  readonly texts: string[]
  readonly audio: Uint8Array[]
  readonly send: (message: JsonObject | string) => void
  readonly sendAudio: (frames: readonly Uint8Array[]) => Promise<void>
  /** A JSON-RPC request to the device, under exactly this id. */
  readonly ask: (id: number | string, method: string, params?: JsonObject) => Promise<JsonObject>
  readonly end: () => void
}

export interface RelayBackend {
  readonly url: string
  readonly ota: string
  readonly mqttEndpoint: string
  readonly conversations: readonly BackendConversation[]
  readonly next: () => Promise<BackendConversation>
  /** What OTA and activate were asked. */
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }[]
  /** What the OTA address answers. */
  answerOta: () => JsonObject
  activateStatus: number
  readonly stop: () => Promise<void>
}

export async function startRelayBackend(port = 0): Promise<RelayBackend> {
  const conversations: BackendConversation[] = []
  const waiting: ((conversation: BackendConversation) => void)[] = []
  const add = (conversation: BackendConversation): void => {
    conversations.push(conversation)
    waiting.shift()?.(conversation)
  }
  const asked: RelayBackend['asked'] = []
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      asked.push({ path: request.url ?? '', headers: request.headers, body })
      const isActivate = request.url?.endsWith('/activate') === true
      response.statusCode = isActivate ? backend.activateStatus : 200
      response.end(isActivate ? '{}' : JSON.stringify(backend.answerOta()))
    })
  })
  const sockets = new WebSocketServer({ server: http, path: '/xiaozhi/v1/' })
  sockets.on('connection', (socket, request) => {
    const conversation = converse(request.headers, {
      text: (text) => socket.send(text),
      audio: async (frames) => {
        for (const frame of frames) await new Promise((done) => socket.send(frame, { binary: true }, done))
      },
      end: () => socket.close(1_000),
    })
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) conversation.audio.push(new Uint8Array(data))
      else if (conversation.hear(data.toString()))
        conversation.send({
          type: 'hello',
          version: 1,
          transport: 'websocket',
          session_id: `ws-${conversations.length + 1}`,
          audio_params: AUDIO,
        })
      if (!isBinary && conversation.texts.length === 1) add(conversation)
    })
  })
  http.listen(port, '127.0.0.1')
  await once(http, 'listening')
  const udp = createSocket('udp4')
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const broker = await Aedes.createBroker()
  const mqttSockets = new Set<Socket>()
  const tcp = createTcpServer((socket) => {
    mqttSockets.add(socket)
    socket.once('close', () => mqttSockets.delete(socket))
    broker.handle(socket)
  })
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  let current: ReturnType<typeof converse> | undefined
  let peer: RemoteInfo | undefined
  let sequence = 0
  udp.on('message', (bytes, from) => {
    peer = from
    const packet = decodeUdpAudio(KEYS.keyHex, bytes)
    if (packet.ok) current?.audio.push(packet.value.opus)
  })
  broker.on('publish', (packet, client: Client | null) => {
    if (client === null) return
    const text = packet.payload.toString()
    if (text.includes('"type":"hello"')) {
      sequence = 0
      const session = `mqtt-${conversations.length + 1}`
      const say = (message: string) =>
        client.publish(
          { cmd: 'publish', topic: 'p2p', payload: Buffer.from(message), qos: 0, retain: false, dup: false },
          () => undefined,
        )
      current = converse(
        { 'client-id': client.id },
        {
          text: say,
          audio: async (frames) => {
            for (const opus of frames) {
              sequence++
              const bytes = encodeUdpAudio(KEYS, { timestampMs: sequence * 60, sequence, opus })
              await new Promise((done) => udp.send(bytes, peer?.port ?? 9, peer?.address ?? '127.0.0.1', done))
            }
          },
          end: () => say(JSON.stringify({ type: 'goodbye', session_id: session })),
        },
      )
      current.hear(text)
      const { port: udpPort } = udp.address()
      const { keyHex: key, nonceHex: nonce } = KEYS
      const section = { server: '127.0.0.1', port: udpPort, encryption: 'aes-128-ctr', key, nonce }
      current.send({
        type: 'hello',
        version: 3,
        session_id: session,
        transport: 'udp',
        udp: section,
        audio_params: AUDIO,
      })
      add(current)
    } else current?.hear(text)
  })
  const { port: httpPort } = http.address() as AddressInfo
  const { port: mqttPort } = tcp.address() as AddressInfo
  const backend: RelayBackend = {
    url: `ws://127.0.0.1:${httpPort}/xiaozhi/v1/`,
    ota: `http://127.0.0.1:${httpPort}/xiaozhi/ota/`,
    mqttEndpoint: `127.0.0.1:${mqttPort}`,
    conversations,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    asked,
    answerOta: () => ({
      websocket: { url: backend.url, token: 'token-of-the-backend' },
      firmware: { version: '9.9.9', url: 'http://evil/' },
    }),
    activateStatus: 202,
    stop: async () => {
      for (const client of sockets.clients) client.terminate()
      for (const socket of mqttSockets) socket.destroy()
      udp.close()
      http.closeAllConnections()
      await Promise.all([
        new Promise((done) => http.close(done)),
        new Promise((done) => tcp.close(done)),
        new Promise<void>((done) => broker.close(() => done())),
      ])
    },
  }
  return backend
}

interface Outlets {
  readonly text: (text: string) => void
  readonly audio: (frames: readonly Uint8Array[]) => Promise<void>
  readonly end: () => void
}

function converse(headers: IncomingHttpHeaders, outlets: Outlets) {
  const texts: string[] = []
  const audio: Uint8Array[] = []
  const pending = new Map<string, (payload: JsonObject) => void>()
  const send = (message: JsonObject | string): void =>
    outlets.text(typeof message === 'string' ? message : JSON.stringify(message))
  return {
    headers,
    texts,
    audio,
    send,
    sendAudio: outlets.audio,
    end: outlets.end,
    ask: (id: number | string, method: string, params?: JsonObject): Promise<JsonObject> =>
      new Promise((resolve) => {
        pending.set(JSON.stringify(id), resolve)
        send({ type: 'mcp', payload: { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) } })
      }),
    /** Whether it was a hello. */
    hear: (text: string): boolean => {
      texts.push(text)
      const message = JSON.parse(text) as JsonObject
      if (message['type'] === 'abort') send({ type: 'tts', state: 'stop' })
      if (message['type'] === 'mcp') {
        const payload = message['payload'] as JsonObject
        pending.get(JSON.stringify(payload['id']))?.(payload)
      }
      return message['type'] === 'hello'
    },
  }
}
