/**
 * eBUS connection: one eBUS as the rest of the gateway sees it, whatever adapter it is connected with.
 *
 *   send(request) ▸ queue ▸ arbitration ▸ telegram ▸ reply or fault
 *   events()      ◂ every exchange on the wire, our own among them, and what happens to the adapter
 */
import type { Result } from '../../core/result.ts'
import type { BusLineEvent } from '../wire/bus-line-decoder.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import type { AdapterInfo } from './adapter-info.ts'
import type { SharedPortClientAcceptor } from './shared-port-access.ts'

/** A telegram without its source, which is the bus's own admitted address. */
export type EbusRequest = Omit<Telegram, 'source'>

export interface SendOptions {
  /** Counted from the call, including the time in the queue. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** Callers take turns; each has its own first-come-first-served line. */
  readonly caller?: string
  /**
   * Whether repeating it is harmless (a read), so that it may be tried again after a lost answer. Otherwise a telegram
   * that may have reached its target is never sent again.
   */
  readonly repeatable?: boolean
}

export interface EbusReply {
  /** The telegram as it was sent, source included. */
  readonly telegram: Telegram
  /** Present if the request went to a target; empty means "not known" or "accepted". */
  readonly response: Uint8Array | undefined
}

/** How far a telegram got: nothing of it was on the bus before `talking`. */
export type SendPhase = 'queued' | 'arbitrating' | 'talking'

/** Faults that can end a send at any moment. */
export type SendInterruption =
  /** The adapter is not connected. */
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** Connected, but the bus carries no SYN: cable, power, or a stuck line. */
  | { readonly kind: 'no-signal' }
  /** The adapter restarted. */
  | { readonly kind: 'adapter-reset' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'closed' }

export type EbusSendFault =
  | (SendInterruption & { readonly phase: SendPhase })
  | { readonly kind: 'timed-out'; readonly afterMs: number; readonly phase: SendPhase }
  /** No initiator address is free, or the search for one has not ended. */
  | { readonly kind: 'no-source'; readonly state: SourceAddressState }
  | { readonly kind: 'arbitration-lost'; readonly winner: number; readonly attempts: number }
  /** Another initiator sent at the same time, or the line is bad. */
  | { readonly kind: 'collision'; readonly attempts: number }
  /** No acknowledgement: the target does not exist. */
  | { readonly kind: 'no-answer' }
  /** The target acknowledged, but its answer never came or was incomplete. */
  | { readonly kind: 'answer-lost' }
  /** The answer was garbled, twice. */
  | { readonly kind: 'answer-garbled' }
  /** The target refused, twice. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'queue-full'; readonly capacity: number }
  /** ebusd refused, with this message. */
  | { readonly kind: 'ebusd'; readonly message: string }

/**
 * Whether the target may have carried out the telegram although there is no answer: the outcome of a write is then
 * unknown.
 */
export function mayTargetHaveActed(fault: EbusSendFault): boolean {
  switch (fault.kind) {
    case 'answer-lost':
    case 'answer-garbled':
    case 'ebusd':
      return true
    case 'no-source':
    case 'arbitration-lost':
    case 'collision':
    case 'no-answer':
    case 'refused':
    case 'queue-full':
      return false
    default:
      return fault.phase === 'talking'
  }
}

export type TransportClass = 'enh' | 'ens' | 'tcp-plain' | 'udp-plain' | 'serial-plain' | 'ebusd-tcp'

/** `forbidden`: the owner's ebusd has the address and does not send for us. */
export type SourceAddressState = 'listening' | 'probing' | 'admitted' | 'none-free' | 'not-ours' | 'forbidden'

export type EbusEvent = UntimedBusEvent & {
  /** The wall-clock time of the last symbol, in milliseconds since 1970. */
  readonly atMs: number
}

export type UntimedBusEvent =
  /** `own` is true for an exchange of this gateway, which proves nothing about other initiators. */
  | { readonly kind: 'exchange'; readonly exchange: TelegramExchange; readonly own: boolean }
  | (Extract<BusLineEvent, { readonly kind: 'broken' }> & { readonly own: boolean })
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** SYN came back, or stayed away. */
  | { readonly kind: 'signal'; readonly present: boolean }
  | { readonly kind: 'adapter-reset' }
  | { readonly kind: 'adapter-error'; readonly side: 'ebus' | 'host'; readonly code: number }
  /** Bytes from the adapter that are invalid; the parser has been reset. */
  | { readonly kind: 'decode-fault'; readonly detail: string }
  | { readonly kind: 'source'; readonly state: SourceAddressState; readonly address: number | undefined }
  /** This subscriber was too slow, and this many older events were dropped. */
  | { readonly kind: 'missed'; readonly count: number }

export interface EbusStatus {
  readonly transport: TransportClass
  readonly connected: boolean
  /** The system's error code for the missing connection, such as ECONNREFUSED, if there is one. */
  readonly refusal?: string | undefined
  readonly signal: boolean
  /** The bytes look like another protocol: the prefix of the adapter's address is wrong. */
  readonly misread?: boolean
  /** Connected, but nothing has answered in the expected protocol: another program listens there. */
  readonly unanswered?: boolean
  readonly source: SourceAddressState
  readonly address: number | undefined
  /** Whether every telegram on the wire is seen, or only what ebusd reports. */
  readonly passive: 'symbols' | 'telegrams' | 'none'
  readonly queued: number
  readonly symbols: number
  readonly reconnects: number
  /** Other initiator addresses heard so far. */
  readonly initiators: readonly number[]
}

export interface EbusConnection {
  readonly id: string
  send(request: EbusRequest, options: SendOptions): Promise<Result<EbusReply, EbusSendFault>>
  /** Events from now on. Ends when the bus closes or the consumer leaves the loop; bounded, see `missed`. */
  events(): AsyncIterableIterator<EbusEvent> & Disposable
  /** The adapter's information; `undefined` while nothing is known. */
  info(): AdapterInfo | undefined
  status(): EbusStatus
  /** For the shared port; `undefined` where there are no symbols to share. */
  readonly clientAcceptor: SharedPortClientAcceptor | undefined
  close(): Promise<void>
}
