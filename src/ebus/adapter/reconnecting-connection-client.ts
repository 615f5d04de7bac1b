/**
 * Reconnecting connection: a connection to an adapter that is opened again whenever it is lost.
 *
 *   connecting ──▶ served until it ends ──▶ waiting (0.5, 1, 2 … 30 s, jittered) ──▶ connecting
 */
import type { BackoffSchedule } from '../../core/backoff.ts'
import { computeBackoffMs } from '../../core/backoff.ts'
import type { ByteConnection, ByteConnector } from './transport.ts'

export interface ReconnectingConnectionOptions {
  readonly transport: ByteConnector
  readonly backoff: BackoffSchedule
  readonly random: () => number
  /** Consumes the connection until it ends; resolves to whether anything was received on it. */
  readonly serve: (connection: ByteConnection) => Promise<boolean>
  /** Called after every connection, and after every attempt that failed. */
  readonly onDown: (reason: string) => void
}

export class ReconnectingConnection {
  readonly #options: ReconnectingConnectionOptions
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #connection: ByteConnection | undefined
  #connections = 0
  #refusal: string | undefined

  constructor(options: ReconnectingConnectionOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** The system's error code for the last failed attempt; `undefined` after a successful one. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** The number of connections after the first. */
  get reconnects(): number {
    return Math.max(0, this.#connections - 1)
  }

  write(bytes: Uint8Array): void {
    this.#connection?.write(bytes)
  }

  /** Closes the connection; the next one is opened as after any other loss. */
  drop(): void {
    this.#connection?.close()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.drop()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    const { transport, backoff, random, serve, onDown } = this.#options
    for (let attempt = 0; !signal.aborted; attempt++) {
      const connected = await transport.connect(signal)
      this.#refusal = connected.ok ? undefined : connected.fault.code
      if (connected.ok) {
        this.#connections++
        this.#connection = connected.value
        // A connection on which anything was received counts as healthy, however short it was.
        if (await serve(connected.value)) attempt = 0
        this.#connection = undefined
        onDown(connected.value.endReason())
      } else if (!signal.aborted) onDown(connected.fault.reason)
      if (!signal.aborted) await pause(computeBackoffMs(backoff, attempt, random), signal)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
