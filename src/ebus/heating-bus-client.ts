/**
 * Heating bus: one bus with all its activities. It listens, searches devices, reads values, and sends for the tools.
 *
 *   events ─▶ installation          poller ─▶ scheduler ─▶ bus          tools ─▶ read · send · exclusively
 *
 * Starting it does not wait: connecting to an absent adapter is repeated until it succeeds.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { EbusConnection, EbusSendFault, EbusRequest, EbusStatus } from './adapter/ebus-connection.ts'
import type { AdapterInfo } from './adapter/adapter-info.ts'
import { adviseOnBusConnection } from './bus-advice.ts'
import type { SharedPortClientAcceptor } from './adapter/shared-port-access.ts'
import type { ChangedInstallationPart } from './heating-installation.ts'
import { HeatingInstallation } from './heating-installation.ts'
import type { HeatingInstallationOptions } from './heating-installation.ts'
import type { BusEventContext } from './observe/bus-observer.ts'
import { BusPoller } from './bus-poller.ts'
import type { DiscoveryMode } from './registry/discovery.ts'
import type { HeatingPlaneName } from './semantic/planes.ts'
import type { RegisterReadKey } from './semantic/read-key.ts'
import { encodeReadRequest } from './semantic/read-key.ts'
import { extractAnswerValue, interpretTelegram } from './semantic/telegram-meaning.ts'
import type { PlannedRead } from './semantic/read-plan.ts'
import type { RegisterReadFault, RegisterReadOptions, RegisterReadAnswer } from './semantic/register-reader.ts'
import { RegisterReader } from './semantic/register-reader.ts'
import { listResidentSettings } from './semantic/resident-settings.ts'
import type { RegisterValueStore } from './register-value-store.ts'
import { createTelegramExchange } from './wire/telegram.ts'
import { DefinedMessageReader } from './defined-message-reader.ts'
import type { HeatingBusSendOptions } from './defined-message-reader.ts'

export interface HeatingBusOptions {
  readonly id: string
  /** Contacts the adapter; called by `start`. */
  readonly open: () => EbusConnection
  /** The adapter as the owner configured it, for advice. */
  readonly adapter: string
  readonly readOnly: boolean
  readonly discovery: DiscoveryMode
  readonly installation: Omit<HeatingInstallationOptions, 'nowMs'>
  readonly clock: Clock
  readonly logger: Logger
  /** The values of the last run; those of this one are stored there as well. */
  readonly values: RegisterValueStore | undefined
  readonly announce: (change: ChangedInstallationPart | 'settings') => void
}

const TICK_MS = 1_000
const COMPACT_EVERY_TICKS = 60
const SAVE_EVERY_TICKS = 600
/** Connecting takes a moment, and so does the first symbol. */
const AWAY_AFTER_TICKS = 3
/** A busy bus has some ten events per second. */
const EVENTS_A_TURN = 8
const TOOL_READS_KEPT = 256
const TOOL_READS_MS = 900_000

export class HeatingBusClient {
  readonly id: string
  readonly adapter: string
  readonly readOnly: boolean
  readonly installation: HeatingInstallation
  /** Messages of definition files. */
  readonly messages: DefinedMessageReader
  readonly #options: HeatingBusOptions
  #bus: EbusConnection | undefined
  readonly #scheduler: RegisterReader
  readonly #poller: BusPoller
  readonly #stopping = new AbortController()
  /** When tools last read which keys. */
  readonly #toolReads = new Map<RegisterReadKey, number>()
  /** What was last announced of each plane. */
  readonly #shown = new Map<HeatingPlaneName | 'settings', string>()
  #running: Promise<unknown> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #ticks = 0
  #saved = false
  /** The number of ticks without adapter or signal. */
  #away = 0

