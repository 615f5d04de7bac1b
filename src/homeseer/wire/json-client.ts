/**
 * JSON client: exchanges over HTTP, to HomeSeer's own web server.
 *
 *   reads    a few kept-open connections, asked again after a passing failure
 *   writes   a connection of their own, sent once: on a kept one that just went stale nobody could tell what was done
 *
 * A HomeSeer that let a read wait in vain is known to be down: reads are told so at once, until one of them has tried
 * again.
 *
 * Credentials go into the Authorization header, or into the query where a HomeSeer insists on that; neither appears in
 * a fault or a note. Redirects are not followed, because they would carry the credentials to another address.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { computeBackoffMs } from '../../core/backoff.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  encodeHttpParameters,
  type HomeseerHttpExchange,
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
  /** `undefined` where HomeSeer asks nothing of its own subnet. */
  readonly credentials: HomeseerCredentials | undefined
  readonly authentication: 'basic' | 'query'
  /** For one attempt, from the first byte to the last. */
  readonly timeoutMs: number
  readonly readRetries: number
  readonly readRetryBackoffMs: number
  /** How long all tries of one read may take together; never less than one of them. */
  readonly allTriesMs: number
  /** How long a HomeSeer is left alone that let a read wait in vain. */
  readonly restMs: number
  readonly maxReplyBytes: number
  /** Hears of every attempt; what it is told is safe to log. */
  readonly onAttempt?: (note: RequestAttemptNote) => void
}

export interface RequestAttemptNote {
  readonly request: string
  readonly attempt: number
  readonly durationMs: number
  readonly outcome: 'ok' | HomeseerLinkFault['kind']
  /** The system's word for what was in the way, such as ENOTFOUND, where nothing was reached. */
  readonly code?: string
}

/** HomeSeer's web server is small; more than this at once makes every answer slower. */
const MAX_CONNECTIONS = 4
const MAX_BACKOFF_MS = 10_000
/** Questions that HomeSeer answers by itself. A camera that is dead makes its picture late, and nothing else. */
export const LINK_HEALTH_REQUEST_NAMES: ReadonlySet<string> = new Set(['hsversion', 'getstatus'])

export class JsonClient {
  readonly #options: JsonClientOptions
  readonly #base: URL
  readonly #kept: HttpAgent | HttpsAgent
  /** Since a read waited in vain: what it came to, and until when nobody tries again. */
  #down: { readonly fault: HomeseerLinkFault; readonly untilMs: number } | undefined
  #probing = false

  /** Throws on a base URL that is none or carries credentials: the configuration has checked it before. */
  constructor(options: JsonClientOptions) {
    this.#options = options
    this.#base = new URL(options.baseUrl)
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError('HomeSeer is reached over http or https')
    if (this.#base.username !== '' || this.#base.password !== '')
      throw new TypeError('credentials do not belong into the base URL')
    const kept = { keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: 2 }
    this.#kept = this.#base.protocol === 'https:' ? new HttpsAgent(kept) : new HttpAgent(kept)
  }

  /** Never rejects for anything the far end or the network does. */
  async call<Value>(
    exchange: HomeseerHttpExchange<Value>,
    signal?: AbortSignal,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    if (exchange.effect === 'writes') return this.#tries(exchange, 0, signal)
    const down = this.#down
    if (down === undefined)
      return this.#recordOutcome(exchange, await this.#tries(exchange, this.#options.readRetries, signal))
    if (this.#probing || performance.now() < down.untilMs) return fail(down.fault)
    // One asks, once; whoever comes meanwhile is told what is known.
    this.#probing = true
    try {
      return this.#recordOutcome(exchange, await this.#tries(exchange, 0, signal))
    } finally {
      this.#probing = false
    }
  }

  close(): void {
    this.#kept.destroy()
  }

  /** Remembers what the link came to. What fails at once is tried again at once: nobody waits for that. */
  #recordOutcome<Value>(
    { name }: HomeseerHttpExchange<Value>,
    result: Result<Value, HomeseerLinkFault>,
  ): Result<Value, HomeseerLinkFault> {
    const late = !result.ok && result.fault.kind === 'timed-out'
    if (!late && (result.ok || result.fault.kind !== 'aborted')) this.#down = undefined
    // A probe that came to nothing leaves HomeSeer alone again, whatever it asked.
    else if (late && (this.#probing || LINK_HEALTH_REQUEST_NAMES.has(name)))
      this.#down = { fault: result.fault, untilMs: performance.now() + this.#options.restMs }
    return result
  }

  async #tries<Value>(
    exchange: HomeseerHttpExchange<Value>,
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
      // A try that cannot have its whole time is none.
      if (performance.now() + computeBackoffMs(schedule, attempt) + timeoutMs > endMs) return result
      try {
        await wait(computeBackoffMs(schedule, attempt), undefined, { signal })
      } catch {
        return fail({ kind: 'aborted', reached: true })
      }
    }
  }

  async #attempt<Value>(
    exchange: HomeseerHttpExchange<Value>,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    const startedMs = performance.now()
    const body = await this.#send(exchange, signal)
    const reply = body.ok ? decodeHomeseerReply(body.value) : body
    const result: Result<Value, HomeseerLinkFault> = reply.ok ? exchange.decode(reply.value) : reply
    const durationMs = Math.round(performance.now() - startedMs)
    this.#options.onAttempt?.({ request: exchange.name, attempt, durationMs, ...describeRequestOutcome(result) })
    return result
  }

  /** One request on the wire. Reads that met a kept connection in the moment of its closing get a second one. */
  async #send(
    exchange: HomeseerHttpExchange<unknown>,
    signal: AbortSignal | undefined,
  ): Promise<Result<Uint8Array, HomeseerLinkFault>> {
    const first = await this.#transmit(exchange, signal)
    if (exchange.effect === 'writes' || !first.stale) return first.body
    return (await this.#transmit(exchange, signal)).body
  }

  #transmit(exchange: HomeseerHttpExchange<unknown>, signal: AbortSignal | undefined): Promise<Transmission> {
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
        // A finished exchange leaves its connection to the next one; any other must not deliver late bytes to it.
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

  #requestOptions(exchange: HomeseerHttpExchange<unknown>): RequestOptions {
    const { http } = exchange
    const query = encodeHttpParameters([...http.query, ...this.#queryCredentials()])
    const length = http.body === undefined ? undefined : Buffer.byteLength(http.body.text)
    return {
      protocol: this.#base.protocol,
      hostname: this.#base.hostname.replaceAll(/^\[|\]$/g, ''),
      port: this.#base.port,
      method: http.method,
      path: `${this.#base.pathname.replace(/\/+$/, '')}${http.path}${query === '' ? '' : `?${query}`}`,
      agent: exchange.effect === 'reads' ? this.#kept : false,
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
  /** A kept connection broke before it answered, which says nothing about HomeSeer. */
  readonly stale: boolean
}

/** The whole body within the limit; `undefined` when the far end hung up in the middle of it. */
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

/** What is safe to log of it. */
export function describeRequestOutcome(
  result: Result<unknown, HomeseerLinkFault>,
): Pick<RequestAttemptNote, 'outcome' | 'code'> {
  if (result.ok) return { outcome: 'ok' }
  const { fault } = result
  return fault.kind === 'unreachable' ? { outcome: fault.kind, code: fault.code } : { outcome: fault.kind }
}
