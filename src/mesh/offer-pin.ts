/**
 * Offer pin: a peer's definition of a capability, pinned by its hash when it is first received. A changed definition is
 * withheld until a person accepts it (as for tools of devices, ADR 50).
 */
import { hash } from 'node:crypto'
import { formatCapabilityVersion } from '../bus/capability.ts'
import type { PeerCapability } from '../bus/peer.ts'
import { canonicalJson } from '../core/json.ts'

/** For one node: capability → hash of the definition that was received first, or that a person accepted. */
export type OfferPins = Pick<ReadonlyMap<string, string>, 'get' | 'size'>

export interface OfferDefinitionHash {
  /** Identifies a capability of its node: name, version and instance. */
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

/** The description of a tool whose device sleeps says so; this sentence is not part of the definition. */
const STATE = / Offline now\.(?= )/

/** The hash of everything in the definition that a model, a person or the guard reads. */
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

/** A digest of the withheld offers as a person is shown them, so that an acceptance is valid for exactly these. */
export function computeWithheldOffersDigest(withheld: readonly WithheldOffer[]): string {
  const shown = withheld.map((offer) => canonicalJson({ ...offer, description: offer.description.replace(STATE, '') }))
  return hash('sha256', canonicalJson(shown.toSorted())).slice(0, 16)
}
