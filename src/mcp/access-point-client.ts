/**
 * Access point client: keeps one connection to each access point of a voice backend, over which that backend is the MCP
 * client and this node the server.
 *
 *   dial ──open──▶ serving ──closed──▶ wait (1 s doubling to 60 s, with jitter; from the start again once `initialize`
 *    ▲                                  │     was served) ──▶ dial
 *    └──────────────────────────────────┘     refused (1008, 4xx): waits for a quarter of an hour, and says so
 *
 * There is never more than one connection for an entry: a backend that sees two forgets the newer one. Its address
 * holds a token, so neither the address nor an error with it reaches a log. A backend that sends without end, or reads
 * nothing of what it is sent, is disconnected.
 */
import { setTimeout as rest } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Service, ServiceHealth } from '../bus/capability.ts'
import { computeBackoffMs } from '../core/backoff.ts'
import type { BackoffSchedule } from '../core/backoff.ts'
import type { Logger } from '../core/logger.ts'
import { createFullBucket, takeToken } from '../toolbox/token-bucket.ts'
import type { TokenRate } from '../toolbox/token-bucket.ts'
import { LATE_ANSWER_MARKER } from './access-point-calls.ts'
import { openAccessPointSession } from './access-point-session.ts'
import type { AccessPointSession, AccessPointSessionOptions } from './access-point-session.ts'

export interface VoiceBackendAccessPoint {
  readonly name: string
  /** Contains its token. */
  readonly url: string
  readonly session: Omit<AccessPointSessionOptions, 'waiting'>
}

export interface RunningAccessPoints {
  /** The state of the connections, for status, doctor, console and metrics. */
  readonly reporter: Pick<Service, 'name' | 'health'>
  /** Tools were added or removed: a backend that read another list is reconnected, since it reads the list once. */
  readonly listChanged: () => void
  readonly stop: () => Promise<void>
}

type State = 'connecting' | 'connected' | 'waiting' | 'refused'

interface Pace {
  readonly backoff: BackoffSchedule
  readonly refusedMs: number
  /** How long to wait between two connections, so that the backend has forgotten the earlier one. */
  readonly againMs: number
  readonly pingMs: number
  readonly answerMs: number
}

const PACE: Pace = {
  backoff: { firstMs: 1_000, maxMs: 60_000, factor: 2 },
  refusedMs: 900_000,
  againMs: 2_000,
  pingMs: 30_000,
  answerMs: 8_000,
}
const HANDSHAKE_MS = 15_000
const MAX_FRAME_BYTES = 1_048_576
const POLICY_VIOLATION = 1_008
/** The limit for frames of any kind; a conversation has a few per second. */
const FRAME_RATE_LIMIT: TokenRate = { tokens: 100, perMs: 1_000, burst: 400 }
const MAX_UNSENT_BYTES = 1_048_576
/** How long a backend may take to answer a close frame; firmware and several servers never answer it. */
const CLOSE_MS = 1_000

export function startAccessPoints(
  points: readonly VoiceBackendAccessPoint[],
  logger: Logger,
  pace = PACE,
): RunningAccessPoints {
  const clients = points.map((point) => new AccessPointClient(point, logger, pace))
  for (const client of clients) void client.run()
  return {
    reporter: { name: 'access-points', health: () => healthOf(clients) },
    listChanged: () => {
      for (const client of clients) client.renewIfStale()
    },
    stop: async () => {
      await Promise.all(clients.map((client) => client.stop()))
    },
  }
}

class AccessPointClient {
  readonly point: VoiceBackendAccessPoint
  readonly #logger: Logger
  readonly #pace: Pace
  readonly #stopped = new AbortController()
  #socket: WebSocket | undefined
  #session: AccessPointSession | undefined
  #ended: Promise<void> = Promise.resolve()
  #isRenewalDue = false
  state: State = 'connecting'
  /** Why it is not connected, without the address. */
  trouble: string | undefined
  attempts = 0
  connectedSince: Date | undefined

  constructor(point: VoiceBackendAccessPoint, logger: Logger, pace: Pace) {
    this.point = point
    this.#logger = logger
    this.#pace = pace
  }

  run(): Promise<void> {
    this.#ended = this.#keepConnected()
    return this.#ended
  }