  constructor(options: HeatingBusOptions) {
    const { clock } = options
    this.id = options.id
    this.adapter = options.adapter
    this.readOnly = options.readOnly
    this.#options = options
    this.installation = new HeatingInstallation({ ...options.installation, nowMs: clock.monotonic() })
    this.messages = new DefinedMessageReader({
      ...options,
      installation: this.installation,
      status: () => this.status(),
      send: (request, options) => this.send(request, options),
    })
    this.#scheduler = new RegisterReader({
      shadow: this.installation.shadow,
      fetch: (key, options) => this.#fetch(key, options),
      learn: (key, payload, how) => this.#learn(key, payload, how),
      pause: (ms) => pause(ms),
      now: clock.now,
      monotonic: clock.monotonic,
    })
    this.#poller = new BusPoller({
      ...options,
      installation: this.installation,
      scheduler: this.#scheduler,
      status: () => this.status(),
      send: (request, options) => this.#bus?.send(request, options),
      afterRead: () => this.#announce(),
    })
  }

  status(): EbusStatus {
    const status = this.#bus?.status() ?? NOT_OPEN
    // If nothing is ever sent, no address is ours.
    return this.readOnly ? { ...status, address: undefined } : status
  }

  info(): AdapterInfo | undefined {
    return this.#bus?.info()
  }

  /** For the shared port; `undefined` if the adapter cannot be shared. */
  get clientAcceptor(): SharedPortClientAcceptor | undefined {
    return this.#bus?.clientAcceptor
  }

  /** Keys that tools have read lately. */
  get toolReads(): ReadonlySet<RegisterReadKey> {
    const sinceMs = this.#options.clock.monotonic() - TOOL_READS_MS
    return new Set([...this.#toolReads].filter(([, atMs]) => atMs >= sinceMs).map(([key]) => key))
  }

  start(): void {
    const { values } = this.#options
    const bus = this.#options.open()
    this.#bus = bus
    if (values !== undefined) {
      this.installation.remember(values.load())
      this.installation.rememberMessages(values.loadMessages())
    }
    const timer = setInterval(() => this.#tick(), TICK_MS)
    this.#stopping.signal.addEventListener('abort', () => clearInterval(timer), { once: true })
    const polling = this.readOnly ? undefined : this.#poller.run(this.#stopping.signal)
    this.#running = Promise.all([this.#listen(bus), polling])
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    await this.#bus?.close()
    await this.#running
    this.installation.observatory.close(this.#options.clock.monotonic())
    await this.#save()
  }

  plan(): readonly PlannedRead[] {
    return this.#poller.plan()
  }

  /** Whether every planned value was read at least once, or no device can be asked. */
  isThrough(): boolean {
    return this.readOnly || this.#poller.isThrough()
  }

  /**
   * For a tool that requests planes: if they are empty, or lack the most important values, these are read now, before
   * the scheduled ones.
   */
  async makeReady(planes: readonly HeatingPlaneName[], signal: AbortSignal): Promise<void> {
    if (this.readOnly) return
    const isEmpty = (plane: HeatingPlaneName): boolean =>
      this.installation.plane(plane, this.#options.clock.now()).data === null
    await this.#poller.readFirst(
      planes,
      () => !planes.some(isEmpty) && this.#poller.hasEssentials(planes),
      AbortSignal.any([signal, this.#stopping.signal]),
    )
    await this.messages.readMapped(planes, AbortSignal.any([signal, this.#stopping.signal]))
  }

  /** For a tool: returns a known value if it is recent enough, else reads it from the bus. */
  async read(
    key: RegisterReadKey,
    options: RegisterReadOptions,
  ): Promise<Result<RegisterReadAnswer, RegisterReadFault>> {
    this.#toolReads.delete(key)
    this.#toolReads.set(key, this.#options.clock.monotonic())
    if (this.#toolReads.size > TOOL_READS_KEPT) this.#toolReads.delete(this.#toolReads.keys().next().value ?? 0)
    return this.#scheduler.read(key, options)
  }

  /** Sends a telegram. Values that it may change are invalid from then on. */
  async send(request: EbusRequest, options: HeatingBusSendOptions): Promise<Result<Uint8Array, RegisterReadFault>> {
    if (this.readOnly) return fail<RegisterReadFault>({ kind: 'listen-only' })
    const sent = (await this.#bus?.send(request, options)) ?? fail<EbusSendFault>({ kind: 'closed', phase: 'queued' })
    const nowMs = this.#options.clock.now()
    // Also without an answer, because it may have been carried out.
    const meaning = interpretTelegram(createTelegramExchange(request))
    if (meaning?.kind === 'write') {
      this.installation.invalidate(meaning.keys)
      for (const key of meaning.keys) this.installation.shadow.confirm(key, nowMs)
    }
    if (sent.ok) return ok(sent.value.response ?? new Uint8Array())
    if (!isOurDoing(sent.fault)) this.installation.observatory.noteSendFault(sent.fault, request.target, nowMs)
    this.#announce()
    return sent
  }

  /** Works that make several changes do not overlap, whoever requested them. */
  exclusively<Value>(work: () => Promise<Value>): Promise<Value> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return mine
  }

  situation(): BusEventContext {
    const { symbols, address, passive } = this.status()
    return { nowMs: this.#options.clock.monotonic(), symbols, address, passive }
  }

  async #listen(bus: EbusConnection): Promise<void> {
    let received = 0
    for await (const event of bus.events()) {
      // Yields between waiting events, which would otherwise be processed without a pause.
      if (++received % EVENTS_A_TURN === 0) await nextTurn()
      try {
        this.installation.handleEvent(event, this.situation())
        this.#announce()
      } catch (error) {
        // An error in one telegram must not stop the processing of later ones.
        this.#options.logger.error(
          { err: error, bus: this.id, kind: event.kind },
          'an event of the bus was not understood',
        )
      }
    }
  }

  #tick(): void {
    this.#ticks++
    const nowMs = this.#options.clock.now()
    this.installation.tick(this.situation(), nowMs)
    this.#reportReachability()
    if (this.#ticks % COMPACT_EVERY_TICKS === 0) this.installation.shadow.compact(nowMs)
    // Saved as soon as everything was read once, in case the power is cut soon after; then periodically.
    const isFirstSave = !this.#saved && this.#ticks % COMPACT_EVERY_TICKS === 0 && this.isThrough()
    if (isFirstSave || this.#ticks % SAVE_EVERY_TICKS === 0) void this.#save()
    void this.messages.poll(this.#ticks)
    this.#announce()
  }

  /** Logged once when adapter or signal are lost or missing at the start, and once when they are back. */
  #reportReachability(): void {
    const { logger, adapter } = this.#options
    const status = this.status()
    const wasReported = this.#away >= AWAY_AFTER_TICKS
    this.#away = status.connected && status.signal ? 0 : this.#away + 1
    if (wasReported && this.#away === 0) logger.info({ bus: this.id, adapter }, 'the eBUS can be heard again')
    if (this.#away === AWAY_AFTER_TICKS)
      logger.warn({ bus: this.id, adapter }, adviseOnBusConnection(status, adapter) ?? 'the eBUS cannot be heard')
  }

  /** A changed value need not change what is shown, so only a changed text is announced. */
  #announce(): void {
    const changes = this.installation.takeChanges()
    for (const change of changes) {
      if (change === 'bus' || change === 'devices' || change === 'messages') this.#options.announce(change)
      else this.#announceIfNew(change, this.installation.plane(change, this.#options.clock.now()).data)
    }
    // Settings are shown in these planes as well, beside other values.
    if (changes.has('zones') || changes.has('dhw') || changes.has('system'))
      this.#announceIfNew('settings', listResidentSettings(this.installation))
  }

  #announceIfNew(change: HeatingPlaneName | 'settings', data: unknown): void {
    const shown = JSON.stringify(data)
    if (shown === this.#shown.get(change)) return
    this.#shown.set(change, shown)
    this.#options.announce(change)
  }

  async #fetch(
    key: RegisterReadKey,
    { deadlineMs, caller = 'tool', signal }: Pick<RegisterReadOptions, 'deadlineMs' | 'caller' | 'signal'>,
  ): Promise<Result<Uint8Array, RegisterReadFault>> {
    const request = encodeReadRequest(key, this.installation.topology.regulator?.address)
    const options = { deadlineMs, caller, repeatable: true, ...(signal === undefined ? {} : { signal }) }
    return this.send(request, options)
  }

  #learn(
    key: RegisterReadKey,
    payload: Uint8Array,
    how: { readonly source: RegisterReadOptions['source']; readonly requestedAt: number },
  ): boolean {
    const { clock } = this.#options
    return this.installation.learn(key, extractAnswerValue(key, payload), {
      ...how,
      atMs: clock.now(),
      nowMs: clock.monotonic(),
    })
  }

  async #save(): Promise<void> {
    this.#saved = true
    try {
      const { shadow, definitions } = this.installation
      await this.#options.values?.save(shadow.entries(), definitions?.toRemember() ?? [])
    } catch (error) {
      this.#options.logger.warn({ err: error, bus: this.id }, 'the known state of the heating could not be stored')
    }
  }
}

/** The status before `start`. */
const NOT_OPEN: EbusStatus = {
  transport: 'enh',
  connected: false,
  signal: false,
  source: 'listening',
  address: undefined,
  passive: 'none',
  queued: 0,
  symbols: 0,
  reconnects: 0,
  initiators: [],
}

/** The request was cancelled, or the bus is being closed: this is not a problem of the bus. */
function isOurDoing({ kind }: EbusSendFault): boolean {
  return kind === 'cancelled' || kind === 'closed'
}
