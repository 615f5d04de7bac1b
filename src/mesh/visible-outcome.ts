/**
 * Visible outcome: what another node answered, without what nobody can see and not nested deeper than anything here is
 * made for. It reaches models, people's screens and logs.
 */
import type { StreamFrame, Outcome } from '../bus/call.ts'
import { isNestedWithin, MAX_STRANGER_DEPTH } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { sanitizeJson } from '../core/stranger-text.ts'
import { malformedReply } from './mesh-answer.ts'

export function sanitizeOutcome(outcome: Outcome): Outcome {
  if (!isNestedWithin(outcome, MAX_STRANGER_DEPTH))
    return fail(malformedReply(`The peer answered something that is nested deeper than ${MAX_STRANGER_DEPTH} levels.`))
  // Both came as JSON; functions and the like are not among what a peer can send.
  return sanitizeJson(outcome as unknown as Json) as unknown as Outcome
}

/** A frame that is nested too deep stays what it is: the check against its schema refuses it. */
export function sanitizeFrame(frame: StreamFrame): StreamFrame {
  if (!isNestedWithin(frame, MAX_STRANGER_DEPTH)) return frame
  return sanitizeJson(frame as unknown as Json) as unknown as StreamFrame
}
