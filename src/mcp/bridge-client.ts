/**
 * Bridge: connects a client that starts us over stdio to the gateway that is already running. Two gateways on one data
 * directory would be two ledgers.
 *
 *   client ══ stdio ══▶ bridge ══ Streamable HTTP ══▶ the running gateway
 *
 * It passes messages on and understands three: what `initialize` settles, which requests are open, and a cancellation,
 * which in the 2026 revision is the end of the request's own stream. When the gateway has restarted, a session of the
 * 2025 revisions is opened again in the client's name, and a message that was not accepted is sent once more.
 */
import { SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { readSystemErrorCode, readErrorMessage } from '../core/thrown-error.ts'
import { createSessionReplayRecorder, isBridgeRequestId } from './session-replay-recorder.ts'
import type { SessionReplayRecorder } from './session-replay-recorder.ts'
import { StdioTransport } from './stdio-transport.ts'
import type { StdioStreams } from './stdio-transport.ts'

export interface BridgeOptions {
  readonly streams: StdioStreams
  /** The endpoint, with profile and name style; called again when the gateway does not answer any more. */
  readonly locate: () => Promise<URL | undefined>
  readonly token?: string | undefined
  readonly log: Logger
}

type RequestId = string | number

const INTERNAL_ERROR = -32_603
/** How long a gateway may take to accept a session. */
const PATIENCE_MS = 10_000

/** Resolves when the client has disconnected, or when there is no gateway to begin with. */
export async function bridgeStdio({ streams, locate, token, log }: BridgeOptions): Promise<void> {
  const near = new StdioTransport(streams)
  const session = createSessionReplayRecorder()
  const open = new Map<RequestId, AbortController>()
  const awaited = new Map<RequestId, () => void>()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const left: StreamableHTTPClientTransport[] = []
  let far: StreamableHTTPClientTransport | undefined
  let renewing: Promise<void> | undefined

  const toNear = (message: JSONRPCMessage): void => {
    near.send(message).catch((error: unknown) => log.debug({ err: error }, 'the client has gone'))
  }

  async function connect(): Promise<StreamableHTTPClientTransport> {
    const url = await locate()
    if (url === undefined) throw new Error('no gateway runs any more; start one, and this goes on')
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
    transport.onmessage = (message) => {
      const answered = idOfAnswer(message)
      const settled = settledRevision(message)
      if (settled !== undefined) transport.setProtocolVersion(settled)
      if (answered !== undefined) open.delete(answered)
      if (!isBridgeRequestId(answered)) toNear(message)
      else if (answered !== undefined) awaited.get(answered)?.()
    }
    transport.onerror = (error) => log.debug({ err: error }, 'the gateway refused a message')
    await transport.start()
    return transport
  }

  /** Connects again, once for all messages that failed together. */
  function renew(): Promise<void> {
    renewing ??= begin().finally(() => {
      renewing = undefined
    })
    return renewing
  }

  async function begin(): Promise<void> {
    const next = await connect()
    for (const message of session.again()) await sendAndAwaitAnswer(next, message)
    // The old transport is not closed yet: other messages may still be in transit on it, and each has to fail by
    // itself.
    if (far !== undefined) left.push(far)
    far = next
  }

  /** Messages after this one depend on its answer: on the negotiated revision, and on the new session. */
  async function sendAndAwaitAnswer(transport: StreamableHTTPClientTransport, message: JSONRPCMessage): Promise<void> {
    const id = idOfRequest(message)
    if (id === undefined) return transport.send(message)
    const patience = AbortSignal.timeout(PATIENCE_MS)
    const answer = new Promise<void>((resolve, reject) => {
      awaited.set(id, resolve)
      patience.addEventListener('abort', () => reject(new Error('the gateway does not answer')), { once: true })
    }).finally(() => awaited.delete(id))
    await Promise.all([transport.send(message), answer])
  }

  async function pass(message: JSONRPCMessage, signal: AbortSignal | undefined): Promise<void> {
    const options = signal === undefined ? {} : { requestSignal: signal }
    const used = far
    try {
      if (used === undefined) throw new Error('the gateway was never reached')
      await used.send(message, options)
    } catch (error) {
      if (signal?.aborted === true || !wasNotTaken(error, session)) throw error
      if (far === used) await renew()
      await far?.send(message, options)
    }
  }

  near.onmessage = (message) => {
    session.record(message)
    const cancelled = cancelledRequest(message)
    const stream = cancelled === undefined ? undefined : open.get(cancelled)
    stream?.abort()
    const id = idOfRequest(message)
    const request = id === undefined ? undefined : new AbortController()
    if (id !== undefined && request !== undefined) open.set(id, request)
    pass(message, request?.signal).catch((error: unknown) => {
      if (id === undefined || !open.delete(id) || request?.signal.aborted === true) return
      const what = error instanceof SdkHttpError ? 'refused this' : 'did not answer'
      const text = `The gateway ${what}: ${readErrorMessage(error)}`
      toNear({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: text } })
    })
  }

  const ended = new Promise<void>((resolve) => {
    near.onclose = resolve
  })
  far = await connect()
  await near.start()
  await ended
  for (const request of open.values()) request.abort()
  // A session of the 2025 revisions is terminated rather than left to expire.
  await far.terminateSession().catch(() => undefined)
  await Promise.all([near, far, ...left].map((transport) => transport.close()))
}

/**
 * Whether the message was not processed, because nobody listened or the session was unknown; then it can be sent again.
 */
function wasNotTaken(error: unknown, session: SessionReplayRecorder): boolean {
  if (error instanceof SdkHttpError) return error.status === 404 && session.again().length > 0
  const cause = error instanceof Error ? error.cause : undefined
  return readSystemErrorCode(cause) === 'ECONNREFUSED'
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
