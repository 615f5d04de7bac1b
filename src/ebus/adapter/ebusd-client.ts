/**
 * ebusd client: a bus behind the owner's ebusd, reached through its text port.
 *
 *   command connection ─ hex … ▸ answer, one at a time
 *   watch connection   ─ direct ▸ every telegram as it passes; where that is refused, grab ▸ what was counted since
 *
 * ebusd arbitrates, repeats and acknowledges; this client handles order, deadlines and the passive view.
 */
import type { BackoffSchedule } from '../../core/backoff.ts'
import { toHex } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import {
  dequeueFromFairQueue,
  drainFairQueue,
  enqueueInFairQueue,
  createFairQueue,
  removeFromFairQueue,
} from '../../core/fair-queue.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { encodeCommandWithoutCrc } from '../wire/telegram.ts'
import { BusEventFanOut } from './bus-event-fan-out.ts'
import type {
  EbusConnection,
  EbusEvent,
  EbusSendFault,
  EbusRequest,
  EbusStatus,
  SendInterruption,
  EbusReply,
  SendOptions,
  SendPhase,
} from './ebus-connection.ts'
import {
  formatHexCommand,
  parseDirectLine,
  parseGrabLine,
  parseHexAnswer,
  isAnswerToOtherRequest,
  isEbusdSignalAcquired,
} from './ebusd-text.ts'
import { createTcpTransport } from './tcp-transport.ts'
import { EbusdLineConnection } from './ebusd-text-client.ts'

export interface EbusdBusOptions {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly source: number | 'auto'
  readonly queueCapacity: number
  readonly backoff: BackoffSchedule
  readonly clock: Clock
  readonly random: () => number
}

interface Command {
  readonly line: string
  /** All lines of the answer, or why there is none. */
  readonly answer: (lines: Result<readonly string[], EbusSendFault>) => void
}

const STATE_EVERY_MS = 10_000
const GRAB_EVERY_MS = 2_000
/** ebusd tries a dozen times before it gives up; after this long it has dropped the request. */
const MAX_ANSWER_MS = 30_000
/** Our own telegrams come back on the watch connection within this time. */
const ECHO_MS = 5_000
const MAX_GRABBED = 4_096
/** A telegram is one line, and ebusd's state has a few. */
const MAX_ANSWER_LINES = 256
const MAX_ANSWER_LENGTH = 65_536
/** ebusd's default address. */
const EBUSD_ADDRESS = 0x31

export class EbusdBus implements EbusConnection {
  readonly id: string
  readonly clientAcceptor = undefined
  readonly #options: EbusdBusOptions
  readonly #events: BusEventFanOut
  readonly #queue
  readonly #commands: EbusdLineConnection
  readonly #watch: EbusdLineConnection
  readonly #timers: NodeJS.Timeout[]
  readonly #initiators = new Set<number>()
  /** The last result of the grab, by telegram; `undefined` until there is one to compare with. */
  #grabbed: ReadonlyMap<string, number> | undefined
  /** The listing that is being read. */
  #listing = new Map<string, number>()
  /** Telegrams that we sent lately, and until when their echo may come. */
  readonly #echoes = new Map<string, number>()
  #active: { readonly command: Command; readonly lines: string[]; length: number; readonly sinceMs: number } | undefined
  #watching: 'direct' | 'grab' = 'direct'
  #signal = false
  #hasAnswered = false
  /** ebusd has refused to send; only a restart of ebusd changes that. */
  #forbidden = false
  #closed = false
  #downReason = 'not connected yet'

