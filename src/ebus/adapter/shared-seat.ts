/**
 * Shared seat: what a client of the shared port may do at our adapter, and what it hears.
 *
 * Pure: the contract only.
 */
import type { SeatEvent } from './access.ts'
import type { InfoId } from './info.ts'

export type SeatNews =
  | SeatEvent
  /** The adapter restarted. */
  | { readonly kind: 'reset'; readonly features: number }
  /** The adapter is gone. */
  | { readonly kind: 'down' }

export interface SharedSeat {
  readonly want: (address: number) => void
  readonly cancel: () => void
  readonly say: (symbol: number) => void
  readonly askInfo: (id: InfoId, asker: (data: Uint8Array | undefined) => void) => void
  readonly features: () => number
  readonly leave: () => void
}

/** Who can seat somebody. */
export interface SeatHost {
  share(listen: (news: SeatNews) => void): SharedSeat
}
