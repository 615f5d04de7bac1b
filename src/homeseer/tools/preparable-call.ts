/**
 * Preparable calls: what preparing and committing a change share: finding the tool, asking the guard for its decision,
 * and the record.
 *
 * Reads through the guard.
 */
import type { CallAssessment, Offer } from '../../bus/capability.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { resolveSpelledName } from '../../core/tool-name-spelling.ts'
import type { DecisionPreview } from '../../guard/call-decision.ts'
import { createHomeseerArgumentFault } from './faults.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { truncateText } from './json-text.ts'

/** Tools whose calls can be prepared, by name. */
export type PreparableTools = ReadonlyMap<string, Offer>

/** The guard's decision and, unless it is a refusal, the mistake that the tool's plan found. */
export async function previewPreparableCall(
  homeseer: HomeseerToolContext,
  offer: Offer,
  { context, args }: { readonly context: HandlerContext; readonly args: JsonObject },
): Promise<Result<DecisionPreview, Fault>> {
  const verdict = await homeseer.guard.previewDecision({ ...context, capability: offer.name, body: args }, offer)
  if (!verdict.ok) return verdict
  const { mistake } = verdict.value
  return mistake === undefined || verdict.value.decision.verdict === 'deny' ? verdict : fail(mistake)
}

/** Finds a tool under the contract's name or the one with underscores that strict clients see. */
export function findPreparableTool(preparable: PreparableTools, given: string): Result<Offer, Fault> {
  const tool = preparable.get(resolveSpelledName(given, preparable.keys()) ?? given)
  if (tool !== undefined) return ok(tool)
  return fail(
    createHomeseerArgumentFault('toolName', `${given} is not a tool whose calls can be prepared`, {
      details: { preparable: [...preparable.keys()] },
      next: [{ name: 'hs4.help.route', args: { goal: truncateText(`use ${given}`, 200) } }],
    }),
  )
}

/** Preparing only makes a record, which says what the change would reach. */
export function toRecordOnlyAssessment({ target, label, touches, mayTouch }: CallAssessment): CallAssessment {
  return {
    effect: 'records',
    ...omitUndefined({ target, label, touches, mayTouch }),
    reasons: [],
  }
}
