/**
 * Bus station: a device on the virtual bus, at the level of symbols. It answers telegrams to its address, refuses
 * garbled ones, repeats refused ones, and takes part in arbitration when it has something to send.
 *
 * Pure, but for the station it is given.
 */
import {
  computeArbitrationVerdict,
  LOCK_SYN_COUNT_AFTER_SEND,
  computeLockSynCountAfterLoss,
} from '../../ebus/wire/arbitration.ts'
import type {
  TelegramConversation,
  ConversationOutcome,
  ConversationEffect,
} from '../../ebus/wire/telegram-conversation.ts'
import { beginTelegramConversation, continueTelegramConversation } from '../../ebus/wire/telegram-conversation.ts'
import type { BusLineDecoderState } from '../../ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../../ebus/wire/bus-line-decoder.ts'
import { ACK, BROADCAST_ADDRESS, NAK, SYN } from '../../ebus/wire/symbol.ts'
import type { TelegramExchange, Telegram } from '../../ebus/wire/telegram.ts'
import { encodeTelegramResponse, classifyTelegramForm } from '../../ebus/wire/telegram.ts'
import type { PlannedSymbol, BusParticipant } from './virtual-bus.ts'

/** The data of the answer; `refuse` is a NAK; `undefined` is no answer, as if the device did not exist. */
export type BusStationAnswer = Uint8Array | 'refuse' | undefined

export interface BusStationOptions {
  /** Absent for a device that only answers. */
  readonly initiator?: number
  readonly targets: readonly number[]
  readonly answer: (telegram: Telegram) => BusStationAnswer
  /** Called with every complete exchange on the bus, including its own. */
  readonly overhear?: (exchange: TelegramExchange, nowMs: number) => void
  /** An extra delay before a target's acknowledgement. */
  readonly delayMs?: () => number
}

interface QueuedTelegram {
  readonly telegram: Telegram
  readonly done: (outcome: ConversationOutcome) => void
  attempts: number
}

/** A target has to acknowledge within 15 ms; these are faster. */
const REPLY_MS = 1.5
/** Between two symbols of one sender. */
const GAP_MS = 0.3
/** 133..289 µs after the stop bit of the SYN. */
const ARBITRATION_MS = 0.2
/** A device gives up after some attempts, because its queue must not grow when the bus is stuck. */
const MAX_ATTEMPTS = 8
const OUTBOX_LIMIT = 64

export class BusStation implements BusParticipant {
  readonly #options: BusStationOptions
  readonly #line: BusLineDecoderState = newBusLineDecoder()
  readonly #queue: QueuedTelegram[] = []
  readonly #initiatorsHeard = new Set<number>()
  /** How many SYN still have to pass. */
  #lock = 1
  #contest: 'none' | 'sent' | 'second-round' = 'none'
  /** 1 at a SYN means a single address: that SYN opens a second round and does not count for the lock. */
  #symbolsSinceSyn = 0
  #conversation: TelegramConversation | undefined
  /** The rest of the answer that is being sent. */
  #response: { readonly wire: Uint8Array; at: number } | undefined

  constructor(options: BusStationOptions) {
    this.#options = options
  }

  /** How many telegrams wait to be sent. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Sends a telegram as soon as the bus allows. Throws for a device without an initiator address. */
  say(telegram: Omit<Telegram, 'source'>, done: (outcome: ConversationOutcome) => void = () => undefined): void {
    const { initiator } = this.#options
    if (initiator === undefined) throw new Error('a target cannot speak first')
    if (this.#queue.length >= OUTBOX_LIMIT) {
      done({ kind: 'fault', fault: 'collision' })
      return
    }
    this.#queue.push({ telegram: { ...telegram, source: initiator }, done, attempts: 0 })
  }

