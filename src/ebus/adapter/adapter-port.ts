/**
 * Adapter port: the bus as an adapter shows it, in one vocabulary for all of them, and a protocol that translates bytes
 * to it.
 *
 *   symbol      one symbol stood on the wire, our own echoes among them
 *   started     our address won the bus; it is not repeated as a symbol
 *   failed      another address did; it is not repeated either, but what follows it is
 *
 * Pure: the contract only.
 */
import type { AdapterInfoId } from './adapter-info.ts'

export type AdapterPortEvent =
  | { readonly kind: 'symbol'; readonly symbol: number }
  | { readonly kind: 'started'; readonly address: number }
  | { readonly kind: 'failed'; readonly winner: number }
  /**
   * The adapter may be used from now on. Features are unknown if it did not send them; if it does later, this event is
   * repeated.
   */
  | { readonly kind: 'ready'; readonly features: number | undefined }
  /** It restarted by itself: everything in progress is lost. */
  | { readonly kind: 'reset'; readonly features: number }
  | { readonly kind: 'error'; readonly side: 'ebus' | 'host'; readonly code: number }
  | { readonly kind: 'info'; readonly id: AdapterInfoId; readonly data: Uint8Array }
  | { readonly kind: 'decode-fault'; readonly detail: string }

export interface AdapterPortOutput {
  readonly events: readonly AdapterPortEvent[]
  /** To be written at once. */
  readonly bytes: Uint8Array
}

/** One connection's worth of talking to an adapter. A new connection gets a new one. */
export interface AdapterPortProtocol {
  /** The connection is there. */
  opened(nowMs: number): AdapterPortOutput
  read(bytes: Uint8Array, nowMs: number): AdapterPortOutput
  /** Time has passed without bytes. */
  tick(nowMs: number): AdapterPortOutput
  /** Win the bus with this address after one of the next SYN. */
  start(address: number): Uint8Array
  cancelStart(): Uint8Array
  send(symbol: number): Uint8Array
  /** `undefined` if nothing can be requested, or another answer is still awaited. */
  requestInfo(id: AdapterInfoId, nowMs: number): Uint8Array | undefined
}

export const EMPTY_BYTES: Uint8Array = new Uint8Array()
