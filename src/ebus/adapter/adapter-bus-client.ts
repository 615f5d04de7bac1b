/**
 * Adapter bus: a bus behind an adapter that shows every symbol, enhanced or plain.
 *
 *   port events ─┬▶ line ─▶ events for subscribers, source selection
 *                └▶ access ─┬▶ our initiator ◀── queue ◀── send
 *                           └▶ clients of the shared port
 */
import type { BackoffSchedule } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import type { Result } from '../../core/result.ts'
import { fail } from '../../core/result.ts'
import type { BusLineEvent, BusLineDecoderState } from '../wire/bus-line-decoder.ts'
import { STREAM_GAP_SYMBOL, newBusLineDecoder, stepBusLineDecoder } from '../wire/bus-line-decoder.ts'
import { SYN } from '../wire/symbol.ts'
import type { BusAccessState, BusAccessEffect, BusClientId, ExpectedFromTarget } from './bus-access.ts'
import {
  cancelBusRequest,
  resetBusAccess,
  listRecentlyHeardInitiators,
  removeBusClient,
  newBusAccessState,
  handleArbitrationLost,
  handleArbitrationWon,
  handleReceivedSymbol,
  noteInitiator,
  handleClientSymbol,
  addBusClient,
  requestBus,
} from './bus-access.ts'
import { SourceAddressSelector } from './source-address-selector.ts'
import { BusEventFanOut } from './bus-event-fan-out.ts'
import type {
  EbusConnection,
  EbusEvent,
  EbusSendFault,
  EbusRequest,
  EbusStatus,
  EbusReply,
  SendOptions,
  TransportClass,
} from './ebus-connection.ts'
import { AdapterInfoClient } from './adapter-info-client.ts'
import type { AdapterInfo } from './adapter-info.ts'
import { AdapterPortClient } from './adapter-port-client.ts'
import type { AdapterPortEvent, AdapterPortProtocol } from './adapter-port.ts'
import { TelegramSendClient } from './telegram-send-client.ts'
import type { SharedPortClientAcceptor, SharedPortClientNotification, SharedPortAccess } from './shared-port-access.ts'
import type { ByteConnector } from './transport.ts'

export interface AdapterBusOptions {
  readonly id: string
  readonly transportClass: TransportClass
  readonly transport: ByteConnector
  readonly newProtocol: () => AdapterPortProtocol
  readonly source: number | 'auto'
  /** How long to listen before an address is chosen. */
  readonly listenMs: number
  readonly queueCapacity: number
  /** The interval of reading the adapter's temperature and voltages. */
  readonly telemetryMs: number
  readonly backoff: BackoffSchedule
  readonly clock: Clock
  readonly random: () => number
}

const OWN_CLIENT: BusClientId = 0
/** The interval of checks that no symbol triggers: silence, telemetry, the search for an address. */
const TICK_MS = 250
/**
 * ebusd's figures: no SYN for a second means no signal, and after a minute of that a new connection is made. Counted in
 * ticks, not by the clock: if this process is delayed, waiting symbols are read before the next tick.
 */
const SIGNAL_LOST_TICKS = 5
const RECONNECT_TICKS = 240
/** The limit for asking whether any device has an address; no answer means that it is free. */
const PROBE_DEADLINE_MS = 3_000

export class AdapterBus implements EbusConnection, SharedPortClientAcceptor {
  readonly id: string
  readonly clientAcceptor = this
  readonly #options: AdapterBusOptions
  readonly #port: AdapterPortClient
  readonly #sender: TelegramSendClient
  readonly #line: BusLineDecoderState = newBusLineDecoder()
  readonly #access: BusAccessState = newBusAccessState()
  readonly #address: SourceAddressSelector
  readonly #info: AdapterInfoClient
  readonly #events: BusEventFanOut
  readonly #clients = new Map<BusClientId, (news: SharedPortClientNotification) => void>()
  readonly #timer: NodeJS.Timeout
  #signal: 'unknown' | 'present' | 'absent' = 'unknown'
  /** Ticks since the last SYN; the first of them may have come right after it. */
  #silentTicks = 0
  #nextClient = OWN_CLIENT + 1
  #ready = false
  /** The adapter has neither answered INIT nor sent a symbol. */
  #isUnanswered = false
  #closed = false
  #downReason = 'not connected yet'

