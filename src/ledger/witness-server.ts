/**
 * Witness server: C2SP tlog-witness over HTTP.
 *
 *   POST /add-checkpoint              ▸ 200 signature lines · 400 · 403 · 404 · 409 size · 422
 *   GET  /<hex SHA-256(origin)>/checkpoint  ▸ the last checkpoint it cosigned for that log
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { startListening } from '../core/listen-server.ts'
import { admitUnpipelinedRequest, ConnectionLimiter } from '../toolbox/connection-limiter.ts'
import { fromUtf8 } from '../core/bytes.ts'
import { formatHttpUrl } from '../core/http-address.ts'
import type { WitnessRefusal } from './witness.ts'
import { formatCosignedCheckpointPath, TREE_SIZE_CONTENT_TYPE } from './witness.ts'
import type { CosignedCheckpointStore } from './cosigned-checkpoint-store.ts'

/** Several times 63 proof lines and a checkpoint with dozens of signatures. */
const MAX_BODY_BYTES = 65_536
const REQUEST_TIMEOUT_MS = 10_000
/** Each log keeps one connection open. */
const MAX_CONNECTIONS = 256
const TEXT = 'text/plain; charset=utf-8'

export interface WitnessServer {
  readonly url: string
  readonly close: () => Promise<void>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

export async function startWitness(
  store: CosignedCheckpointStore,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<WitnessServer> {
  const monitored = new Map(store.origins().map((origin) => [formatCosignedCheckpointPath(origin), origin]))
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: MAX_CONNECTIONS })
  const server = createServer((request, response) => {
    if (!admitUnpipelinedRequest(limiter, request, response)) return
    answer(store, monitored, request).then(
      (given) => send(response, given),
      // The store could not save it: no cosignature may be returned, and the client may try again.
      () => send(response, plain(500, 'the witness could not store the checkpoint')),
    )
  })
  server.on('connection', (socket: Socket) => limiter.accept(socket))
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.maxRequestsPerSocket = 1_000
  await startListening(server, { host, port })
  const { address, port: bound } = server.address() as AddressInfo
  return {
    url: formatHttpUrl(address, bound),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

async function answer(
  store: CosignedCheckpointStore,
  monitored: ReadonlyMap<string, string>,
  request: IncomingMessage,
): Promise<Answer> {
  const path = request.url ?? '/'
  if (path === '/add-checkpoint') {
    if (request.method !== 'POST') return plain(405, 'add-checkpoint is a POST')
    const body = await readBody(request)
    if (body === undefined) return plain(413, `a request has at most ${MAX_BODY_BYTES} bytes`)
    const text = fromUtf8(body)
    if (text === undefined) return plain(400, 'the request is not UTF-8')
    const added = await store.addCheckpoint(text)
    return added.ok ? { status: 200, type: TEXT, body: added.value } : refusalAnswer(added.fault)
  }
  const origin = monitored.get(path)
  const latest = origin === undefined ? undefined : store.latest(origin)
  if (latest === undefined) return plain(404, 'nothing here')
  if (request.method !== 'GET') return plain(405, 'a checkpoint is read with GET')
  return { status: 200, type: TEXT, body: latest }
}

function refusalAnswer(refusal: WitnessRefusal): Answer {
  if (refusal.status === 409) return { status: 409, type: TREE_SIZE_CONTENT_TYPE, body: `${refusal.size}\n` }
  return plain(refusal.status, refusal.reason)
}

function plain(status: number, sentence: string): Answer {
  return { status, type: TEXT, body: `${sentence}\n` }
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  // The rest of a body that was not read to its end would be taken for the next request.
  if (status === 413) response.setHeader('Connection', 'close')
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** The body; `undefined` when it is longer than any valid request. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BODY_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}
