/**
 * Change prepare tool: checks a call as a dry run and stores it under a token for hs4.change.commit.
 *
 *   schema ▸ plan ▸ policy as a dry run ─▶ token
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { ArgumentIssue, Capability, Offer } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import { validateWithoutNullArguments } from '../../bus/schema-validation.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { DecisionPreview } from '../../guard/call-decision.ts'
import { createPolicyDenialFault } from '../../guard/guard-faults.ts'
import { hideSecretsInJson } from '../../guard/redaction.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHs4Fault } from './faults.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import {
  findPreparableTool,
  previewPreparableCall,
  toRecordOnlyAssessment,
  type PreparableTools,
} from './preparable-call.ts'

export function createChangePrepareTool(homeseer: HomeseerToolContext, preparable: PreparableTools): Capability {
  return defineChange({
    family: homeseerFamilyEnvelope,
    name: 'hs4.change.prepare',
    title: 'Prepare a change',
    description:
      'Checks a call of a tool that changes something, as a dry run, and keeps it under a token. Nothing in the house changes. `policy` says what would refuse it as it stands.',
    input: createTolerantInputSchema({
      toolName: z.string().min(1).max(128).describe('A tool that changes something, such as hs4.devices.set.'),
      args: z
        .record(z.string(), z.json())
        .default({})
        .describe('Its arguments; confirm, intent and reason may also come with the commit.'),
      summary: z
        .union([z.string().max(1_000), z.record(z.string(), z.json())])
        .default({})
        .describe('For the record.'),
    }),
    output: z.looseObject({ prepared: z.boolean(), token: z.string(), toolName: z.string() }),
    // Nothing in the house changes, so no gate about changes applies; whether the caller may make the change is checked
    // inside.
    effect: 'records',
    timeoutSeconds: 60,
    plan: (input, context) => planStaging(homeseer, preparable, { ...input, context }),
    assess: ({ real }) => toRecordOnlyAssessment(real.assessment),
    act: (plan, input, context) => prepare(homeseer, plan, { ...input, context }),
  })
}

interface Staging {
  readonly toolName: string
  readonly args: JsonObject
  readonly summary: string | JsonObject
  readonly context: HandlerContext
}

interface StagedCall {
  readonly offer: Offer
  readonly args: JsonObject
  /** Why the call is not permitted even as a dry run. */
  readonly refusal: Fault | undefined
  /** What would be decided about the call as it is. */
  readonly real: DecisionPreview
}

async function planStaging(
  homeseer: HomeseerToolContext,
  preparable: PreparableTools,
  staging: Staging,
): Promise<Result<StagedCall, Fault>> {
  const { context } = staging
  const found = findPreparableTool(preparable, staging.toolName)
  if (!found.ok) return found
  const offer = found.value
  const accepted =
    offer.accept === undefined ? ok(staging.args) : validateWithoutNullArguments(offer.accept, staging.args)
  if (!accepted.ok) return fail(badStagedArguments(offer, accepted.fault))
  const args = accepted.value
  // Checked twice: it must be permitted as a dry run, and the caller learns what would still refuse the real call.
  const dryRun = await previewPreparableCall(homeseer, found.value, { context, args: { ...args, dryRun: true } })
  if (!dryRun.ok) return dryRun
  const { decision } = dryRun.value
  if (decision.verdict === 'deny')
    return ok({ offer, args, refusal: createPolicyDenialFault(decision), real: dryRun.value })
  const real = await previewPreparableCall(homeseer, found.value, { context, args })
  return real.ok ? ok({ offer, args, refusal: undefined, real: real.value }) : real
}

async function prepare(
  homeseer: HomeseerToolContext,
  { offer, args, refusal, real }: StagedCall,
  { context, summary, toolName }: Staging,
): Promise<Outcome> {
  if (refusal !== undefined) return fail(refusal)
  const prepared = await homeseer.guard.changes.prepare({
    principal: toCallerKey(context.caller),
    tool: offer.name,
    args,
    summary: typeof summary === 'string' ? summary : JSON.stringify(hideSecretsInJson(summary)),
    ttlMs: homeseer.config.changeTokenSeconds * 1_000,
    offer,
  })
  if (!prepared.ok) return prepared
  const { token, expiresAtMs, preparedSeq } = prepared.value
  return createHomeseerOutcome({
    prepared: true,
    token,
    toolName: offer.name,
    expiresAt: formatIsoTimeOrNull(expiresAtMs),
    summary: {
      ...(typeof summary === 'string' ? { text: summary } : summary),
      requestedToolName: toolName,
    },
    policy: policyJson(real, offer),
    target: targetJson(offer, args, real),
    ...omitUndefined({ preview: real.assessment.preview }),
    // Spec 4's audit linkage: the ledger entries of preparing and committing.
    preparedAuditRef: `ledger:${preparedSeq}`,
  })
}

function badStagedArguments(offer: Offer, issues: readonly ArgumentIssue[]): Fault {
  const sentences = issues.map(({ path, message }) => `${['args', ...path].join('.')}: ${message}`)
  return createHs4Fault('BAD_REQUEST', `The arguments do not fit ${offer.name}: ${sentences.join('; ')}.`, {
    details: { issues: issues.map(({ path, message, code }) => ({ path: ['args', ...path], message, code })) },
  })
}

function policyJson({ decision, assessment }: DecisionPreview, offer: Offer): JsonObject {
  const reasons = 'reasons' in decision ? decision.reasons : []
  return {
    decision: decision.verdict,
    reasons: reasons.map(({ message }) => message),
    rules: reasons.map(({ rule }) => rule),
    normalized: { operationTier: offer.effect === 'admin' ? 'admin' : 'operator', effect: assessment.effect },
  }
}

/** Spec 4's target summary: the arguments of any preparable tool that identify its target. */
const TARGET_ARGUMENTS = new Set(['ref', 'camId', 'id', 'group', 'name', 'command', 'plugin', 'functionName'])

function targetJson(offer: Offer, args: JsonObject, { assessment }: DecisionPreview): JsonObject {
  const named = Object.entries(args).filter(([name]) => TARGET_ARGUMENTS.has(name))
  return {
    toolName: offer.name,
    ...Object.fromEntries(named),
    ...omitUndefined({ target: assessment.target, label: assessment.label }),
  }
}