  heard(symbol: number, nowMs: number): PlannedSymbol | undefined {
    const isSingleAddress = this.#symbolsSinceSyn === 1
    this.#symbolsSinceSyn = symbol === SYN ? 0 : this.#symbolsSinceSyn + 1
    const heard = stepBusLineDecoder(this.#line, symbol)
    if (heard?.kind === 'exchange') {
      this.#initiatorsHeard.add(heard.exchange.telegram.source)
      this.#options.overhear?.(heard.exchange, nowMs)
      // A broadcast is processed, but not answered.
      if (heard.exchange.telegram.target === BROADCAST_ADDRESS) this.#options.answer(heard.exchange.telegram)
    }
    if (this.#conversation !== undefined)
      return this.#converse(continueTelegramConversation(this.#conversation, symbol))
    if (this.#contest === 'sent') return this.#settleArbitration(symbol)
    if (symbol === SYN) return this.#onSyn(isSingleAddress)
    if (this.#contest === 'second-round') this.#yield()
    return this.#reply()
  }

  #onSyn(isSingleAddress: boolean): PlannedSymbol | undefined {
    this.#response = undefined
    const [queued] = this.#queue
    if (this.#contest === 'second-round' && queued !== undefined) return this.#compete(queued)
    if (this.#lock > 0 && !isSingleAddress) this.#lock--
    // A second round is only for those who tied in the first.
    if (queued === undefined || this.#lock > 0 || isSingleAddress) return undefined
    return this.#compete(queued)
  }

  #compete(queued: QueuedTelegram): PlannedSymbol {
    this.#contest = 'sent'
    return { symbol: queued.telegram.source, afterMs: ARBITRATION_MS }
  }

  #settleArbitration(seen: number): PlannedSymbol | undefined {
    const [queued] = this.#queue
    this.#contest = 'none'
    if (queued === undefined || seen === SYN) return undefined
    const verdict = computeArbitrationVerdict(queued.telegram.source, seen)
    if (verdict === 'second-round') this.#contest = 'second-round'
    if (verdict === 'lost')
      this.#lock = computeLockSynCountAfterLoss(queued.telegram.source, seen, this.#initiatorsHeard.size)
    if (verdict !== 'won') return undefined
    const { conversation, turn } = beginTelegramConversation(queued.telegram)
    this.#conversation = conversation
    return this.#converse(turn)
  }

  /** The station that we tied with had won and continues. */
  #yield(): void {
    const [queued] = this.#queue
    this.#contest = 'none'
    if (queued !== undefined)
      this.#lock = computeLockSynCountAfterLoss(queued.telegram.source, queued.telegram.source, 0)
  }

  #converse(turn: ConversationEffect): PlannedSymbol | undefined {
    if (turn.kind === 'say') return { symbol: turn.symbol, afterMs: GAP_MS }
    if (turn.kind === 'listen') return undefined
    this.#conversation = undefined
    this.#lock = LOCK_SYN_COUNT_AFTER_SEND
    const [queued] = this.#queue
    if (queued === undefined) return undefined
    queued.attempts++
    const { outcome } = turn
    // Devices repeat: a regulator does not skip setting the boiler because a symbol was lost.
    const again = outcome.kind === 'fault' && outcome.fault !== 'refused' && queued.attempts < MAX_ATTEMPTS
    if (again) return undefined
    this.#queue.shift()
    queued.done(outcome)
    return undefined
  }

  /** The target's part: acknowledge, answer, repeat. */
  #reply(): PlannedSymbol | undefined {
    const line = this.#line
    if (this.#response !== undefined) return this.#continueResponse()
    const target = line.command[1] ?? BROADCAST_ADDRESS
    if (line.phase !== 'command-ack' || !this.#isMine(target)) return undefined
    const afterMs = REPLY_MS + (this.#options.delayMs?.() ?? 0)
    // A wrong checksum is refused, and the sender repeats the telegram.
    if (!line.partGood) return { symbol: NAK, afterMs }
    const answer = this.#options.answer(readCommand(line))
    if (answer === undefined) return undefined
    if (answer === 'refuse') return { symbol: NAK, afterMs }
    // A target's acknowledgement is followed by its answer; another initiator only acknowledges.
    if (classifyTelegramForm(target) === 'initiator-target')
      this.#response = { wire: encodeTelegramResponse(answer), at: -1 }
    return { symbol: ACK, afterMs }
  }

  #continueResponse(): PlannedSymbol | undefined {
    const response = this.#response
    if (response === undefined) return undefined
    const { phase, responseLength, responseRepeats, escaping } = this.#line
    if (phase === 'response') {
      // Refused: from the beginning, without a second ACK.
      if (responseLength === 0 && responseRepeats > 0 && !escaping && response.at > 0) response.at = -1
      response.at++
      const symbol = response.wire[response.at]
      return symbol === undefined ? undefined : { symbol, afterMs: response.at === 0 ? REPLY_MS : GAP_MS }
    }
    if (phase !== 'response-ack') this.#response = undefined
    return undefined
  }

  #isMine(address: number): boolean {
    return this.#options.targets.includes(address) || address === this.#options.initiator
  }
}

function readCommand({ command, commandLength }: BusLineDecoderState): Telegram {
  const [source = 0, target = 0, primary = 0, secondary = 0] = command
  return { source, target, primary, secondary, data: command.slice(5, commandLength - 1) }
}
