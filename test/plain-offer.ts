/** Plain offer: an offer of a tool that says nothing but its name, for tests that say the rest. */
import type { Call } from '../src/bus/call.ts'
import type { CallAssessment, Offer } from '../src/bus/capability.ts'
import { defaultFamilyEnvelope } from '../src/bus/default-family-envelope.ts'
import { ok } from '../src/core/result.ts'

export type OfferFacts = Partial<Offer> &
  Pick<Offer, 'name'> & {
    /** What a call would do; by default what the effect says. */
    readonly assess?: (call: Call) => CallAssessment | Promise<CallAssessment>
  }

export function plainOffer({ assess, ...facts }: OfferFacts): Offer {
  const { effect = 'reads' } = facts
  const says = assess ?? (effect === 'reads' ? undefined : (): CallAssessment => ({ effect, reasons: [] }))
  const offer: Offer = {
    version: [1, 0],
    stability: 'stable',
    requestSchema: { type: 'object' },
    responseSchema: {},
    streamSchema: undefined,
    params: {},
    maxConcurrent: 64,
    trustRequired: 'member',
    timeoutSeconds: 30,
    idempotent: effect === 'reads',
    title: facts.name,
    description: `What ${facts.name} does.`,
    lock: undefined,
    family: defaultFamilyEnvelope,
    face: { kind: 'tool' },
    ...(says === undefined
      ? {}
      : { plan: async (call) => ({ offer, assessment: await says(call), plan: ok(undefined) }) }),
    ...facts,
    effect,
  }
  return offer
}
