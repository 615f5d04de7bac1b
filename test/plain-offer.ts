/** Plain offer: an offer of a tool that says nothing but its name, for tests that say the rest. */
import type { Offer } from '../src/bus/capability.ts'
import { busFamily } from '../src/bus/family.ts'

export type OfferFacts = Partial<Offer> & Pick<Offer, 'name'>

export function plainOffer(facts: OfferFacts): Offer {
  return {
    version: [1, 0],
    stability: 'stable',
    requestSchema: { type: 'object' },
    responseSchema: {},
    streamSchema: undefined,
    params: {},
    maxConcurrent: 64,
    trustRequired: 'member',
    timeoutSeconds: 30,
    idempotent: facts.effect === undefined || facts.effect === 'reads',
    title: facts.name,
    description: `What ${facts.name} does.`,
    effect: 'reads',
    lock: undefined,
    family: busFamily,
    face: { kind: 'tool' },
    ...facts,
  }
}
