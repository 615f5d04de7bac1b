/**
 * NATS link: this node's one connection to NATS. It exists for as long as the node runs; its users can ask whether it
 * is up, and are notified when that changes.
 */
import { connect } from '@nats-io/transport-node'
import type { Auth, Msg, NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { readErrorMessage } from '../../core/thrown-error.ts'
import { runOrUndefined } from '../../toolbox/time-limit.ts'
import type { NodeIdentity } from '../identity/node-key.ts'
import { signServerNonce, encodeUserNkey } from './nkey.ts'
import { redactServerAddress } from './server-address-redaction.ts'

export interface NatsLinkOptions {
  readonly servers: readonly string[]
  readonly useNkey: boolean
  readonly identity: NodeIdentity
  readonly name: string
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
}

export interface NatsLinkListener {
  /** Called for the first connection and after each reconnect. */
  readonly onUp: (connection: NatsConnection) => void
  readonly onDown: () => void
}

const RECONNECT_MS = 250
const PING_MS = 5_000
/** The limit of servers that announce none. */
const DEFAULT_MAX_PAYLOAD = 1_048_576

export class NatsLink {
  readonly #options: NatsLinkOptions
  /** The servers' addresses for the log. */
  readonly #shown: readonly string[]
  readonly #events: NatsLinkListener
  /** Subjects with their handlers, independent of the present connection. */
  readonly #subscriptions = new Map<string, (message: Msg) => void>()
  #connection: NatsConnection | undefined
  #isUp = false
  #isClosed = false
  #downSinceMs: number
  /**
   * The reason why it is down, as it was last logged: connecting is tried every second, and each reason is logged once.
   */
  #loggedReason: string | undefined

  constructor(options: NatsLinkOptions, events: NatsLinkListener) {
    this.#options = options
    this.#shown = options.servers.map(redactServerAddress)
    this.#events = events
    this.#downSinceMs = options.clock.now()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Since when it is down; `undefined` while it is up. */
  get downSinceMs(): number | undefined {
    return this.#isUp ? undefined : this.#downSinceMs
  }

  /** The connection; `undefined` while it is down. */
  get connection(): NatsConnection | undefined {
    return this.#isUp ? this.#connection : undefined
  }

  /** The largest message that the server accepts, in bytes. */
  get maxPayload(): number {
    return this.connection?.info?.max_payload ?? DEFAULT_MAX_PAYLOAD
  }

  /** Starts connecting. If no server answers, it keeps trying for as long as it takes. */
  start(): void {
    void this.#connect()
  }

  /**
   * Subscribes for as long as the node runs: the client restores the subscription after reconnects, and a new
   * connection gets it from the start.
   */
  subscribe(subject: string, listener: (message: Msg) => void): void {
    this.#subscriptions.set(subject, listener)
    if (this.#connection?.isClosed() === false) this.#listen(this.#connection, subject, listener)
  }

  /** While the connection is down, the client keeps the message and sends it after a reconnect. */
  publish(subject: string, payload: Uint8Array | string): void {
    if (this.#connection?.isClosed() === false) this.#connection.publish(subject, payload)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isUp = false
    const connection = this.#connection
    if (connection === undefined) return
    // Says what is still to be said; a server that is gone cannot keep us from stopping.
    await runOrUndefined(500, () => connection.flush())
    await connection.close()
  }

  async #connect(): Promise<void> {
    const { servers, useNkey, identity, name, logger } = this.#options
    while (!this.#isClosed) {
      try {
        const connection = await connect({
          servers: [...servers],
          name: `hearthbus ${name}`,
          maxReconnectAttempts: -1,
          reconnectTimeWait: RECONNECT_MS,
          reconnectJitter: RECONNECT_MS,
          pingInterval: PING_MS,
          maxPingOut: 2,
          timeout: 5_000,
          ...(useNkey ? { authenticator: (nonce?: string) => this.#authenticate(identity, nonce) } : {}),
        })
        this.#connection = connection
        if (this.#isClosed) {
          await connection.close()
          return
        }
        // The client gives up a connection for good when the server refuses its credentials after a reconnect, so a new
        // one is made.
        for (const [subject, listener] of this.#subscriptions) this.#listen(connection, subject, listener)
        this.#up(connection)
        await this.#watch(connection)
      } catch (error) {
        const why = readErrorMessage(error)
        if (this.#loggedReason !== why)
          logger.warn({ reason: why, servers: this.#shown }, 'NATS cannot be reached; it is tried until it can be')
        this.#loggedReason = why
      }
      this.#down()
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS * 4).unref())
    }
  }

  #listen(connection: NatsConnection, subject: string, listener: (message: Msg) => void): void {
    connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message)
        else this.#options.logger.warn({ err: error, subject }, 'NATS refuses a subscription')
      },
    })
  }

  /** Runs until the connection is closed for good. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.#down()
      if (status.type === 'reconnect') this.#up(connection)
      if (status.type === 'error') this.#options.logger.warn({ err: status.error }, 'NATS reports an error')
    }
  }

  #authenticate(identity: NodeIdentity, nonce: string | undefined): Auth {
    const sig = nonce === undefined ? undefined : signServerNonce(identity, nonce)
    if (sig === undefined) {
      this.#options.logger.error({}, 'the NATS server asks for a signature of something that is no nonce: refused')
      return { nkey: encodeUserNkey(identity.publicKey), sig: '' }
    }
    return { nkey: encodeUserNkey(identity.publicKey), sig }
  }

  #up(connection: NatsConnection): void {
    if (this.#isUp || this.#isClosed) return
    this.#isUp = true
    if (this.#loggedReason !== undefined) this.#options.logger.info({ servers: this.#shown }, 'NATS is reachable again')
    this.#loggedReason = undefined
    this.#events.onUp(connection)
  }

  #down(): void {
    if (!this.#isUp) return
    this.#isUp = false
    if (this.#isClosed) return
    const { clock, logger } = this.#options
    this.#downSinceMs = clock.now()
    this.#loggedReason = 'lost'
    logger.warn({ servers: this.#shown }, 'the connection to NATS is lost; it is tried until it is back')
    this.#events.onDown()
  }
}
