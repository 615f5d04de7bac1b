/**
 * JSON client: exchanges over HTTP, to HomeSeer's own web server.
 *
 *   reads    a few keep-alive connections, repeated after a temporary failure
 *   writes   a separate connection, sent once: on a keep-alive one that just broke, the outcome would be unknown
 *
 * After a read that timed out HomeSeer counts as down: reads fail at once, until one of them has tried again.
 *
 * Credentials go into the Authorization header, or into the query if a HomeSeer requires that; neither appears in a
 * fault or a note. Redirects are not followed, because they would carry the credentials to another address.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { computeBackoffMs } from '../../core/backoff.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  encodeHttpParameters,
  type HomeseerRequestDefinition,
  type HttpParameter,
  decodeHomeseerReply,
} from './http-exchange.ts'
import { isTransientHomeseerFault, type HomeseerLinkFault } from './link-fault.ts'

export interface HomeseerCredentials {
  readonly user: string
  readonly password: string
}

export interface JsonClientOptions {
  /** `http://host[:port]`, without credentials. */
  readonly baseUrl: string
  /** `undefined` if HomeSeer requires no login from its own subnet. */
  readonly credentials: HomeseerCredentials | undefined
  readonly authentication: 'basic' | 'query'
  /** The limit for one attempt, from the first byte to the last. */
  readonly timeoutMs: number
  readonly readRetries: number
  readonly readRetryBackoffMs: number
  /** How long all tries of one read may take together; at least as long as one of them. */
  readonly allTriesMs: number
  /** How long HomeSeer is not asked after a read that timed out. */
  readonly restMs: number
  readonly maxReplyBytes: number
  /** Called with every attempt; the note is safe to log. */
  readonly onAttempt?: (note: RequestAttemptNote) => void
}

export interface RequestAttemptNote {
  readonly request: string
  readonly attempt: number
  readonly durationMs: number
  readonly outcome: 'ok' | HomeseerLinkFault['kind']
  /** The system's error code, such as ENOTFOUND, if nothing was reached. */
  readonly code?: string
}

/** HomeSeer's web server is small; more connections make every answer slower. */
const MAX_CONNECTIONS = 4
const MAX_BACKOFF_MS = 10_000
/** Requests that HomeSeer answers by itself. A dead camera only delays its own picture. */
export const LINK_HEALTH_REQUEST_NAMES: ReadonlySet<string> = new Set(['hsversion', 'getstatus'])

export class JsonClient {
  readonly #options: JsonClientOptions
  readonly #base: URL
  readonly #agent: HttpAgent | HttpsAgent
  /** Set after a read that timed out: its fault, and until when reads fail at once. */
  #down: { readonly fault: HomeseerLinkFault; readonly untilMs: number } | undefined
  #probing = false

