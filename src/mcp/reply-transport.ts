/**
 * Reply transport: one HTTP request and its response. The request's JSON is read up to a limit and not one byte beyond
 * it; the response is a single JSON body, unless there are notifications before the result, or the result takes long:
 * then it becomes a stream of events whose last one is the result.
 *
 *   nothing yet ──finish──▶ application/json
 *        └──notify, silence──▶ text/event-stream ──notify…──▶ ──finish──▶ end
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonContentType } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../core/json.ts'
import { parseStrictJsonBytes } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { HttpRefusal } from './refusal-transport.ts'
import { toUtf8 } from '../core/bytes.ts'
import type { SerializedMessage } from './mcp-results.ts'
import { PARSE_ERROR_CODE } from './protocol-error.ts'

const MAX_DISCARDED_BYTES = 67_108_864
const MAX_DISCARDING_MS = 5_000

/** `undefined` when the client disconnected before the body was complete. */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Result<Json, HttpRefusal> | undefined> {
  if (!isJsonContentType(request.headers['content-type']))
    return fail({ status: 415, message: 'Unsupported Media Type: Content-Type must be application/json' })
  const bytes = await readBytes(request, maxBytes)
  if (bytes === 'cut-off') return undefined
  if (bytes === 'too-large') {
    discard(request)
    return fail({ status: 413, message: `Payload Too Large: Request body must not exceed ${maxBytes} bytes` })
  }
  const read = parseStrictJsonBytes(bytes)
  if (read.ok) return ok(read.value)
  return fail({ status: 400, code: PARSE_ERROR_CODE, message: `Parse error: ${read.fault.message}` })
}

/** Returns `too-large` as soon as it is known: from the announced length, or from what was received so far. */
function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-large' | 'cut-off'> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) chunks.push(chunk)
      else {
        request.removeAllListeners('data')
        resolve('too-large')
      }
    })
    request.once('end', () => resolve(joined(chunks)))
    request.once('error', () => resolve('cut-off'))
    request.once('close', () => resolve('cut-off'))
  })
}

/**
 * Reads and drops the rest of the body for a while: a client that is disconnected while it sends sees a broken
 * connection and never reads the reason.
 */
function discard(request: IncomingMessage): void {
  let left = MAX_DISCARDED_BYTES
  const impatience = setTimeout(() => request.destroy(), MAX_DISCARDING_MS)
  impatience.unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.destroy()
  })
  request.once('close', () => clearTimeout(impatience))
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}

export interface ReplyTransport {
  /** Progress and logs may be dropped: they are not queued without limit for a client that does not read. */
  readonly notify: (method: string, params: JsonObject) => void
  /** The status only counts while nothing was streamed. */
  readonly finish: (message: SerializedMessage, status?: number) => void
  /** Ends it without an answer, for a request that its client cancelled. */
  readonly abandon: () => void
}

export interface ReplyOptions {
  readonly keepAliveMs: number
  /** Sent with either form of the response, e.g. `Mcp-Session-Id`. */
  readonly headers?: Readonly<Record<string, string>>
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export function createReplyTransport(
  response: ServerResponse,
  { keepAliveMs, headers = {} }: ReplyOptions,
): ReplyTransport {
  let isStream = false
  // A client, or a proxy, that receives nothing for long assumes that the server is dead.
  const heartbeat = setInterval(() => {
    if (isOver()) return clearInterval(heartbeat)
    beginStream()
    response.write(': keepalive\n\n')
  }, keepAliveMs)
  heartbeat.unref()

  function beginStream(): void {
    if (isStream) return
    isStream = true
    response.writeHead(200, { ...STREAM_HEADERS, ...headers })
  }

  function isOver(): boolean {
    return response.destroyed || response.writableEnded
  }

  return {
    notify: (method, params) => {
      if (isOver() || response.writableNeedDrain) return
      beginStream()
      response.write(event(JSON.stringify({ jsonrpc: '2.0', method, params })))
    },
    finish: (message, status = 200) => {
      clearInterval(heartbeat)
      inTurn(message, () => {
        if (isOver()) return
        if (isStream) endWith(response, inEvent(message))
        else sendSerializedMessage(response, { status, message, headers })
      })
    },
    abandon: () => {
      clearInterval(heartbeat)
      if (isOver()) return
      beginStream()
      response.end()
    },
  }
}

/** Takes about a millisecond to pass to the system, and several on a small computer. */
const LONG_BYTES = 262_144
const waiting: (() => void)[] = []

/**
 * Sends at once, except long messages, each of which gets its own turn of the event loop: all clients request the list
 * of tools at the moment when it changes.
 */
function inTurn(message: SerializedMessage, send: () => void): void {
  if (typeof message === 'string' || lengthOf(message) < LONG_BYTES) return send()
  waiting.push(send)
  if (waiting.length === 1) setImmediate(sendNext)
}

function sendNext(): void {
  const send = waiting.shift()
  if (waiting.length > 0) setImmediate(sendNext)
  send?.()
}

interface JsonReply {
  readonly status: number
  readonly message: SerializedMessage
  readonly headers?: Readonly<Record<string, string>>
}

export function sendSerializedMessage(response: ServerResponse, { status, message, headers = {} }: JsonReply): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': lengthOf(message),
    ...headers,
  })
  endWith(response, message)
}

function lengthOf(message: SerializedMessage): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  return message.reduce((sum, { length }) => sum + length, 0)
}

function endWith(response: ServerResponse, message: SerializedMessage): void {
  if (typeof message === 'string') {
    response.end(message)
    return
  }
  for (const piece of message) response.write(piece)
  response.end()
}

function inEvent(message: SerializedMessage): SerializedMessage {
  return typeof message === 'string' ? event(message) : [toUtf8(EVENT_HEAD), ...message, toUtf8(EVENT_END)]
}

const EVENT_HEAD = 'event: message\ndata: '
const EVENT_END = '\n\n'

function event(text: string): string {
  return `${EVENT_HEAD}${text}${EVENT_END}`
}
