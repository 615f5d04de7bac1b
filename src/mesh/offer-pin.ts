/**
 * Offer pin: what a peer says a capability is, pinned by its hash when it is first seen. What is described otherwise
 * tomorrow is withheld until a person accepts it (the same as for tools of devices, ADR 50).
 */
import { hash } from 'node:crypto'
import { formatCapabilityVersion } from '../bus/capability.ts'
import type { PeerCapability } from '../bus/peer.ts'
import { canonicalJson } from '../core/json.ts'

/** Capability → hash of the definition that was first seen, or that a person accepted; of one node. */
export type OfferPins = Pick<ReadonlyMap<string, string>, 'get' | 'size'>

export interface OfferDefinitionHash {
  /** Which capability of its node: name, version and instance. */
  readonly key: string
  readonly hash: string
}

export interface WithheldOffer extends OfferDefinitionHash {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly effect: string
  readonly why: 'changed' | 'had-here' | 'many-names'
}

/** A device that sleeps is described so by its node; that it sleeps is no other definition. */
const STATE = / Offline now\.(?= )/

/** Over everything that a model, a person or the guard gets to see of it. */
export function toOfferDefinitionHash(capability: PeerCapability): OfferDefinitionHash {
  const { name, version, instanceId, schemaHash, effect, face, family, title, description } = capability
  const { idempotent, anywhere, trustRequired, stream, matches = null, secrets = [] } = capability
  const shown = { title, description: description.replace(STATE, ''), effect, face: { ...face }, family }
  const rules = { schemaHash, idempotent, anywhere, trustRequired, stream, matches, secrets: [...secrets] }
  return {
    key: `${name}@${formatCapabilityVersion(version)}#${instanceId}`,
    hash: hash('sha256', canonicalJson({ ...shown, ...rules })),
  }
}

/** Names what is withheld in the words that a person is shown, so that an approval is for what was looked at. */
export function computeWithheldOffersDigest(withheld: readonly WithheldOffer[]): string {
  const shown = withheld.map((offer) => canonicalJson({ ...offer, description: offer.description.replace(STATE, '') }))
  return hash('sha256', canonicalJson(shown.toSorted())).slice(0, 16)
}