  /** Throws on a base URL that is invalid or contains credentials; the configuration has checked it before. */
  constructor(options: JsonClientOptions) {
    this.#options = options
    this.#base = new URL(options.baseUrl)
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError('HomeSeer is reached over http or https')
    if (this.#base.username !== '' || this.#base.password !== '')
      throw new TypeError('credentials do not belong in the base URL')
    const agentOptions = { keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: 2 }
    this.#agent = this.#base.protocol === 'https:' ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions)
  }

  /** Never rejects because of the far end or the network. */
  async call<Value>(
    exchange: HomeseerRequestDefinition<Value>,
    signal?: AbortSignal,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    if (exchange.effect === 'writes') return this.#tries(exchange, 0, signal)
    const down = this.#down
    if (down === undefined)
      return this.#recordOutcome(exchange, await this.#tries(exchange, this.#options.readRetries, signal))
    if (this.#probing || performance.now() < down.untilMs) return fail(down.fault)
    // One read tries; others that come meanwhile get the known fault.
    this.#probing = true
    try {
      return this.#recordOutcome(exchange, await this.#tries(exchange, 0, signal))
    } finally {
      this.#probing = false
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Records the result for the link. A failure that comes at once is not remembered, because nobody waits for it. */
  #recordOutcome<Value>(
    { name }: HomeseerRequestDefinition<Value>,
    result: Result<Value, HomeseerLinkFault>,
  ): Result<Value, HomeseerLinkFault> {
    const late = !result.ok && result.fault.kind === 'timed-out'
    if (!late && (result.ok || result.fault.kind !== 'aborted')) this.#down = undefined
    // A trial read that failed marks HomeSeer as down again, whatever it requested.
    else if (late && (this.#probing || LINK_HEALTH_REQUEST_NAMES.has(name)))
      this.#down = { fault: result.fault, untilMs: performance.now() + this.#options.restMs }
    return result
  }

  async #tries<Value>(
    exchange: HomeseerRequestDefinition<Value>,
    retries: number,
    signal: AbortSignal | undefined,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    const { readRetryBackoffMs, timeoutMs, allTriesMs } = this.#options
    const schedule = { firstMs: readRetryBackoffMs, maxMs: MAX_BACKOFF_MS, factor: 2 }
    const endMs = performance.now() + Math.max(allTriesMs, timeoutMs)
    for (let attempt = 0; ; attempt++) {
      if (signal?.aborted === true) return fail({ kind: 'aborted', reached: attempt > 0 })
      const result = await this.#attempt(exchange, attempt, signal)
      if (result.ok || attempt >= retries || !isTransientHomeseerFault(result.fault)) return result
      // A try that would have less than its full time is skipped.
      if (performance.now() + computeBackoffMs(schedule, attempt) + timeoutMs > endMs) return result
      try {
        await wait(computeBackoffMs(schedule, attempt), undefined, { signal })
      } catch {
        return fail({ kind: 'aborted', reached: true })
      }
    }
  }

  async #attempt<Value>(
    exchange: HomeseerRequestDefinition<Value>,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    const startedMs = performance.now()
    const body = await this.#send(exchange, signal)
    const reply = body.ok ? decodeHomeseerReply(body.value) : body
    const result: Result<Value, HomeseerLinkFault> = reply.ok ? exchange.decode(reply.value) : reply
    const durationMs = Math.round(performance.now() - startedMs)
    this.#options.onAttempt?.({ request: exchange.name, attempt, durationMs, ...toLoggableRequestOutcome(result) })
    return result
  }

  /** Sends one request. A read on a keep-alive connection that was just being closed is sent again. */
  async #send(
    exchange: HomeseerRequestDefinition<unknown>,
    signal: AbortSignal | undefined,
  ): Promise<Result<Uint8Array, HomeseerLinkFault>> {
    const first = await this.#transmit(exchange, signal)
    if (exchange.effect === 'writes' || !first.stale) return first.body
    return (await this.#transmit(exchange, signal)).body
  }

  #transmit(exchange: HomeseerRequestDefinition<unknown>, signal: AbortSignal | undefined): Promise<Transmission> {
    const { timeoutMs, maxReplyBytes } = this.#options
    const request = this.#base.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve) => {
      let reached = false
      const outgoing = request(this.#requestOptions(exchange), (incoming) => {
        void collect(incoming, maxReplyBytes).then((result) => settle(result ?? gone('ECONNRESET')))
      })
      const timer = setTimeout(() => settle(fail({ kind: 'timed-out', afterMs: timeoutMs, reached })), timeoutMs)
      const abort = () => settle(fail({ kind: 'aborted', reached }))
      const gone = (code: string) => fail({ kind: 'unreachable', code, reached } as const)
      const settle = (body: Result<Uint8Array, HomeseerLinkFault>) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        const lost = !body.ok && body.fault.kind === 'unreachable'
        resolve({ body, stale: lost && outgoing.reusedSocket })
        // A finished exchange returns its connection to the pool; any other destroys it, so that late bytes cannot
        // reach the next one.
        if (!body.ok) outgoing.destroy()
      }
      signal?.addEventListener('abort', abort, { once: true })
      outgoing.on('error', (error: NodeJS.ErrnoException) => settle(gone(error.code ?? 'unknown')))
      outgoing.on('socket', (socket) => {
        if (!socket.connecting) reached = true
        else socket.once(this.#base.protocol === 'https:' ? 'secureConnect' : 'connect', () => (reached = true))
      })
      outgoing.end(exchange.http.body?.text)
    })
  }

  #requestOptions(exchange: HomeseerRequestDefinition<unknown>): RequestOptions {
    const { http } = exchange
    const query = encodeHttpParameters([...http.query, ...this.#queryCredentials()])
    const length = http.body === undefined ? undefined : Buffer.byteLength(http.body.text)
    return {
      protocol: this.#base.protocol,
      hostname: this.#base.hostname.replaceAll(/^\[|\]$/g, ''),
      port: this.#base.port,
      method: http.method,
      path: `${this.#base.pathname.replace(/\/+$/, '')}${http.path}${query === '' ? '' : `?${query}`}`,
      agent: exchange.effect === 'reads' ? this.#agent : false,
      headers: {
        Accept: '*/*',
        ...this.#headerCredentials(),
        ...(http.body === undefined ? {} : { 'Content-Type': http.body.contentType, 'Content-Length': length }),
      },
    }
  }

  #headerCredentials(): { readonly Authorization?: string } {
    const { credentials, authentication } = this.#options
    if (credentials === undefined || authentication !== 'basic') return {}
    const pair = Buffer.from(`${credentials.user}:${credentials.password}`, 'utf8').toString('base64')
    return { Authorization: `Basic ${pair}` }
  }

  #queryCredentials(): readonly HttpParameter[] {
    const { credentials, authentication } = this.#options
    if (credentials === undefined || authentication !== 'query') return []
    return [
      ['user', credentials.user],
      ['pass', credentials.password],
    ]
  }
}

interface Transmission {
  readonly body: Result<Uint8Array, HomeseerLinkFault>
  /** A keep-alive connection broke before it answered, which says nothing about HomeSeer. */
  readonly stale: boolean
}

/** The complete body within the limit; `undefined` when the far end closed the connection early. */
async function collect(
  incoming: IncomingMessage,
  limitBytes: number,
): Promise<Result<Uint8Array, HomeseerLinkFault> | undefined> {
  const status = incoming.statusCode ?? 0
  if (status === 401 || status === 403) return fail({ kind: 'unauthorised' })
  if (status < 200 || status > 299) return fail({ kind: 'http-status', status })
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of incoming as AsyncIterable<Uint8Array>) {
      size += piece.length
      if (size > limitBytes) return fail({ kind: 'too-large', limitBytes })
      pieces.push(piece)
    }
  } catch {
    return undefined
  }
  return ok(Buffer.concat(pieces, size))
}

/** The part of the result that is safe to log. */
export function toLoggableRequestOutcome(
  result: Result<unknown, HomeseerLinkFault>,
): Pick<RequestAttemptNote, 'outcome' | 'code'> {
  if (result.ok) return { outcome: 'ok' }
  const { fault } = result
  return fault.kind === 'unreachable' ? { outcome: fault.kind, code: fault.code } : { outcome: fault.kind }
}
