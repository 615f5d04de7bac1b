/**
 * Bridge: a client that starts us over stdio while a gateway runs already talks to that one. Two gateways on one data
 * directory would be two ledgers.
 *
 *   client ══ stdio ══▶ bridge ══ Streamable HTTP ══▶ the running gateway
 *
 * It passes messages on and understands three: what `initialize` settles, which requests are open, and a cancellation,
 * which in the 2026 revision is the end of the request's own stream.
 *
 * Does I/O.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { StdioTransport } from './stdio-transport.ts'
import type { StdioStreams } from './stdio-transport.ts'

export interface BridgeOptions {
  readonly streams: StdioStreams
  /** The endpoint, with profile and name style. */
  readonly url: URL
  readonly token?: string | undefined
  readonly log: Logger
}

type RequestId = string | number

const INTERNAL_ERROR = -32_603

/** Resolves when either side has gone. */
export async function bridgeStdio({ streams, url, token, log }: BridgeOptions): Promise<void> {
  const near = new StdioTransport(streams)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const far = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
  const open = new Map<RequestId, AbortController>()
  const ended = new Promise<void>((resolve) => {
    near.onclose = resolve
    far.onclose = resolve
  })
  const toNear = (message: JSONRPCMessage): void => {
    near.send(message).catch((error: unknown) => log.debug({ err: error }, 'the client has gone'))
  }
  far.onmessage = (message) => {
    const answered = idOfAnswer(message)
    if (answered !== undefined) open.delete(answered)
    const settled = settledRevision(message)
    if (settled !== undefined) far.setProtocolVersion(settled)
    toNear(message)
  }
  near.onmessage = (message) => {
    const cancelled = cancelledRequest(message)
    const stream = cancelled === undefined ? undefined : open.get(cancelled)
    stream?.abort()
    const id = idOfRequest(message)
    const request = id === undefined ? undefined : new AbortController()
    if (id !== undefined && request !== undefined) open.set(id, request)
    far.send(message, request === undefined ? {} : { requestSignal: request.signal }).catch((error: unknown) => {
      if (id === undefined || !open.delete(id) || request?.signal.aborted === true) return
      toNear({
        jsonrpc: '2.0',
        id,
        error: { code: INTERNAL_ERROR, message: `The gateway at ${url.origin} did not answer: ${String(error)}` },
      })
    })
  }
  far.onerror = (error) => log.debug({ err: error }, 'the gateway refused a message')
  await far.start()
  await near.start()
  await ended
  for (const request of open.values()) request.abort()
  // A session of the 2025 family is given back rather than left to expire.
  await far.terminateSession().catch(() => undefined)
  await Promise.all([near.close(), far.close()])
}

function idOfRequest(message: JSONRPCMessage): RequestId | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined
}

function idOfAnswer(message: JSONRPCMessage): RequestId | undefined {
  return 'method' in message || !('id' in message) ? undefined : message.id
}

function cancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined
  const id = message.params?.['requestId']
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

function settledRevision(message: JSONRPCMessage): string | undefined {
  const result: unknown = 'result' in message ? message.result : undefined
  if (!isJsonObject(result) || !('serverInfo' in result)) return undefined
  const { protocolVersion } = result
  return typeof protocolVersion === 'string' ? protocolVersion : undefined
}