  /** Closes the connection, unless a call is under way on it; the next one follows. */
  renewIfStale(): void {
    const session = this.#session
    this.#isRenewalDue = session !== undefined && session.callsUnderWay() > 0
    if (!this.#isRenewalDue && session?.hasStaleList() === true) this.#close(1_000)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#close(1_001)
    await this.#ended
  }

  #close(code: number): void {
    const socket = this.#socket
    socket?.close(code)
    setTimeout(() => socket?.terminate(), CLOSE_MS).unref()
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      this.state = 'connecting'
      const end = await this.#connectOnce()
      if (signal.aborted) return
      this.connectedSince = undefined
      if (end.served) this.attempts = 0
      const waitMs = end.refused
        ? this.#pace.refusedMs
        : this.#pace.againMs + computeBackoffMs(this.#pace.backoff, this.attempts++)
      this.state = end.refused ? 'refused' : 'waiting'
      this.trouble = end.why
      this.#logger.warn({ accessPoint: this.point.name, why: end.why }, 'the connection to an access point ended')
      await rest(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Resolves when the connection has ended, or could not be opened. */
  #connectOnce(): Promise<{ readonly served: boolean; readonly refused: boolean; readonly why: string }> {
    const { promise, resolve } = Promise.withResolvers<{ served: boolean; refused: boolean; why: string }>()
    const patience = (): Promise<typeof LATE_ANSWER_MARKER> =>
      rest(this.#pace.answerMs, LATE_ANSWER_MARKER, { ref: false })
    const waiting = { patience, nowMs: () => performance.now() }
    const session = openAccessPointSession({ ...this.point.session, waiting })
    const socket = new WebSocket(this.point.url, {
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
    })
    this.#socket = socket
    this.#session = session
    let refused = false
    let why = ''
    socket.once('open', () => {
      this.state = 'connected'
      this.trouble = undefined
      this.connectedSince = new Date()
    })
    socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      refused = statusCode >= 400 && statusCode < 500
      why = `it answered ${statusCode}`
      socket.terminate()
    })
    // The message of an error may contain the address, and the address contains the token.
    socket.on('error', (error: NodeJS.ErrnoException) => (why ||= `no connection (${error.code ?? 'error'})`))
    let bucket = createFullBucket(FRAME_RATE_LIMIT, performance.now())
    const isWithinRate = (): boolean => {
      const rest = takeToken(bucket, FRAME_RATE_LIMIT, performance.now())
      if (rest !== undefined) bucket = rest
      else {
        why ||= 'it sent too many frames'
        socket.terminate()
      }
      return rest !== undefined
    }
    socket.on('ping', isWithinRate)
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isWithinRate() && !isBinary) void this.#serve(session, socket, data.toString())
    })
    const beat = this.#keepAlive(socket)
    socket.once('close', (code) => {
      clearInterval(beat)
      session.close()
      refused ||= code === POLICY_VIOLATION
      const closed = code === POLICY_VIOLATION ? 'it does not accept the token' : `it closed the connection (${code})`
      resolve({ served: session.isInitialized(), refused, why: why || closed })
    })
    return promise
  }

  async #serve(session: AccessPointSession, socket: WebSocket, text: string): Promise<void> {
    const reply = await session.handle(text)
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.terminate()
    else if (reply !== undefined && socket.readyState === WebSocket.OPEN) socket.send(reply)
    // Changes that happened during a call are published after it.
    if (this.#isRenewalDue && this.#session === session) this.renewIfStale()
  }

  /** A backend that has silently disconnected is noticed after two pings. */
  #keepAlive(socket: WebSocket): NodeJS.Timeout {
    let isAlive = true
    socket.on('pong', () => (isAlive = true))
    socket.on('message', () => (isAlive = true))
    const beat = setInterval(() => {
      if (!isAlive) return socket.terminate()
      isAlive = false
      if (socket.readyState === WebSocket.OPEN) socket.ping()
    }, this.#pace.pingMs)
    beat.unref()
    return beat
  }
}

function healthOf(clients: readonly AccessPointClient[]): ServiceHealth {
  const away = clients.filter(({ state }) => state !== 'connected')
  const details = Object.fromEntries(
    clients.map(({ point, state, trouble, connectedSince }) => [
      point.name,
      {
        state,
        ...(trouble === undefined ? {} : { trouble }),
        ...(connectedSince === undefined ? {} : { connected_since: connectedSince.toISOString() }),
      },
    ]),
  )
  const refusedNames = clients.filter(({ state }) => state === 'refused').map(({ point }) => point.name)
  const advice =
    refusedNames.length === 0
      ? {}
      : { advice: `The backend refuses ${refusedNames.join(', ')}: look at the token in the environment.` }
  return { status: away.length === 0 ? 'ok' : 'degraded', details: { ...details, ...advice } }
}
