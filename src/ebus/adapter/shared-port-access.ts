/**
 * Shared port access: what a client of the shared port may do at our adapter, and the events it gets.
 *
 * Pure: the contract only.
 */
import type { BusAccessEvent } from './bus-access.ts'
import type { AdapterInfoId } from './adapter-info.ts'

export type SharedPortClientNotification =
  | BusAccessEvent
  /** The adapter restarted. */
  | { readonly kind: 'reset'; readonly features: number }
  /** The adapter is gone. */
  | { readonly kind: 'down' }

export interface SharedPortAccess {
  readonly want: (address: number) => void
  readonly cancel: () => void
  readonly say: (symbol: number) => void
  readonly requestInfo: (id: AdapterInfoId, callback: (data: Uint8Array | undefined) => void) => void
  readonly features: () => number
  readonly leave: () => void
}

/** Accepts clients of the shared port. */
export interface SharedPortClientAcceptor {
  share(listen: (news: SharedPortClientNotification) => void): SharedPortAccess
}
