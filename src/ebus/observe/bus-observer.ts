/**
 * Bus observer: everything that is known about the traffic of one bus, from its events.
 *
 *   event ▸ dedup ▸ ring of messages · periodicity · counters · busy time · warm-up · incidents
 *
 * Every store is bounded, and what it drops is counted. Pure, but for the observatory it is given: time and the state
 * of the bus come with each event.
 */
import type { EbusEvent, EbusSendFault, EbusStatus } from '../adapter/ebus-connection.ts'
import { BusLoadMeter } from './bus-load.ts'
import type { ClassifiedObservation } from './observation-deduplicator.ts'
import { ObservationDeduplicator } from './observation-deduplicator.ts'
import { IncidentLog } from './incident.ts'
import type {
  BrokenTelegramEvent,
  TelegramErrorClass,
  BusObservation,
  TrafficScope,
  TelegramCutOffCause,
  TrafficOutcome,
} from './observation.ts'
import {
  TELEGRAM_ERROR_CLASSES,
  VAILLANT_COMMAND_FAMILIES,
  FRAME_TYPES,
  formatBusAddress,
  toTelegramErrorClass,
  toBrokenTelegramObservation,
  toExchangeObservation,
} from './observation.ts'
import { PeriodicityTable } from './periodicity.ts'
import { RingBuffer } from '../../toolbox/ring-buffer.ts'
import { BoundedCounters } from './bounded-counters.ts'
import { SymbolRateMeter } from './symbol-rate.ts'
import type { PassiveWarmUp, WarmUpInput, WarmUpThresholds } from './passive-warm-up.ts'
import { newPassiveWarmUp, stepPassiveWarmUp } from './passive-warm-up.ts'

/** What the machines need to know beside the event. */
export interface BusEventContext {
  /** Monotonic. */
  readonly nowMs: number
  readonly symbols: number
  readonly address: number | undefined
  readonly passive: EbusStatus['passive']
}

export interface BusObserverOptions {
  /** Monotonic. */
  readonly nowMs: number
  /** Whether the owner allows listening. */
  readonly listens: boolean
  readonly thresholds: WarmUpThresholds
}

export const RECENT_OBSERVATION_CAPACITY = 1_024
/** The number of labels with a counter; further ones are counted together. */
const FRAME_SERIES = 384
const ERROR_SERIES = 128
/** Stands for an address that was not heard, because SYN is never an address. */
const NOBODY = 0xaa

/** Fed by one bus, asked by the tools. */
export class BusObserver {
  readonly messages = new RingBuffer<BusObservation>(RECENT_OBSERVATION_CAPACITY)
  readonly periodicity = new PeriodicityTable()
  readonly incidents = new IncidentLog()
  readonly busy = new BusLoadMeter()
  readonly symbols = new SymbolRateMeter()
  readonly #dedup: ObservationDeduplicator
  readonly #frames = new BoundedCounters(FRAME_SERIES)
  readonly #errors = new BoundedCounters(ERROR_SERIES)
  readonly #repeats = { command: 0, response: 0 }
  /** Telegrams that broke off, by cause. */
  readonly #recoveries = new Map<TrafficOutcome, number>()
  #warmUp: PassiveWarmUp
  /** A telegram that was cut off by silence; the next event says why there was silence. */
  #cutOff: BrokenTelegramEvent | undefined
  #updatedAtMs: number | undefined

  constructor({ nowMs, listens, thresholds }: BusObserverOptions) {
    this.#dedup = new ObservationDeduplicator(nowMs)
    this.#warmUp = newPassiveWarmUp(nowMs, thresholds)
    if (!listens) this.#warm({ kind: 'withdrawn' }, { nowMs, symbols: 0 })
  }

  get warmUp(): PassiveWarmUp {
    return this.#warmUp
  }

  get dedupDegraded(): boolean {
    return this.#dedup.degraded !== undefined
  }

  /** Wall clock of the last telegram or incident; `undefined` before the first. */
  get updatedAtMs(): number | undefined {
    return this.#updatedAtMs
  }

  get repeats(): { readonly command: number; readonly response: number } {
    return this.#repeats
  }

  /** How often the line recovered after a telegram broke off, by cause. */
  get recoveries(): ReadonlyMap<TrafficOutcome, number> {
    return this.#recoveries
  }

  /** The count of labels without a counter of their own. */
  get seriesOverflow(): number {
    return this.#frames.overflow + this.#errors.overflow
  }

