/**
 * Reply: the HTTP response to one JSON-RPC request. A single JSON body, unless something has to be said before the
 * result: then it becomes a stream of events whose last one is the result.
 *
 *   nothing yet ──finish──▶ application/json
 *        └───notify──▶ text/event-stream ──notify…──▶ ──finish──▶ end
 *
 * Does I/O.
 */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../core/json.ts'

export interface ReplyTransport {
  /** Progress and logs are lossy: to a client that does not read them they are not queued without end. */
  readonly notify: (method: string, params: JsonObject) => void
  /** `text` is the whole JSON-RPC message. The status counts only while nothing was streamed. */
  readonly finish: (text: string, status?: number) => void
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
  let heartbeat: NodeJS.Timeout | undefined

  function beginStream(): void {
    response.writeHead(200, { ...STREAM_HEADERS, ...headers })
    heartbeat = setInterval(() => response.write(': keepalive\n\n'), keepAliveMs)
    heartbeat.unref()
    response.once('close', () => clearInterval(heartbeat))
  }

  return {
    notify: (method, params) => {
      if (response.destroyed || response.writableEnded || response.writableNeedDrain) return
      if (heartbeat === undefined) beginStream()
      response.write(event(JSON.stringify({ jsonrpc: '2.0', method, params })))
    },
    finish: (text, status = 200) => {
      if (response.destroyed || response.writableEnded) return
      if (heartbeat === undefined) {
        sendJson(response, status, text, headers)
        return
      }
      clearInterval(heartbeat)
      response.end(event(text))
    },
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

function event(text: string): string {
  return `event: message\ndata: ${text}\n\n`
}
