/**
 * Enhanced client participant: what one client of an enhanced adapter sees of the bus, and what it may do there.
 *
 *   START ▸ (next SYN, lock run out) ▸ own address on the wire ▸ STARTED, or FAILED with whoever owns the bus now
 *   SEND  ▸ symbol on the wire ▸ RECEIVED, the same one if nobody interfered
 *
 * Every client arbitrates for itself, as if it had an adapter of its own. The starter's own address is never echoed.
 *
 * Pure, but for the head it is given.
 */
import { isInitiatorAddress } from '../../ebus/wire/address.ts'
import { LOCK_SYN_COUNT_AFTER_SEND, computeLockSynCountAfterLoss } from '../../ebus/wire/arbitration.ts'
import type { ArbitrationContest, ContestStep } from '../../ebus/wire/arbitration-contest.ts'
import {
  abandonArbitrationContest,
  startArbitrationContest,
  stepArbitrationContest,
  newArbitrationContest,
} from '../../ebus/wire/arbitration-contest.ts'
import type { AdapterMessage, HostMessage } from '../../ebus/wire/enhanced-protocol.ts'
import { FRAMING_ERROR_CODE, INFO_FEATURE_FLAG, CANCEL_START_ADDRESS } from '../../ebus/wire/enhanced-protocol.ts'
import { SYN } from '../../ebus/wire/symbol.ts'
import type { PlannedSymbol, BusParticipant } from './virtual-bus.ts'

export interface EnhancedClientParticipantOptions {
  /** To the client, in order. */
  readonly tell: (message: AdapterMessage) => void
  /** On the bus, now. */
  readonly transmit: (symbol: number) => void
  /** Answers an INFO question later; nothing for an id the adapter does not know. */
  readonly answerInfo: (id: number) => void
}

/** Into the window of 133 to 289 µs behind a SYN, as the stations do: a head must win and lose like any of them. */
const ARBITRATION_MS = 0.2

export class EnhancedClientParticipant implements BusParticipant {
  readonly #options: EnhancedClientParticipantOptions
  readonly #contest: ArbitrationContest = newArbitrationContest()
  /** How many others speak decides how many SYN a loser lets pass; at most the 25 initiator addresses there are. */
  readonly #initiatorsHeard = new Set<number>()
  #owner = false
  /** SYN still to let pass. */
  #lock = 0

  constructor(options: EnhancedClientParticipantOptions) {
    this.#options = options
  }

  isOutsideOwner = (): boolean => this.#owner

  /** A message of the client. */
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
        // The winner speaks, or a target answers in the middle of somebody's telegram; into the idle bus nobody does.
        if (this.#owner || this.#contest.position > 0) this.#options.transmit(data)
        break
      case 'info':
        this.#options.answerInfo(data)
        break
    }
  }

  /** As after a restart of the adapter: nothing is remembered, and the client is told. */
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
      // One more than a station: this very SYN is counted below.
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
    // What this head tells its client is in order: lost before the symbol that shows it, won behind it.
    return symbol === SYN ? this.#onSyn(news, position === 1) : undefined
  }

  #onSyn({ mayCompete, mustCompete }: ContestStep, loneAddress: boolean): PlannedSymbol | undefined {
    if (this.#lock > 0 && !loneAddress) this.#lock--
    const { wanted } = this.#contest
    if (wanted === undefined || !(mustCompete || (mayCompete && this.#lock === 0))) return undefined
    startArbitrationContest(this.#contest)
    return { symbol: wanted, afterMs: ARBITRATION_MS }
  }
}
