/**
 * Adapter head: what one client of an enhanced adapter sees of the bus, and what it may do there.
 *
 *   START ▸ (next SYN, lock run out) ▸ own address on the wire ▸ STARTED, or FAILED with whoever owns the bus now
 *   SEND  ▸ symbol on the wire ▸ RECEIVED, the same one if nobody interfered
 *
 * Every client arbitrates for itself, as if it had an adapter of its own. FAILED is held back until a symbol has followed
 * the winner's address: only then is it certain who won. The starter's own address is never echoed.
 *
 * Pure, but for the head it is given.
 */
import { isInitiator } from '../../ebus/wire/address.ts'
import { LOCK_AFTER_SEND, arbitrate, lockAfterLoss } from '../../ebus/wire/arbitration.ts'
import type { AdapterMessage, HostMessage } from '../../ebus/wire/enhanced.ts'
import { ERROR_FRAMING, FEATURE_INFO, START_CANCEL } from '../../ebus/wire/enhanced.ts'
import { SYN } from '../../ebus/wire/symbol.ts'
import type { Intent, Participant } from './virtual-bus.ts'

export interface HeadOptions {
  /** To the client, in order. */
  readonly tell: (message: AdapterMessage) => void
  /** On the bus, now. */
  readonly transmit: (symbol: number) => void
  /** Answers an INFO question later; nothing for an id the adapter does not know. */
  readonly answerInfo: (id: number) => void
}

type Contest =
  | { readonly kind: 'none' }
  /** Our address is on the wire; the next symbol decides. */
  | { readonly kind: 'sent' }
  /**
   * Not won. `seen` owns the bus if it goes on; a SYN instead means nobody does, and a second round follows, with us in it
   * if `seen` is of our class.
   */
  | { readonly kind: 'behind'; readonly seen: number; readonly tied: boolean }

const ARBITRATION_MS = 0.2

export class AdapterHead implements Participant {
  readonly #options: HeadOptions
  #wanted: number | undefined
  #contest: Contest = { kind: 'none' }
  #owner = false
  #lock = 0
  #symbolsSinceSyn = 0
  readonly #initiatorsHeard = new Set<number>()

  constructor(options: HeadOptions) {
    this.#options = options
  }

  isOutsideOwner = (): boolean => this.#owner

  /** A message of the client. */
  obey({ command, data }: HostMessage): void {
    switch (command) {
      case 'init':
        this.reset(data & FEATURE_INFO)
        break
      case 'start':
        if (data === START_CANCEL || !isInitiator(data)) this.#wanted = undefined
        else this.#wanted = data
        break
      case 'send':
        // The winner speaks, or a target answers in the middle of somebody's telegram; into the idle bus nobody does.
        if (this.#owner || this.#symbolsSinceSyn > 0) this.#options.transmit(data)
        break
      case 'info':
        this.#options.answerInfo(data)
        break
    }
  }

  /** As after a restart of the adapter: nothing is remembered, and the client is told. */
  reset(features: number): void {
    this.#wanted = undefined
    this.#contest = { kind: 'none' }
    this.#owner = false
    this.#options.tell({ event: 'resetted', data: features })
  }

  reportFraming(): void {
    this.#options.tell({ event: 'error-ebus', data: ERROR_FRAMING })
  }

  heard(symbol: number): Intent | undefined {
    const position = this.#symbolsSinceSyn
    this.#symbolsSinceSyn = symbol === SYN ? 0 : position + 1
    if (symbol === SYN) return this.#onSyn(position)
    this.#onSymbol(symbol, position)
    return undefined
  }

  #onSyn(position: number): Intent | undefined {
    if (this.#owner) this.#lock = LOCK_AFTER_SEND
    this.#owner = false
    // The winner fell silent at once: it is final all the same.
    if (this.#contest.kind === 'behind' && position === 0) this.#fail(this.#contest.seen)
    this.#tell(SYN)
    if (this.#contest.kind === 'behind') return this.#contest.tied ? this.#compete() : undefined
    this.#contest = { kind: 'none' }
    // A SYN behind a lone address opens a second round, which is not ours to join and counts for no lock.
    if (position === 1) return undefined
    if (this.#lock > 0) {
      this.#lock--
      return undefined
    }
    return this.#compete()
  }

  #onSymbol(symbol: number, position: number): void {
    if (position === 0 && isInitiator(symbol)) this.#initiatorsHeard.add(symbol)
    if (this.#contest.kind === 'sent' && this.#wanted !== undefined) {
      const verdict = arbitrate(this.#wanted, symbol)
      if (verdict === 'won') this.#win(this.#wanted)
      else this.#contest = { kind: 'behind', seen: symbol, tied: verdict === 'second-round' }
      return
    }
    if (this.#contest.kind === 'behind') {
      if (position === 0) {
        this.#contest = { kind: 'behind', seen: symbol, tied: false }
        return
      }
      this.#fail(this.#contest.seen)
    }
    this.#tell(symbol)
  }

  #compete(): Intent | undefined {
    if (this.#wanted === undefined) return undefined
    this.#contest = { kind: 'sent' }
    return { symbol: this.#wanted, afterMs: ARBITRATION_MS }
  }

  #win(address: number): void {
    this.#contest = { kind: 'none' }
    this.#wanted = undefined
    this.#owner = true
    this.#options.tell({ event: 'started', data: address })
  }

  #fail(winner: number): void {
    if (this.#wanted !== undefined) this.#lock = lockAfterLoss(this.#wanted, winner, this.#initiatorsHeard.size)
    this.#contest = { kind: 'none' }
    this.#wanted = undefined
    this.#options.tell({ event: 'failed', data: winner })
  }

  #tell(symbol: number): void {
    this.#options.tell({ event: 'received', data: symbol })
  }
}
