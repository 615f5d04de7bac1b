/**
 * Call preview: whether a call would be refused, need a person's approval, or be carried out. The family plans it and
 * the guard decides; nothing is used up and nobody is asked.
 */
import type { Outcome } from '../bus/call.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { validateRequest } from '../bus/schema-validation.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createPolicyDenialFault } from '../guard/guard-faults.ts'
import { createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import type { ThingCall } from './thing.ts'

export interface ApprovalNeedPreview {
  readonly asksPerson: boolean
}

export async function previewCallApproval(
  { bus, guard }: Pick<HomeDependencies, 'bus' | 'guard'>,
  { tool, arguments: body }: ThingCall,
  context: HandlerContext,
): Promise<Result<ApprovalNeedPreview, Fault>> {
  const offer = bus.offer(tool)
  if (offer === undefined) return fail({ kind: 'not-found', message: `There is no tool ${tool}.` })
  const accepted = validateRequest(offer, body)
  if (!accepted.ok) return accepted
  const call = { ...context, capability: tool, body: accepted.value, planned: undefined }
  const preview = await guard.services.previewDecision(call, offer)
  if (!preview.ok) return preview
  const { decision, mistake } = preview.value
  // A limit ends with time, so it says nothing about a later call.
  if (decision.verdict === 'deny' && decision.retryAfterMs === undefined) return fail(createPolicyDenialFault(decision))
  if (mistake !== undefined) return fail(mistake)
  return ok({ asksPerson: decision.verdict === 'approval-required' })
}

/** The preview as an answer; `sentence` says what would happen. */
export async function previewCallAsAnswer(
  parts: Pick<HomeDependencies, 'bus' | 'guard'>,
  call: ThingCall,
  { context, sentence }: { readonly context: HandlerContext; readonly sentence: string },
): Promise<Outcome> {
  const preview = await previewCallApproval(parts, call, context)
  return preview.ok ? createPreviewAnswer(sentence, preview.value) : fail(preview.fault)
}

/** The answer to a preview: that nothing was done, and whether a person would be asked. */
export function createPreviewAnswer(
  sentence: string,
  { asksPerson }: ApprovalNeedPreview,
  more: JsonObject = {},
): Outcome {
  const asking = asksPerson ? ' A person would be asked first.' : ''
  return createSentenceAnswer(`${sentence}${asking} Nothing was done.`, {
    preview: true,
    ...(asksPerson ? { asks_a_person: true } : {}),
    ...more,
  })
}
