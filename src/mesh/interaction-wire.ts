/**
 * Interaction wire: what a handler on another node may learn of a caller that it can ask back (MCP multi round-trip
 * requests), and what the caller answered.
 *
 *   input=1 in the envelope ⇒ the body is { arguments, input: { capabilities?, responses?, state? } }
 *
 * Sent only for callers that can be asked something; the body of any other call is unchanged.
 */
import type { CallerInteraction } from '../bus/call.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createMeshRefusal } from './mesh-refusal.ts'

/** Returns `undefined` when there is nothing to send. */
export function encodeBodyWithInteraction(
  body: JsonObject,
  interaction: CallerInteraction | undefined,
): JsonObject | undefined {
  const { clientCapabilities = {}, inputResponses, requestState } = interaction ?? {}
  // Only these capabilities are passed on; the client's others matter to its own node only.
  const { elicitation, sampling, roots } = clientCapabilities
  const capabilities = {
    ...(elicitation === undefined ? {} : { elicitation }),
    ...(sampling === undefined ? {} : { sampling }),
    ...(roots === undefined ? {} : { roots }),
  }
  const input = {
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
    ...(inputResponses === undefined ? {} : { responses: inputResponses }),
    ...(requestState === undefined ? {} : { state: requestState }),
  }
  return Object.keys(input).length === 0 ? undefined : { arguments: body, input }
}

export interface BodyWithInteraction {
  readonly body: JsonObject
  readonly interaction: CallerInteraction
}

export function decodeBodyWithInteraction(body: JsonObject): Result<BodyWithInteraction, Fault> {
  const { arguments: given, input } = body
  if (!isJsonObject(given) || !isJsonObject(input))
    return fail(
      createMeshRefusal(
        'bad_request',
        'not-json',
        'The body is not arguments with input, though its envelope says so.',
      ),
    )
  const { capabilities, responses, state } = input
  return ok({
    body: given,
    interaction: {
      ...(isJsonObject(capabilities) ? { clientCapabilities: capabilities } : {}),
      ...(isJsonObject(responses) ? { inputResponses: responses } : {}),
      ...(typeof state === 'string' ? { requestState: state } : {}),
    },
  })
}
