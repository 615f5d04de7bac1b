/**
 * Offer log: what the store of offers asks of the node's own log, which nobody can change: which definitions of other
 * nodes' capabilities are pinned, which acceptances were taken, and which families this node has had.
 */
import type { OfferDefinitionHash, OfferPins, WithheldOffer } from '../offer-pin.ts'

/** What a person accepted of one node. */
export interface OfferAcceptance {
  /** Good for one entry in the log. */
  readonly id: string
  readonly nodeId: string
  /** Of all that the person was shown. */
  readonly digest: string
  readonly offers: readonly WithheldOffer[]
}

/** What is written is durable when its promise resolves. */
export interface OfferLog {
  readonly pins: (nodeId: string) => OfferPins
  /** A capability that is pinned keeps its pin. */
  readonly pin: (nodeId: string, definitions: readonly OfferDefinitionHash[]) => Promise<void>
  readonly isTaken: (acceptanceId: string) => boolean
  /** Rejects where it was taken before. */
  readonly accept: (acceptance: OfferAcceptance) => Promise<void>
  readonly prefixes: () => readonly string[]
  readonly keepPrefixes: (prefixes: readonly string[]) => Promise<void>
}

/** Bounded by the length of an entry: two hashes of 64 digits each. */
export const MAX_PINS_PER_ENTRY = 400
