/**
 * Dispatch: stage 4. The guard decides; what it lets through is routed to a provider and run there.
 *
 * Pure: the guard and the bus do the work.
 */
import type { Proceed } from '../bus/admit.ts'
import type { Call, Outcome, Weighed } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { fail } from '../core/result.ts'
import type { Passage, Stage } from './stage.ts'

/** The one gate, as dispatch needs it. */
export interface Gate {
  readonly around: (call: Call, offer: Offer, proceed: Proceed) => Promise<Outcome>
}

export function dispatch(gate: Gate): Stage {
  return async (passage, next) => {
    const heard: { weighed?: Weighed } = {}
    const outcome = await outcomeOf(passage.offer?.effect === 'reads' ? passage : hearing(passage, heard), gate)
    return next({ ...passage, ...heard, outcome })
  }
}

/** Not for reads: there is nothing to classify, and most calls are spared a copy. */
function hearing(passage: Passage, heard: { weighed?: Weighed }): Passage {
  const weighed = (as: Weighed): void => {
    heard.weighed = as
  }
  return { ...passage, call: { ...passage.call, weighed } }
}

async function outcomeOf({ call, offer, proceed, refusal }: Passage, gate: Gate): Promise<Outcome> {
  if (refusal !== undefined) return fail(refusal)
  // Nobody offers it here; the bus knows whether it is unknown, or known in another version, and says so.
  if (offer === undefined) return proceed(call)
  return gate.around(call, offer, proceed)
}
