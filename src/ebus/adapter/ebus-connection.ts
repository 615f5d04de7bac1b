/**
 * Bus: one eBUS as the rest of the gateway sees it, whatever adapter it hangs on.
 *
 *   send(request) ▸ queue ▸ arbitration ▸ telegram ▸ reply or fault
 *   events()      ◂ every exchange on the wire, our own among them, and what happens to the adapter
 */
import type { Result } from '../../core/result.ts'
import type { BusLineEvent } from '../wire/bus-line.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import type { AdapterInfo } from './adapter-info.ts'
import type { SharedPortHost } from './shared-port-client.ts'

/** A telegram without its source: that is the bus's own admitted address, or nobody's. */
export type BusRequest = Omit<Telegram, 'source'>

export interface SendOptions {
  /** Measured from the call; everything is counted, the waiting in the queue too. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** Callers take turns; each has its own first-come-first-served line. */
  readonly caller?: string
  /**
   * Saying it twice does no harm (a read), so it may be tried again after the answer was lost. Without this a telegram
   * that may have reached its target is never sent a second time.
   */
  readonly repeatable?: boolean
}

export interface BusReply {
  /** As sent, source included. */
  readonly telegram: Telegram
  /** There exactly when the request went to a target; empty means "not known" or "accepted". */
  readonly response: Uint8Array | undefined
}

/** How far a telegram had got: nothing of it was on the bus before `talking`. */
export type SendPhase = 'queued' | 'arbitrating' | 'talking'

/** What can strike a send at any moment. */
export type SendInterruption =
  /** The adapter is not connected, or no longer. */
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** Connected, but the bus carries no SYN: cable, power, or a stuck line. */
  | { readonly kind: 'no-signal' }
  /** The adapter restarted. */
  | { readonly kind: 'adapter-reset' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'closed' }

export type BusFault =
  | (SendInterruption & { readonly phase: SendPhase })
  | { readonly kind: 'timed-out'; readonly afterMs: number; readonly phase: SendPhase }
  /** No initiator address is free, or the search for one has not ended. */
  | { readonly kind: 'no-source'; readonly state: SourceAddressState }
  | { readonly kind: 'arbitration-lost'; readonly winner: number; readonly attempts: number }
  /** Somebody spoke over us, or the line is bad. */
  | { readonly kind: 'collision'; readonly attempts: number }
  /** Nobody acknowledged: the target is not there. */
  | { readonly kind: 'no-answer' }
  /** Acknowledged, but the answer never came or was cut. */
  | { readonly kind: 'answer-lost' }
  /** The answer came garbled, twice. */
  | { readonly kind: 'answer-garbled' }
  /** The target refused, twice. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'queue-full'; readonly capacity: number }
  /** ebusd said no, in its own words. */
  | { readonly kind: 'ebusd'; readonly message: string }

/** Whether the target may have done what it was told although there is no answer: the outcome of a write is unknown. */
export function mayTargetHaveActed(fault: BusFault): boolean {
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

/** `forbidden`: somebody else's ebusd has the address and sends nothing for us. */
export type SourceAddressState = 'listening' | 'probing' | 'admitted' | 'none-free' | 'not-ours' | 'forbidden'

export type BusEvent = UntimedBusEvent & {
  /** Wall clock, milliseconds since 1970, at the last symbol. */
  readonly atMs: number
}

export type UntimedBusEvent =
  /** `own` is true for what this gateway sent; then the same exchange is not third-party evidence. */
  | { readonly kind: 'exchange'; readonly exchange: TelegramExchange; readonly own: boolean }
  | (Extract<BusLineEvent, { readonly kind: 'broken' }> & { readonly own: boolean })
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** SYN came back, or stayed away. */
  | { readonly kind: 'signal'; readonly present: boolean }
  | { readonly kind: 'adapter-reset' }
  | { readonly kind: 'adapter-error'; readonly side: 'ebus' | 'host'; readonly code: number }
  /** Bytes from the adapter that no rule explains; the parser has started afresh. */
  | { readonly kind: 'decode-fault'; readonly detail: string }
  | { readonly kind: 'source'; readonly state: SourceAddressState; readonly address: number | undefined }
  /** This subscriber was too slow: so many older events were dropped. */
  | { readonly kind: 'missed'; readonly count: number }

export interface BusStatus {
  readonly transport: TransportClass
  readonly connected: boolean
  /** The system's word for why there is no connection, such as ECONNREFUSED, where it has one. */
  readonly refusal?: string | undefined
  readonly signal: boolean
  /** What comes looks like another protocol: the wrong word stands in front of the adapter's address. */
  readonly misread?: boolean
  /** Connected, and nothing has answered in the protocol that is spoken: another program listens there. */
  readonly unanswered?: boolean
  readonly source: SourceAddressState
  readonly address: number | undefined
  /** Whether every telegram on the wire is seen, or only what ebusd reports. */
  readonly passive: 'symbols' | 'telegrams' | 'none'
  readonly queued: number
  readonly symbols: number
  readonly reconnects: number
  /** Initiator addresses heard so far, ours left out. */
  readonly initiators: readonly number[]
}

export interface EbusConnection {
  readonly id: string
  send(request: BusRequest, options: SendOptions): Promise<Result<BusReply, BusFault>>
  /** From now on. Ends when the bus closes or the consumer leaves the loop; bounded, see `missed`. */
  events(): AsyncIterableIterator<BusEvent> & Disposable
  /** What the adapter says about itself; `undefined` while nothing is known. */
  info(): AdapterInfo | undefined
  status(): BusStatus
  /** For the shared port; `undefined` where there are no symbols to share. */
  readonly seatHost: SharedPortHost | undefined
  close(): Promise<void>
}