  /** The exchanges about which it is certain now whose they are, copies of our own left out. */
  handleEvent(event: EbusEvent, situation: BusEventContext): readonly ClassifiedObservation[] {
    this.#updatedAtMs = event.atMs
    if (this.#cutOff !== undefined) this.#settleCutOff(causeOf(event), situation)
    switch (event.kind) {
      case 'exchange':
        return this.#recordAll(this.#dedup.handleExchange(event, situation.address, situation.nowMs), situation)
      case 'broken':
        if (event.reason === 'silence') this.#cutOff = event
        else this.#recordBroken(event, undefined, situation)
        return NOTHING
      default:
        this.#onHappening(event, situation)
        return NOTHING
    }
  }

  tick(situation: BusEventContext, atMs: number): readonly ClassifiedObservation[] {
    if (this.#cutOff !== undefined) this.#settleCutOff('no_progress', situation)
    if (situation.passive === 'none' && this.#warmUp.endpoint === 'connected')
      this.#warm({ kind: 'unsupported' }, situation)
    else if (situation.passive !== 'none' && this.#warmUp.endpoint === 'unsupported_or_misconfigured')
      this.#warm({ kind: 'connected' }, situation)
    this.#warm({ kind: 'tick' }, situation)
    // With ebusd only whole telegrams are reported, not the symbols between them.
    if (situation.passive === 'symbols' && this.#warmUp.endpoint === 'connected')
      this.symbols.look(situation.nowMs, situation.symbols)
    this.periodicity.sweep(atMs)
    return this.#recordAll(this.#dedup.tick(situation.nowMs), situation)
  }

  /** A telegram of ours that never reached the wire, or that left no trace on it. */
  noteSendFault(fault: EbusSendFault, target: number, atMs: number): void {
    this.#updatedAtMs = atMs
    const errorClass = sendErrorClass(fault)
    if (errorClass !== undefined) this.#countError('active', errorClass)
    const kind = fault.kind === 'refused' ? 'device_refused' : 'send_failed'
    const what = fault.kind === 'ebusd' ? fault.message : fault.kind
    this.incidents.note(kind, `${what} asking ${formatBusAddress(target)}`, atMs)
  }

  close(nowMs: number): void {
    this.#warm({ kind: 'closed' }, { nowMs, symbols: 0 })
    this.busy.end()
    this.symbols.reset()
  }

  /** Largest first. */
  frames(count: number): readonly (Pick<BusObservation, 'scope' | 'family' | 'frameType' | 'source' | 'target'> & {
    readonly count: number
  })[] {
    const address = (value: number): number | undefined => (value === NOBODY ? undefined : value)
    return this.#frames.top(count).map(([label, times]) => ({
      scope: label >> 22 === 1 ? 'active' : 'passive',
      family: VAILLANT_COMMAND_FAMILIES[(label >> 19) & 7] ?? 'other',
      frameType: FRAME_TYPES[(label >> 16) & 7] ?? 'abandoned_partial',
      source: address((label >> 8) & 0xff),
      target: address(label & 0xff),
      count: times,
    }))
  }

  errors(): readonly {
    readonly scope: TrafficScope
    readonly errorClass: TelegramErrorClass
    readonly count: number
  }[] {
    return this.#errors.top(ERROR_SERIES).map(([label, count]) => ({
      scope: label >> 4 === 1 ? 'active' : 'passive',
      errorClass: TELEGRAM_ERROR_CLASSES[label & 0xf] ?? 'abandoned',
      count,
    }))
  }

  #recordAll(
    classified: readonly ClassifiedObservation[],
    situation: BusEventContext,
  ): readonly ClassifiedObservation[] {
    if (classified.length === 1 && classified[0]?.disposition !== 'duplicate') {
      this.#recordExchange(classified[0] as ClassifiedObservation, situation)
      return classified
    }
    const distinct = classified.filter(({ disposition }) => disposition !== 'duplicate')
    for (const each of distinct) this.#recordExchange(each, situation)
    return distinct
  }

  #recordExchange({ event, disposition }: ClassifiedObservation, situation: BusEventContext): void {
    const observation = toExchangeObservation(event, situation.address)
    this.#record(observation)
    this.#repeats.command += event.exchange.commandRepeats
    this.#repeats.response += event.exchange.responseRepeats
    if (disposition === 'own') return
    if (this.#warmUp.state !== 'available') this.#warm({ kind: 'frame', good: true }, situation)
    if (this.#warmUp.state !== 'unavailable') this.periodicity.see(observation, this.#dedup.epoch)
  }

  #recordBroken(event: BrokenTelegramEvent, cause: TelegramCutOffCause | undefined, situation: BusEventContext): void {
    const observation = toBrokenTelegramObservation(event, cause)
    this.#record(observation)
    this.#recoveries.set(observation.outcome, (this.#recoveries.get(observation.outcome) ?? 0) + 1)
    const errorClass = toTelegramErrorClass(observation.outcome)
    if (errorClass !== undefined) this.#countError(observation.scope, errorClass)
    if (!event.own) this.#warm({ kind: 'frame', good: false }, situation)
  }

  #record(observation: BusObservation): void {
    const { scope, family, frameType, source = NOBODY, target = NOBODY } = observation
    this.messages.push(observation)
    this.busy.add(observation.atMs, observation.wireMs)
    const kinds = (VAILLANT_COMMAND_FAMILIES.indexOf(family) << 3) | FRAME_TYPES.indexOf(frameType)
    this.#frames.add((Number(scope === 'active') << 22) | (kinds << 16) | (source << 8) | target)
  }

  #countError(scope: TrafficScope, errorClass: TelegramErrorClass): void {
    this.#errors.add((Number(scope === 'active') << 4) | TELEGRAM_ERROR_CLASSES.indexOf(errorClass))
  }

  #settleCutOff(cause: TelegramCutOffCause, situation: BusEventContext): void {
    const event = this.#cutOff
    this.#cutOff = undefined
    if (event !== undefined) this.#recordBroken(event, cause, situation)
  }

  #onHappening(event: Exclude<EbusEvent, { readonly kind: 'exchange' | 'broken' }>, situation: BusEventContext): void {
    const { atMs } = event
    const { nowMs } = situation
    switch (event.kind) {
      case 'connected':
        this.#dedup.discontinue('epoch_reset', nowMs)
        this.#warm({ kind: 'connected' }, situation)
        // Whole telegrams, without repetitions and SYN, do not add up to the time that the line was used.
        if (situation.passive === 'symbols') this.busy.begin(atMs)
        this.symbols.reset()
        this.incidents.note('connected', 'the adapter is connected', atMs)
        break
      case 'disconnected':
        this.#dedup.discontinue('epoch_reset', nowMs)
        this.#warm({ kind: 'disconnected' }, situation)
        this.busy.end()
        this.symbols.reset()
        this.incidents.note('disconnected', event.reason, atMs)
        break
      case 'signal':
        this.#dedup.discontinue('explicit_discontinuity', nowMs)
        this.#warm({ kind: event.present ? 'signal-back' : 'signal-lost' }, situation)
        if (event.present) this.incidents.note('signal_back', 'SYN is heard', atMs)
        else this.incidents.note('signal_lost', 'no SYN for a second: cable, power, or a stuck line', atMs)
        break
      case 'adapter-reset':
        this.#dedup.discontinue('epoch_reset', nowMs)
        this.#warm({ kind: 'reset' }, situation)
        this.incidents.note('adapter_reset', 'the adapter restarted by itself', atMs)
        break
      case 'adapter-error':
        this.incidents.note('adapter_error', `${event.side} error ${event.code}`, atMs)
        break
      case 'decode-fault':
        this.#dedup.discontinue('explicit_discontinuity', nowMs)
        this.#warm({ kind: 'reset' }, situation)
        this.#countError('passive', 'decode_fault')
        this.incidents.note('decode_fault', event.detail, atMs)
        break
      case 'source':
        this.#dedup.discontinue('epoch_reset', nowMs)
        this.incidents.note('address_changed', sourceText(event.state, event.address), atMs)
        break
      case 'missed':
        this.#dedup.discontinue('critical_overflow', nowMs)
        this.incidents.note('events_missed', `${event.count} events came faster than they were taken`, atMs)
        break
    }
  }

  #warm(input: WarmUpInput, { nowMs, symbols }: Pick<BusEventContext, 'nowMs' | 'symbols'>): void {
    this.#warmUp = stepPassiveWarmUp(this.#warmUp, input, { nowMs, symbols })
  }
}

const NOTHING: readonly ClassifiedObservation[] = []

function causeOf(event: EbusEvent): TelegramCutOffCause {
  switch (event.kind) {
    case 'disconnected':
      return 'disconnected'
    case 'adapter-reset':
      return 'transport_reset'
    case 'decode-fault':
      return 'decode_fault'
    default:
      return 'no_progress'
  }
}

/** Faults that are visible on the wire are counted there. */
function sendErrorClass(fault: EbusSendFault): TelegramErrorClass | undefined {
  switch (fault.kind) {
    case 'arbitration-lost':
      return 'collision'
    case 'timed-out':
      return 'timeout'
    case 'ebusd':
      return 'abandoned'
    default:
      return undefined
  }
}

function sourceText(state: string, address: number | undefined): string {
  return address === undefined ? `own address: ${state}` : `own address ${formatBusAddress(address)}: ${state}`
}
