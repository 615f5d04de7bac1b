/**
 * Reply: the HTTP response to one JSON-RPC request. A single JSON body, unless something has to be said before the
 * result, or nothing could be said for long: then it becomes a stream of events whose last one is the result.
 *
 *   nothing yet ──finish──▶ application/json
 *        └──notify, silence──▶ text/event-stream ──notify…──▶ ──finish──▶ end
 *
 * Does I/O.
 */
import type { ServerResponse } from 'node:http'
import { utf8 } from '../core/bytes.ts'
import type { JsonObject } from '../core/json.ts'
import type { Message } from './result-text.ts'

export interface ReplyTransport {
  /** Progress and logs are lossy: to a client that does not read them they are not queued without end. */
  readonly notify: (method: string, params: JsonObject) => void
  /** The status counts only while nothing was streamed. */
  readonly finish: (message: Message, status?: number) => void
  /** Ends it without an answer, as a request ends that its client has withdrawn. */
  readonly abandon: () => void
}

export interface ReplyOptions {
  readonly keepAliveMs: number
  /** Sent with whatever the response turns out to be, e.g. `Mcp-Session-Id`. */
  readonly headers?: Readonly<Record<string, string>>
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export function replyTransport(response: ServerResponse, { keepAliveMs, headers = {} }: ReplyOptions): ReplyTransport {
  let isStream = false
  // A client, or a proxy before it, that hears nothing for long takes us for dead.
  const heartbeat = setInterval(() => {
    beginStream()
    response.write(': keepalive\n\n')
  }, keepAliveMs)
  heartbeat.unref()
  response.once('close', () => clearInterval(heartbeat))

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
        else sendJson(response, { status, message, headers })
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

/** What takes about a millisecond to hand to the system, and several on a small computer. */
const LONG_BYTES = 262_144
const waiting: (() => void)[] = []

/**
 * At once, but for long messages, of which each has a turn of the event loop to itself: all clients ask for the list of
 * tools in the moment in which they hear that it changed.
 */
function inTurn(message: Message, send: () => void): void {
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
  readonly message: Message
  readonly headers?: Readonly<Record<string, string>>
}

export function sendJson(response: ServerResponse, { status, message, headers = {} }: JsonReply): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': lengthOf(message),
    ...headers,
  })
  endWith(response, message)
}

function lengthOf(message: Message): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  return message.reduce((sum, { length }) => sum + length, 0)
}

function endWith(response: ServerResponse, message: Message): void {
  if (typeof message === 'string') {
    response.end(message)
    return
  }
  for (const piece of message) response.write(piece)
  response.end()
}

function inEvent(message: Message): Message {
  return typeof message === 'string' ? event(message) : [utf8(EVENT_HEAD), ...message, utf8(EVENT_END)]
}

const EVENT_HEAD = 'event: message\ndata: '
const EVENT_END = '\n\n'

function event(text: string): string {
  return `${EVENT_HEAD}${text}${EVENT_END}`
}
