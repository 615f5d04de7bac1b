/**
 * Enhanced client participant: what one client of an enhanced adapter sees of the bus, and what it may do there.
 *
 *   START ▸ (next SYN, lock run out) ▸ own address on the wire ▸ STARTED, or FAILED with whoever owns the bus now
 *   SEND  ▸ symbol on the wire ▸ RECEIVED, the same symbol unless there was a collision
 *
 * Every client arbitrates for itself, as if it had an adapter of its own. The starter's own address is never echoed.
 *
 * Pure, but for the port it is given.
 */
import { isInitiatorAddress } from '../../ebus/wire/address.ts'
import { LOCK_SYN_COUNT_AFTER_SEND, computeLockSynCountAfterLoss } from '../../ebus/wire/arbitration.ts'
import type { ArbitrationContest, ContestStep } from '../../ebus/wire/arbitration-contest.ts'
import {
  abandonArbitrationContest,
  recordAddressSent,
  stepArbitrationContest,
  newArbitrationContest,
} from '../../ebus/wire/arbitration-contest.ts'
import type { AdapterMessage, HostMessage } from '../../ebus/wire/enhanced-protocol.ts'
import { FRAMING_ERROR_CODE, INFO_FEATURE_FLAG, CANCEL_START_ADDRESS } from '../../ebus/wire/enhanced-protocol.ts'
import { SYN } from '../../ebus/wire/symbol.ts'
import type { PlannedSymbol, BusParticipant } from './virtual-bus.ts'

export interface EnhancedClientParticipantOptions {
  /** Sends messages to the client, in order. */
  readonly tell: (message: AdapterMessage) => void
  /** Puts a symbol on the bus now. */
  readonly transmit: (symbol: number) => void
  /** Answers an INFO request later; not at all for an unknown id. */
  readonly answerInfo: (id: number) => void
}

/** Within the window of 133 to 289 µs after a SYN, as for the stations, so that clients win and lose like these. */
const ARBITRATION_MS = 0.2

export class EnhancedClientParticipant implements BusParticipant {
  readonly #options: EnhancedClientParticipantOptions
  readonly #contest: ArbitrationContest = newArbitrationContest()
  /** The number of other initiators determines how many SYN a loser waits; at most the 25 initiator addresses. */
  readonly #initiatorsHeard = new Set<number>()
  #owner = false
  /** How many SYN still have to pass. */
  #lock = 0

  constructor(options: EnhancedClientParticipantOptions) {
    this.#options = options
  }

  isOutsideOwner = (): boolean => this.#owner

  /** Handles a message of the client. */
  obey({ command, data }: HostMessage): void {
    switch (command) {
      case 'init':
        this.reset(data & INFO_FEATURE_FLAG)
        break
      case 'start':
        if (data === CANCEL_START_ADDRESS || !isInitiatorAddress(data)) abandonArbitrationContest(this.#contest)
        else this.#contest.wanted = data
        break
      case 'send':
        // Only the winner sends, or a target within another's telegram; nobody sends into the idle bus.
        if (this.#owner || this.#contest.position > 0) this.#options.transmit(data)
        break
      case 'info':
        this.#options.answerInfo(data)
        break
    }
  }

  /** Resets as a restart of the adapter does, and tells the client. */
  reset(features: number): void {
    abandonArbitrationContest(this.#contest)
    this.#owner = false
    this.#options.tell({ event: 'resetted', data: features })
  }

  reportFraming(): void {
    this.#options.tell({ event: 'error-ebus', data: FRAMING_ERROR_CODE })
  }

  heard(symbol: number): PlannedSymbol | undefined {
    const { wanted, position } = this.#contest
    if (position === 0 && isInitiatorAddress(symbol)) this.#initiatorsHeard.add(symbol)
    const news = stepArbitrationContest(this.#contest, symbol)
    if (symbol === SYN && this.#owner) {
      this.#owner = false
      // One more than for a station, because this SYN is counted below.
      this.#lock = LOCK_SYN_COUNT_AFTER_SEND + 1
    }
    if (news.outcome === 'lost' && wanted !== undefined) {
      this.#lock = computeLockSynCountAfterLoss(wanted, news.winner, this.#initiatorsHeard.size)
      this.#options.tell({ event: 'failed', data: news.winner })
    }
    if (!news.hidden) this.#options.tell({ event: 'received', data: symbol })
    if (news.outcome === 'won' && wanted !== undefined) {
      this.#owner = true
      this.#options.tell({ event: 'started', data: wanted })
    }
    // The messages to the client are in order: a loss before the symbol that shows it, a win after it.
    return symbol === SYN ? this.#onSyn(news, position === 1) : undefined
  }

  #onSyn({ mayCompete, mustCompete }: ContestStep, isSingleAddress: boolean): PlannedSymbol | undefined {
    if (this.#lock > 0 && !isSingleAddress) this.#lock--
    const { wanted } = this.#contest
    if (wanted === undefined || !(mustCompete || (mayCompete && this.#lock === 0))) return undefined
    recordAddressSent(this.#contest)
    return { symbol: wanted, afterMs: ARBITRATION_MS }
  }
}