  constructor(options: AdapterBusOptions) {
    this.id = options.id
    this.#options = options
    this.#events = new BusEventFanOut(options.clock)
    this.#address = new SourceAddressSelector({
      ...options,
      probe: (telegram) => this.#sender.probe(telegram, PROBE_DEADLINE_MS),
      onChange: (state, address) => {
        this.#events.emit({ kind: 'source', state, address })
        this.#sender.pump()
      },
    })
    addBusClient(this.#access, OWN_CLIENT)
    this.#sender = new TelegramSendClient({
      capacity: options.queueCapacity,
      address: () => (this.#ready && this.#signal === 'present' ? this.#address.admitted : undefined),
      excuse: () =>
        this.#address.admitted === undefined ? { kind: 'no-source', state: this.#address.state } : undefined,
      want: (address) => this.#apply(requestBus(this.#access, OWN_CLIENT, address)),
      cancel: () => this.#apply(cancelBusRequest(this.#access, OWN_CLIENT)),
      say: (symbol) => this.#apply(handleClientSymbol(this.#access, OWN_CLIENT, { symbol, expected: undefined })),
    })
    this.#port = new AdapterPortClient({
      ...options,
      onUp: () => this.#onUp(),
      onDown: (reason) => this.#onDown(reason),
      onEvent: (event) => this.#onEvent(event),
    })
    this.#info = new AdapterInfoClient({ ...options, requestInfo: (id) => this.#port.requestInfo(id) })
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  send(request: EbusRequest, options: SendOptions): Promise<Result<EbusReply, EbusSendFault>> {
    const refusal = this.#refusal()
    return refusal === undefined ? this.#sender.send(request, options) : Promise.resolve(fail(refusal))
  }

  events(): AsyncIterableIterator<EbusEvent> & Disposable {
    return this.#events.subscribe()
  }

  info(): AdapterInfo | undefined {
    return this.#ready ? this.#info.info : undefined
  }

  status(): EbusStatus {
    const address = this.#address.admitted
    return {
      transport: this.#options.transportClass,
      connected: this.#port.connected,
      refusal: this.#port.refusal,
      signal: this.#signal === 'present',
      misread: this.#events.misread,
      unanswered: this.#ready && this.#isUnanswered,
      source: this.#address.state,
      address,
      passive: 'symbols',
      queued: this.#sender.queued,
      symbols: this.#line.symbols,
      reconnects: this.#port.reconnects,
      initiators: listRecentlyHeardInitiators(this.#access).filter((initiator) => initiator !== address),
    }
  }

  /** Adds a client that speaks the enhanced protocol to us. */
  share(listen: (news: SharedPortClientNotification) => void): SharedPortAccess {
    const client = this.#nextClient++
    addBusClient(this.#access, client)
    this.#clients.set(client, listen)
    return {
      want: (address) => this.#apply(requestBus(this.#access, client, address)),
      cancel: () => this.#apply(cancelBusRequest(this.#access, client)),
      say: (symbol) =>
        this.#apply(handleClientSymbol(this.#access, client, { symbol, expected: expectedFromTarget(this.#line) })),
      requestInfo: (id, callback) => this.#info.request(id, callback),
      features: () => this.#info.info.features ?? 0,
      leave: () => {
        this.#clients.delete(client)
        this.#apply(removeBusClient(this.#access, client))
      },
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    this.#sender.failAll({ kind: 'closed' })
    await this.#port.close()
    this.#events.end()
  }

  /** Why nothing can be sent at all; `undefined` if waiting may help. */
  #refusal(): EbusSendFault | undefined {
    const phase = 'queued'
    if (this.#closed) return { kind: 'closed', phase }
    if (!this.#port.connected) return { kind: 'disconnected', reason: this.#downReason, phase }
    if (this.#signal === 'absent') return { kind: 'no-signal', phase }
    const { state } = this.#address
    return state === 'none-free' || state === 'not-ours' ? { kind: 'no-source', state } : undefined
  }

  #apply(effects: readonly BusAccessEffect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'start':
          this.#port.start(effect.address)
          break
        case 'cancel-start':
          this.#port.cancelStart()
          break
        case 'send':
          this.#port.send(effect.symbol)
          break
        case 'tell':
          if (effect.client === OWN_CLIENT) this.#sender.handleEvent(effect.event)
          else this.#clients.get(effect.client)?.(effect.event)
          break
      }
    }
  }

  #onUp(): void {
    this.#ready = false
    this.#signal = 'unknown'
    // Reset as if a SYN had been heard, so that a new connection gets time to show a signal.
    this.#silentTicks = 0
    this.#events.emit({ kind: 'connected' })
  }

  #onDown(reason: string): void {
    this.#ready = false
    this.#downReason = reason
    this.#signal = 'unknown'
    this.#startAfresh()
    this.#address.onSilence()
    this.#info.forget()
    this.#sender.failAll({ kind: 'disconnected', reason })
    for (const notify of this.#clients.values()) notify({ kind: 'down' })
    this.#events.emit({ kind: 'disconnected', reason })
  }

  #onEvent(event: AdapterPortEvent): void {
    switch (event.kind) {
      case 'symbol':
        this.#isUnanswered = false
        this.#receive(event.symbol, () => handleReceivedSymbol(this.#access, event.symbol))
        break
      case 'started':
        this.#receive(event.address, () => handleArbitrationWon(this.#access, event.address))
        break
      case 'failed':
        this.#receive(event.winner, () => handleArbitrationLost(this.#access, event.winner))
        break
      case 'ready':
        this.#ready = true
        this.#isUnanswered = event.features === undefined
        this.#meet(event.features)
        break
      case 'reset':
        this.#startAfresh()
        this.#sender.failActive({ kind: 'adapter-reset' })
        this.#meet(event.features)
        for (const notify of this.#clients.values()) notify({ kind: 'reset', features: event.features })
        this.#events.emit({ kind: 'adapter-reset' })
        break
      case 'error':
        this.#events.emit({ kind: 'adapter-error', side: event.side, code: event.code })
        break
      case 'info':
        this.#info.onAnswer(event.id, event.data)
        break
      case 'decode-fault':
        // Symbols in between are missing, so the telegram that was being collected is dropped.
        this.#publish(stepBusLineDecoder(this.#line, STREAM_GAP_SYMBOL), this.#access.owner)
        this.#events.emit({ kind: 'decode-fault', detail: event.detail })
        break
    }
  }

  /** The line decoder comes first: the owner of a telegram is only known until access gets the SYN that ends it. */
  #receive(symbol: number, stepAccess: () => readonly BusAccessEffect[]): void {
    this.#publish(stepBusLineDecoder(this.#line, symbol), this.#access.owner)
    this.#apply(stepAccess())
    if (symbol === SYN) this.#onSyn()
  }

  #publish(event: BusLineEvent | undefined, owner: BusAccessState['owner']): void {
    if (event === undefined) return
    const own = owner === OWN_CLIENT
    if (event.kind === 'broken') {
      this.#events.emit({ ...event, own })
      return
    }
    const { exchange } = event
    // A client of the shared port may use our address: it takes turns with us, so there is no conflict.
    if (owner === undefined) {
      noteInitiator(this.#access, exchange.telegram.source)
      this.#address.onForeign(exchange.telegram)
    }
    this.#events.emit({ kind: 'exchange', exchange, own })
  }

  #onSyn(): void {
    this.#silentTicks = 0
    if (this.#signal === 'present') return
    this.#signal = 'present'
    this.#address.onSignal()
    this.#events.emit({ kind: 'signal', present: true })
    this.#sender.pump()
  }

  #tick(): void {
    this.#port.tick()
    if (!this.#port.connected) return
    this.#watchSignal()
    this.#info.tick()
    if (this.#signal !== 'present' || !this.#ready) return
    this.#address.tick()
    this.#sender.pump()
  }

  #watchSignal(): void {
    this.#silentTicks++
    if (this.#silentTicks >= RECONNECT_TICKS) this.#port.drop()
    if (this.#silentTicks < SIGNAL_LOST_TICKS || this.#signal === 'absent') return
    this.#signal = 'absent'
    this.#startAfresh()
    this.#address.onSilence()
    this.#sender.failAll({ kind: 'no-signal' })
    this.#events.emit({ kind: 'signal', present: false })
  }

  /** Everything that was in progress on the wire is void. */
  #startAfresh(): void {
    this.#publish(stepBusLineDecoder(this.#line, STREAM_GAP_SYMBOL), this.#access.owner)
    resetBusAccess(this.#access)
  }

  #meet(features: number | undefined): void {
    this.#info.meet(features)
    this.#sender.pump()
  }
}

function expectedFromTarget({ phase }: BusLineDecoderState): ExpectedFromTarget {
  return phase === 'command-ack' ? 'acknowledge' : phase === 'response' ? 'answer' : undefined
}
