/**
 * Offer pin log: the interface through which the store of offers uses the node's own log, which cannot be changed
 * unnoticed: the pinned definitions of other nodes' capabilities, the acceptances that were used, and the families that
 * this node has had.
 */
import type { OfferDefinitionHash, OfferPins, WithheldOffer } from '../offer-pin.ts'

/** A person's acceptance of one node's offers. */
export interface PeerOfferAcceptance {
  /** Valid for one entry in the log. */
  readonly id: string
  readonly nodeId: string
  /** The digest of everything that the person was shown. */
  readonly digest: string
  readonly offers: readonly WithheldOffer[]
}

/** An entry is durable when its promise resolves. */
export interface OfferPinLog {
  readonly pins: (nodeId: string) => OfferPins
  /** Pins definitions; a capability that is already pinned keeps its pin. */
  readonly pin: (nodeId: string, definitions: readonly OfferDefinitionHash[]) => Promise<void>
  readonly isTaken: (acceptanceId: string) => boolean
  /** Rejects when the acceptance was used before. */
  readonly accept: (acceptance: PeerOfferAcceptance) => Promise<void>
  readonly prefixes: () => readonly string[]
  readonly keepPrefixes: (prefixes: readonly string[]) => Promise<void>
}

/** Limited by the length of an entry: a pin has two hashes of 64 digits. */
export const MAX_PINS_PER_ENTRY = 400
