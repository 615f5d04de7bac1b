/**
 * Offer screen: decides which of a peer's capabilities are put on this node's bus, and cleans their texts.
 *
 *   announced ▸ name not ours ▸ within the limit ▸ definition as pinned ▸ texts cleaned and marked ▸ on the bus
 *                  │ refused      │ refused           │ new: pinned first · changed: withheld
 */
import { EFFECTS } from '../bus/capability.ts'
import type { Effect } from '../bus/capability.ts'
import type { PeerCapability, RefusedCapability } from '../bus/peer.ts'
import type { OfferDefinitionHash, OfferPins, WithheldOffer } from './offer-pin.ts'
import { toOfferDefinitionHash } from './offer-pin.ts'
import { sanitizePeerCapability } from './peer-capability-sanitizer.ts'
import type { PeerCapabilityNameCheck } from './peer-capability-name-check.ts'

export interface ScreenedOffers {
  readonly offered: readonly PeerCapability[]
  readonly refused: readonly RefusedCapability[]
  readonly withheld: readonly WithheldOffer[]
  /** Received for the first time; they are on the bus as soon as they are pinned. */
  readonly unpinned: readonly OfferDefinitionHash[]
}

export interface OfferScreeningRules {
  readonly own: PeerCapabilityNameCheck
  readonly pins: OfferPins
  /** Limit for the names of one node that this node does not have itself. */
  readonly maxOffers: number
}

/** Also counts offers that are gone, so that a node that keeps inventing names cannot fill the disk. */
const MAX_PINS = 4_000

export function screenPeerOffers(
  peer: { readonly name: string; readonly capabilities: readonly PeerCapability[] },
  { own, pins, maxOffers }: OfferScreeningRules,
): ScreenedOffers {
  const offered: PeerCapability[] = []
  const refused: RefusedCapability[] = []
  const withheld: WithheldOffer[] = []
  const unpinned: OfferDefinitionHash[] = []
  const ours = new Set<string>()
  let foreign = 0
  const refuse = (name: string, why: string): void => void refused.push(refusal(name, why))
  for (const capability of peer.capabilities) {
    const { name, face } = capability
    const wrong = own.refusal({ name, uri: face.kind === 'resource' ? face.uri : undefined })
    const effect = own.effectOf(name)
    // A further provider of a name that is here is no new name; a second instance of it on the same node is one.
    const isNews = wrong === undefined && (effect === undefined || ours.has(name))
    ours.add(name)
    if (isNews) foreign++
    if (wrong !== undefined || (isNews && foreign > maxOffers)) {
      refuse(
        name,
        wrong ??
          `its node offers more than ${maxOffers} capabilities that this node does not have (mesh.offersPerNode)`,
      )
      continue
    }
    const marked = sanitizePeerCapability(capability, peer.name)
    if (!marked.ok) {
      refuse(name, marked.fault)
      continue
    }
    const definition = toOfferDefinitionHash(capability)
    const pinned = pins.get(definition.key)
    if (pinned === definition.hash)
      offered.push(
        effect === undefined ? marked.value : { ...marked.value, effect: stricter(effect, capability.effect) },
      )
    else if (pinned === undefined && !own.wasHere(name) && pins.size + unpinned.length < MAX_PINS)
      unpinned.push(definition)
    else {
      const why = pinned !== undefined ? 'changed' : own.wasHere(name) ? 'had-here' : 'many-names'
      const { title, description } = marked.value
      withheld.push({ ...definition, name, title, description, effect: capability.effect, why })
      refuse(name, `${WITHHELD[why]}. See hearthbus mesh offers; hearthbus mesh accept takes it`)
    }
  }
  return { offered, refused, withheld, unpinned }
}

const WITHHELD: Readonly<Record<WithheldOffer['why'], string>> = {
  changed: 'its definition is not the one that was first seen',
  'had-here': 'its name belongs to a family that this node had itself',
  'many-names': 'its node has offered thousands of other names before',
}

function stricter(ours: Effect, theirs: Effect): Effect {
  return EFFECTS.indexOf(ours) >= EFFECTS.indexOf(theirs) ? ours : theirs
}

function refusal(name: string, why: string): RefusedCapability {
  return {
    name,
    fault: { kind: 'not-permitted', code: 'namespace_violation', message: `${name} is not taken: ${why}.` },
  }
}