  constructor(options: EbusdBusOptions) {
    this.id = options.id
    this.#options = options
    this.#events = new BusEventFanOut(options.clock)
    this.#queue = createFairQueue<Command>(options.queueCapacity)
    const shared = { ...options, transport: createTcpTransport(options) }
    this.#commands = new EbusdLineConnection({
      ...shared,
      onUp: () => this.#onUp(),
      onDown: (reason) => this.#onDown(reason),
      onLine: (line) => this.#onAnswerLine(line),
    })
    this.#watch = new EbusdLineConnection({
      ...shared,
      onUp: () => this.#onWatchUp(),
      onDown: () => undefined,
      onLine: (line) => this.#onWatchLine(line),
    })
    this.#timers = [
      setInterval(() => this.#requestState(), STATE_EVERY_MS),
      setInterval(() => this.#requestGrab(), GRAB_EVERY_MS),
    ]
  }

  send(request: EbusRequest, options: SendOptions): Promise<Result<EbusReply, EbusSendFault>> {
    if (this.#closed) return Promise.resolve(fail({ kind: 'closed', phase: 'queued' }))
    if (options.signal?.aborted === true) return Promise.resolve(fail({ kind: 'cancelled', phase: 'queued' }))
    if (!this.#commands.connected)
      return Promise.resolve(fail({ kind: 'disconnected', reason: this.#downReason, phase: 'queued' }))
    if (this.#forbidden) return Promise.resolve(fail({ kind: 'no-source', state: 'forbidden' }))
    const { promise, resolve } = Promise.withResolvers<Result<EbusReply, EbusSendFault>>()
    const { deadlineMs, signal, repeatable = false } = options
    const source = this.#options.source === 'auto' ? undefined : this.#options.source
    const telegram = { ...request, source: source ?? EBUSD_ADDRESS }
    const finish = (result: Result<EbusReply, EbusSendFault>): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const command: Command = {
      line: formatHexCommand(request, source),
      answer: (lines) => {
        if (!lines.ok) return finish(lines)
        const read = parseHexAnswer(lines.value, { target: request.target, repeatable })
        if (!read.ok) {
          this.#forbidden ||= read.fault.kind === 'no-source'
          return finish(read)
        }
        if (read.value !== undefined && isAnswerToOtherRequest(request, read.value))
          return finish(fail({ kind: 'answer-garbled' }))
        this.#publishOwn({ telegram, response: read.value, commandRepeats: 0, responseRepeats: 0 })
        finish(ok({ telegram, response: read.value }))
      },
    }
    // ebusd cannot be interrupted: the answer to an abandoned request is read and dropped.
    const giveUp = (fault: EbusSendFault): void => {
      removeFromFairQueue(this.#queue, command)
      finish(fail(fault))
    }
    const phase = (): SendPhase => (this.#active?.command === command ? 'talking' : 'queued')
    const onAbort = (): void => giveUp({ kind: 'cancelled', phase: phase() })
    const timer = setTimeout(() => giveUp({ kind: 'timed-out', afterMs: deadlineMs, phase: phase() }), deadlineMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#enqueue(options.caller ?? '', command)
    this.#pump()
    return promise
  }

  events(): AsyncIterableIterator<EbusEvent> & Disposable {
    return this.#events.subscribe()
  }

  info(): undefined {
    return undefined
  }

  status(): EbusStatus {
    return {
      transport: 'ebusd-tcp',
      connected: this.#commands.connected,
      refusal: this.#commands.refusal,
      signal: this.#signal,
      unanswered: this.#commands.connected && !this.#hasAnswered,
      source: this.#forbidden ? 'forbidden' : 'admitted',
      address: this.#options.source === 'auto' ? undefined : this.#options.source,
      passive: this.#watch.connected ? 'telegrams' : 'none',
      queued: this.#queue.size,
      symbols: 0,
      reconnects: this.#commands.reconnects,
      initiators: [...this.#initiators],
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#failAll({ kind: 'closed' })
    await Promise.all([this.#commands.close(), this.#watch.close()])
    this.#events.end()
  }

  #onUp(): void {
    this.#forbidden = false
    this.#events.emit({ kind: 'connected' })
    this.#requestState()
  }

  #onDown(reason: string): void {
    this.#downReason = reason
    this.#setSignal(false)
    this.#failAll({ kind: 'disconnected', reason })
    this.#events.emit({ kind: 'disconnected', reason })
  }

  #failAll(interruption: SendInterruption): void {
    const active = this.#active?.command
    this.#active = undefined
    active?.answer(fail({ ...interruption, phase: 'talking' }))
    for (const command of drainFairQueue(this.#queue)) command.answer(fail({ ...interruption, phase: 'queued' }))
  }

  #pump(): void {
    if (this.#active !== undefined || !this.#commands.connected) return
    const command = dequeueFromFairQueue(this.#queue)
    if (command === undefined) return
    this.#active = { command, lines: [], length: 0, sinceMs: this.#options.clock.monotonic() }
    this.#commands.writeLine(command.line)
  }

  /** An empty line ends an answer. */
  #onAnswerLine(line: string): void {
    const active = this.#active
    if (active === undefined) return
    if (line !== '') {
      active.lines.push(line)
      active.length += line.length
      // This is not an answer to our request, and its end cannot be recognised.
      if (active.lines.length > MAX_ANSWER_LINES || active.length > MAX_ANSWER_LENGTH) this.#commands.drop()
      return
    }
    this.#active = undefined
    active.command.answer(ok(active.lines))
    this.#pump()
  }

  #requestState(): void {
    const active = this.#active
    if (active !== undefined && this.#options.clock.monotonic() - active.sinceMs > MAX_ANSWER_MS) this.#commands.drop()
    if (!this.#commands.connected) return
    this.#enqueue('state', {
      line: 'state',
      answer: (lines) => {
        // The request was not sent, so nothing new is known.
        if (!lines.ok && lines.fault.kind === 'queue-full') return
        this.#hasAnswered ||= lines.ok
        this.#setSignal(lines.ok && isEbusdSignalAcquired(lines.value))
      },
    })
    this.#pump()
  }

  #enqueue(caller: string, command: Command): void {
    const { capacity } = this.#queue
    enqueueInFairQueue(this.#queue, caller, command)?.answer(fail({ kind: 'queue-full', capacity }))
  }

  #setSignal(present: boolean): void {
    if (this.#signal === present) return
    this.#signal = present
    this.#events.emit({ kind: 'signal', present })
  }

  #requestGrab(): void {
    if (this.#watching === 'grab') this.#watch.writeLine('grab result all')
    const nowMs = this.#options.clock.monotonic()
    for (const [telegram, untilMs] of this.#echoes) if (untilMs < nowMs) this.#echoes.delete(telegram)
  }

  #onWatchUp(): void {
    this.#grabbed = undefined
    this.#listing = new Map()
    this.#watch.writeLine(this.#watching)
  }

  #onWatchLine(line: string): void {
    if (line.startsWith('ERR') && this.#watching === 'direct') {
      this.#watching = 'grab'
      this.#watch.writeLine('grab')
      return
    }
    if (this.#watching === 'direct') {
      const exchange = parseDirectLine(line)
      if (exchange !== undefined) this.#publishForeign(exchange)
      return
    }
    if (line === '') this.#endListing()
    const grabbed = parseGrabLine(line)
    if (grabbed === undefined || this.#listing.size >= MAX_GRABBED) return
    const key = keyOf(grabbed.exchange)
    this.#listing.set(key, grabbed.count)
    // The first listing has everything since ebusd's start, some of it days old, so none of it is an event.
    if (this.#grabbed === undefined) return
    // The telegram occurred since the last listing; how often does not matter.
    if (this.#grabbed.get(key) !== grabbed.count) this.#publishForeign(grabbed.exchange)
  }

  /** Other answers end with an empty line, too, but contain no listing. */
  #endListing(): void {
    if (this.#listing.size === 0) return
    this.#grabbed = this.#listing
    this.#listing = new Map()
  }

  #publishOwn(exchange: TelegramExchange): void {
    this.#echoes.set(keyOf(exchange), this.#options.clock.monotonic() + ECHO_MS)
    this.#events.emit({ kind: 'exchange', exchange, own: true })
  }

  #publishForeign(exchange: TelegramExchange): void {
    if (this.#echoes.delete(keyOf(exchange))) return
    this.#initiators.add(exchange.telegram.source)
    this.#events.emit({ kind: 'exchange', exchange, own: false })
  }
}

function keyOf({ telegram, response }: TelegramExchange): string {
  return `${toHex(encodeCommandWithoutCrc(telegram))}/${response === undefined ? '' : toHex(response)}`
}
