/**
 * Send client: every call of `send` on one bus until it is answered, exactly once and within its deadline.
 *
 *   send ▸ queue ▸ (an address, a signal, nothing under way) ▸ initiator ▸ reply or fault
 *             └───────── deadline or abort, at any point ─────────▶ fault
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import {
  dequeueFromFairQueue,
  drainFairQueue,
  enqueueInFairQueue,
  createFairQueue,
  removeFromFairQueue,
} from '../../core/fair-queue.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { BusAccessEvent } from './bus-access.ts'
import type {
  EbusSendFault,
  EbusRequest,
  SendInterruption,
  EbusReply,
  SendOptions,
  SendPhase,
} from './ebus-connection.ts'
import type { InitiatorEffect } from './bus-initiator.ts'
import {
  cancelTransaction,
  beginTransaction,
  createLateTransactionFault,
  newBusInitiator,
  handleBusAccessEvent,
  readTransactionPhase,
} from './bus-initiator.ts'

export interface TelegramSendClientOptions {
  readonly capacity: number
  /** The address to send with, if everything needed for sending is available. */
  readonly address: () => number | undefined
  /** Why there is none, for a caller whose deadline has passed. */
  readonly excuse: () => EbusSendFault | undefined
  readonly want: (address: number) => void
  readonly cancel: () => void
  readonly say: (symbol: number) => void
}

interface Pending {
  readonly request: EbusRequest
  readonly options: SendOptions
  readonly settle: (result: Result<EbusReply, EbusSendFault>) => void
}

export class TelegramSendClient {
  readonly #options: TelegramSendClientOptions
  readonly #queue
  readonly #initiator = newBusInitiator()
  #active: Pending | undefined

  constructor(options: TelegramSendClientOptions) {
    this.#options = options
    this.#queue = createFairQueue<Pending>(options.capacity)
  }

  get queued(): number {
    return this.#queue.size
  }

  send(request: EbusRequest, options: SendOptions): Promise<Result<EbusReply, EbusSendFault>> {
    if (options.signal?.aborted === true) return Promise.resolve(fail({ kind: 'cancelled', phase: 'queued' }))
    const { pending, settled } = this.#hold(request, options)
    const { capacity } = this.#queue
    enqueueInFairQueue(this.#queue, options.caller ?? '', pending)?.settle(fail({ kind: 'queue-full', capacity }))
    this.pump()
    return settled
  }

  /** Sent before everything else, with an address of its own. Only while there is no address for other telegrams. */
  probe(telegram: Telegram, deadlineMs: number): Promise<Result<EbusReply, EbusSendFault>> {
    if (this.#active !== undefined) return Promise.resolve(fail({ kind: 'queue-full', capacity: 1 }))
    const { pending, settled } = this.#hold(telegram, { deadlineMs, repeatable: true })
    this.#begin(pending, telegram)
    return settled
  }

  /** Starts the next telegram if none is running; call whenever that may have become possible. */
  pump(): void {
    const address = this.#options.address()
    if (this.#active !== undefined || address === undefined) return
    const pending = dequeueFromFairQueue(this.#queue)
    if (pending !== undefined) this.#begin(pending, { ...pending.request, source: address })
  }

  handleEvent(event: BusAccessEvent): void {
    this.#obey(handleBusAccessEvent(this.#initiator, event))
  }

  failActive(interruption: SendInterruption): void {
    const pending = this.#active
    const phase = readTransactionPhase(this.#initiator)
    this.#active = undefined
    cancelTransaction(this.#initiator)
    pending?.settle(fail({ ...interruption, phase }))
    this.pump()
  }

  failAll(interruption: SendInterruption): void {
    const waiting = drainFairQueue(this.#queue)
    this.failActive(interruption)
    for (const pending of waiting) pending.settle(fail({ ...interruption, phase: 'queued' }))
  }

  #hold(
    request: EbusRequest,
    options: SendOptions,
  ): { pending: Pending; settled: Promise<Result<EbusReply, EbusSendFault>> } {
    const { promise: settled, resolve } = Promise.withResolvers<Result<EbusReply, EbusSendFault>>()
    const { signal, deadlineMs } = options
    const onAbort = (): void => this.#interrupt(pending, { kind: 'cancelled', phase: this.#phaseOf(pending) })
    const timer = setTimeout(() => this.#interrupt(pending, this.#lateness(pending)), deadlineMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    const settle = (result: Result<EbusReply, EbusSendFault>): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const pending: Pending = { request, options, settle }
    return { pending, settled }
  }

  #begin(pending: Pending, telegram: Telegram): void {
    this.#active = pending
    this.#obey(beginTransaction(this.#initiator, { telegram, repeatable: pending.options.repeatable ?? false }))
  }

  #phaseOf(pending: Pending): SendPhase {
    return pending === this.#active ? readTransactionPhase(this.#initiator) : 'queued'
  }

  #lateness(pending: Pending): EbusSendFault {
    const afterMs = pending.options.deadlineMs
    if (pending === this.#active) return createLateTransactionFault(this.#initiator, afterMs)
    return this.#options.excuse() ?? { kind: 'timed-out', afterMs, phase: 'queued' }
  }

  #interrupt(pending: Pending, fault: EbusSendFault): void {
    if (pending === this.#active) {
      this.#active = undefined
      this.#obey(cancelTransaction(this.#initiator))
    } else if (!removeFromFairQueue(this.#queue, pending)) return
    pending.settle(fail(fault))
    this.pump()
  }

  #obey(effects: readonly InitiatorEffect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'want':
          this.#options.want(effect.address)
          break
        case 'cancel':
          this.#options.cancel()
          break
        case 'say':
          this.#options.say(effect.symbol)
          break
        case 'reply':
          this.#finish(ok(effect.reply))
          break
        case 'fault':
          this.#finish(fail(effect.fault))
          break
      }
    }
  }

  #finish(result: Result<EbusReply, EbusSendFault>): void {
    const pending = this.#active
    this.#active = undefined
    pending?.settle(result)
    this.pump()
  }
}
