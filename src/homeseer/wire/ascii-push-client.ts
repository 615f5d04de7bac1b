/**
 * ASCII push client: holds the push connection to port 11000 open, and opens it again when it is lost.
 */
import { connect, type Socket } from 'node:net'
import { computeBackoffMs, RECONNECT_BACKOFF } from '../../core/backoff.ts'
import {
  EMPTY_PARTIAL_ASCII_LINE,
  splitCompleteAsciiLines,
  type AsciiDeviceChange,
  type PartialAsciiLine,
  INITIAL_ASCII_SESSION,
  stepAsciiSession,
  type AsciiSessionEffect,
  type AsciiSessionInput,
  type AsciiSessionState,
} from './ascii.ts'
import type { HomeseerCredentials } from './json-client.ts'

export interface AsciiPushClientOptions {
  readonly host: string
  readonly port: number
  readonly credentials: HomeseerCredentials | undefined
  /** After this silence the far end is pinged. */
  readonly pingMs: number
  /** How long connecting and each answer may take. */
  readonly patienceMs: number
  readonly onChanges: (changes: readonly AsciiDeviceChange[]) => void
  readonly onState: (state: AsciiConnectionState) => void
}

/** `refused`: the login was not accepted, which waiting does not change, so the next try comes late. */
export type AsciiConnectionState =
  | { readonly up: true }
  | { readonly up: false; readonly reason: 'lost' | 'refused' | 'silent' }

export class AsciiPushClient {
  readonly #options: AsciiPushClientOptions
  #socket: Socket | undefined
  #session: AsciiSessionState = INITIAL_ASCII_SESSION
  #rest: PartialAsciiLine = EMPTY_PARTIAL_ASCII_LINE
  #silence: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #failures = 0
  #stopped = false

  constructor(options: AsciiPushClientOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#socket === undefined && !this.#stopped) this.#open()
  }

  /** Final: a stopped client is not started again. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#retry)
    clearTimeout(this.#silence)
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #open(): void {
    const { host, port, credentials } = this.#options
    const socket = connect({ host, port })
    this.#socket = socket
    this.#session = INITIAL_ASCII_SESSION
    this.#rest = EMPTY_PARTIAL_ASCII_LINE
    socket.setEncoding('utf8')
    socket.setKeepAlive(true)
    this.#awaitLines()
    socket.on('connect', () => this.#input({ kind: 'connected', credentials }))
    socket.on('data', (piece: string) => this.#receive(piece))
    // A `close` event follows every error and handles the loss.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#lost(socket, 'lost'))
  }

  #receive(piece: string): void {
    const { lines, rest } = splitCompleteAsciiLines(this.#rest, piece)
    this.#rest = rest
    if (lines.length > 0) this.#input({ kind: 'lines', lines })
  }

  #input(input: AsciiSessionInput): void {
    const { session, effects } = stepAsciiSession(this.#session, input)
    this.#session = session
    this.#awaitLines()
    for (const effect of effects) this.#apply(effect)
  }

  #apply(effect: AsciiSessionEffect): void {
    switch (effect.kind) {
      case 'send':
        this.#socket?.write(effect.text)
        return
      case 'live':
        this.#failures = 0
        this.#options.onState({ up: true })
        return
      case 'changed':
        this.#options.onChanges(effect.changes)
        return
      default:
        if (this.#socket !== undefined) this.#lost(this.#socket, effect.reason)
    }
  }

  #awaitLines(): void {
    clearTimeout(this.#silence)
    if (this.#session.phase === 'over') return
    const waitMs = this.#session.phase === 'live' ? this.#options.pingMs : this.#options.patienceMs
    this.#silence = setTimeout(() => this.#input({ kind: 'silence' }), waitMs)
  }

  /** Handles the loss once per connection, whatever ended it. */
  #lost(socket: Socket, reason: 'lost' | 'refused' | 'silent'): void {
    if (this.#socket !== socket || this.#stopped) return
    this.#socket = undefined
    clearTimeout(this.#silence)
    socket.destroy()
    this.#options.onState({ up: false, reason })
    if (this.#isStopped()) return
    const waitMs = reason === 'refused' ? RECONNECT_BACKOFF.maxMs : computeBackoffMs(RECONNECT_BACKOFF, this.#failures)
    this.#failures++
    this.#retry = setTimeout(() => this.#open(), waitMs)
  }

  /** A listener that hears of the loss may have stopped the client. */
  #isStopped(): boolean {
    return this.#stopped
  }
}
