/**
 * Outcome sanitizer: what another node answered, without what nobody can see and not nested deeper than anything here
 * is made for. It reaches models, people's screens and logs.
 *
 *   turn of the event loop     it came: proof ▸ parsed ▸ counted      next: cleaned      next: checked by its schema
 *
 * A small answer takes all steps in one turn.
 */
import type { StreamFrame, Outcome } from '../bus/call.ts'
import { countMembersWithinDepth, MAX_REMOTE_JSON_DEPTH } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { sanitizeJson } from '../core/untrusted-text.ts'
import type { EventLoopYieldQueue } from './event-loop-yield-queue.ts'
import { createMalformedMeshReplyFault } from './mesh-answer.ts'

/**
 * An answer with more members and items than this is cleaned in a separate turn of the event loop. A smaller one takes
 * about a millisecond.
 */
const MAX_MEMBERS_AT_ONCE = 2_000

export function sanitizeOutcome(outcome: Outcome, turns: EventLoopYieldQueue): Outcome | Promise<Outcome> {
  const members = countMembersWithinDepth(outcome, MAX_REMOTE_JSON_DEPTH)
  if (members === undefined)
    return fail(
      createMalformedMeshReplyFault(
        `The peer answered something that is nested deeper than ${MAX_REMOTE_JSON_DEPTH} levels.`,
      ),
    )
  return members > MAX_MEMBERS_AT_ONCE ? cleanInTurns(outcome, turns) : cleanAtOnce(outcome)
}

/** A frame that is nested too deep is not changed: the check against its schema refuses it. */
export function sanitizeStreamFrame(
  frame: StreamFrame,
  turns: EventLoopYieldQueue,
): StreamFrame | Promise<StreamFrame> {
  const members = countMembersWithinDepth(frame, MAX_REMOTE_JSON_DEPTH)
  if (members === undefined) return frame
  return members > MAX_MEMBERS_AT_ONCE ? cleanInTurns(frame, turns) : cleanAtOnce(frame)
}

async function cleanInTurns<Answer extends Outcome | StreamFrame>(
  answer: Answer,
  turns: EventLoopYieldQueue,
): Promise<Answer> {
  await turns.next()
  const clean = cleanAtOnce(answer)
  await turns.next()
  return clean
}

/** The answer was parsed from JSON, so it contains no functions and the like. */
function cleanAtOnce<Answer extends Outcome | StreamFrame>(answer: Answer): Answer {
  return sanitizeJson(answer as unknown as Json) as unknown as Answer
}
