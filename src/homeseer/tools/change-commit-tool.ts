/**
 * Change commit tool: carries out the change that hs4.change.prepare stored under a token, once, for the caller that
 * prepared it.
 *
 *   peek ▸ policy as it is now ─▶ take (durable) ─▶ the tool itself, through the whole chain ─▶ finish
 *                                                  refused before anything was tried ─▶ release
 *
 * A token is valid for one attempt: if a crash interrupts it, the outcome stays unknown. If the guard refused the
 * change before the attempt, the token remains valid.
 *
 * Reads and writes through guard and bus.
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault } from '../../core/fault.ts'
import { parseJsonOrUndefined, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { DecisionPreview } from '../../guard/call-decision.ts'
import { createPolicyDenialFault, isMissingOnlyConfirmationArguments } from '../../guard/guard-faults.ts'
import type { PreparedChangeResultState, PreparedChange } from '../../guard/prepared-change.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { extendHs4Fault } from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, createTolerantInputSchema } from './homeseer-change.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import { createDefaultConfirmationCompleter, isDryRunCall, type ChangeJustificationArguments } from './change-policy.ts'
import {
  findPreparableTool,
  previewPreparableCall,
  toRecordOnlyAssessment,
  type PreparableTools,
} from './preparable-call.ts'

export function createChangeCommitTool(homeseer: HomeseerToolContext, preparable: PreparableTools): Capability {
  return defineChange({
    family: homeseerFamilyEnvelope,
    name: 'hs4.change.commit',
    title: 'Commit a prepared change',
    description:
      'Carries out a prepared change, once, if policy still allows it. Only the caller that prepared it can. confirm, intent and reason are those that it was prepared with, unless they are given here. The change itself is checked, guarded and recorded as if it had been called directly.',
    input: createTolerantInputSchema({
      token: z.string().min(1).max(128).describe('From hs4.change.prepare.'),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    output: z.looseObject({ committed: z.boolean(), toolName: z.string(), preparedAuditRef: z.string() }),
    effect: 'writes',
    // The nested call records its own answer, because its tool declares what in it is secret.
    secrets: ['token', 'data'],
    timeoutSeconds: 90,
    plan: ({ token, ...claims }, context) => planCommit(homeseer, preparable, { token, claims, context }),
    // The guard decides about the nested call separately; this call only uses up a record.
    assess: ({ verdict }) => toRecordOnlyAssessment(verdict.assessment),
    act: (plan, { token, ...claims }, context) => commit(homeseer, plan, { token, claims, context }),
  })
}

interface Committing {
  readonly token: string
  readonly claims: ChangeJustificationArguments
  readonly context: HandlerContext
}

interface CommitPlan {
  /** The change as it was prepared, with the claims of the commit. */
  readonly change: PreparedChange
  /** The policy's present decision about it. */
  readonly verdict: DecisionPreview
}

async function planCommit(
  homeseer: HomeseerToolContext,
  preparable: PreparableTools,
  { token, claims, context }: Committing,
): Promise<Result<CommitPlan, Fault>> {
  const peeked = homeseer.guard.changes.peek(token, toCallerKey(context.caller))
  if (!peeked.ok) return fail(asToken(peeked.fault))
  const change = { ...peeked.value, args: claimed(peeked.value, claims) }
  const found = findPreparableTool(preparable, change.tool)
  if (!found.ok) return found
  const verdict = await previewPreparableCall(homeseer, found.value, { context, args: change.args })
  return verdict.ok ? ok({ change, verdict: verdict.value }) : verdict
}

async function commit(
  homeseer: HomeseerToolContext,
  { change, verdict }: CommitPlan,
  { token, claims, context }: Committing,
): Promise<Outcome> {
  const { changes } = homeseer.guard
  const principal = toCallerKey(context.caller)
  const { tool: name, args } = change
  // Handled before the token is taken, because a dry run must not use it up.
  if (isDryRunCall(homeseer.rules, args)) return commitDry(context, change, token)
  if (verdict.decision.verdict === 'deny')
    return fail(asPrepared(createPolicyDenialFault(verdict.decision), { token, claims, change }))
  // Durable before the change: of concurrent commits of one token, one proceeds.
  const taken = await changes.take(token, principal)
  if (!taken.ok) return taken
  const outcome = await context.call(name, claimed(taken.value, claims), { isLocal: true })
  const preparedAuditRef = `ledger:${taken.value.preparedSeq}`
  if (!outcome.ok && (REFUSED.has(outcome.fault.kind) || isMissingOnlyConfirmationArguments(outcome.fault))) {
    const { releasedSeq } = await changes.release(token)
    const refs = { preparedAuditRef, commitAuditRef: `ledger:${releasedSeq}` }
    return fail(stillCommittable(outcome.fault, { token, claims, change: taken.value, refs }))
  }
  const { finishedSeq } = await changes.finish(token, endOf(outcome))
  const refs = { preparedAuditRef, commitAuditRef: `ledger:${finishedSeq}` }
  if (!outcome.ok) return fail(extendHs4Fault(outcome.fault, { details: refs }))
  return createHomeseerOutcome({
    committed: true,
    token,
    toolName: name,
    ...refs,
    summary: summaryJson(taken.value),
    data: { toolName: name, ...(outcome.value.data as JsonObject) },
  })
}

/**
 * Claims of the commit apply to it, so a caller that looked at the plan first can confirm it then. A change that was
 * prepared as a dry run stays one, since `dryRun: false` has no effect.
 */
function claimed({ args }: PreparedChange, { dryRun, ...claims }: ChangeJustificationArguments): JsonObject {
  return { ...args, ...claims, ...(dryRun === true ? { dryRun } : {}) }
}

/** The usual advice for these codes is about names and arguments, so it is replaced by advice about tokens. */
function asToken(fault: Fault): Fault {
  if (fault.kind === 'conflict') return extendHs4Fault(fault, { fixHint: SPENT_HINT })
  if (fault.kind !== 'not-found') return fault
  const next = [{ name: 'hs4.help.route', args: { goal: 'use hs4.change.prepare' } }]
  return extendHs4Fault(fault, { fixHint: TOKEN_HINT, next })
}

const TOKEN_HINT =
  'Prepare the change again: a token ends with its time, and is valid only for the caller that prepared it.'

const SPENT_HINT =
  'A token is good for one attempt; `details.state` says what became of it. Prepare the change again only if it is to happen once more.'

/** The same token without further claims would be refused again. */
function asPrepared(
  fault: Fault,
  { token, claims, change }: Pick<Committing, 'token' | 'claims'> & { readonly change: PreparedChange },
): Fault {
  if (isMissingOnlyConfirmationArguments(fault)) {
    const missing = createDefaultConfirmationCompleter(`Commit ${change.tool}`)(change.args, { traceId: '' })
    const next = { tool: 'hs4.change.commit', arguments: { token, ...claims, ...missing } }
    return extendHs4Fault(fault, { details: { next } })
  }
  if (fault.kind !== 'not-permitted') return fault
  return extendHs4Fault(fault, { fixHint: PREPARED_HINT })
}

const PREPARED_HINT =
  'Give confirm, intent and reason with the commit; for anything else in `details.reasons`, prepare the change again, or call its tool.'

/** Only the guard and the queue before it return these kinds, before a tool is reached. */
const REFUSED: ReadonlySet<Fault['kind']> = new Set(['not-permitted', 'approval-required', 'busy'])

/** After the approval, or a moment later, the same token can be committed. */
function stillCommittable(
  fault: Fault,
  {
    token,
    claims,
    change,
    refs,
  }: Omit<Committing, 'context'> & {
    readonly change: PreparedChange
    readonly refs: JsonObject
  },
): Fault {
  const expiresAt = formatIsoTimeOrNull(change.expiresAtMs)
  const next = [{ name: 'hs4.change.commit', args: { token, ...claims } }]
  return extendHs4Fault(fault, { details: { ...refs, token, expiresAt }, next })
}

/** A dry run by default, or a change that was prepared as one: returns a plan, and the token stays valid. */
async function commitDry(context: HandlerContext, change: PreparedChange, token: string): Promise<Outcome> {
  const { tool: name, args, preparedSeq } = change
  const outcome = await context.call(name, { ...args, dryRun: true }, { isLocal: true })
  if (!outcome.ok) return outcome
  return createHomeseerOutcome({
    committed: false,
    dryRun: true,
    token,
    toolName: name,
    preparedAuditRef: `ledger:${preparedSeq}`,
    commitAuditRef: null,
    summary: summaryJson(change),
    data: { toolName: name, ...(outcome.value.data as JsonObject) },
  })
}

function endOf(outcome: Outcome): PreparedChangeResultState {
  if (outcome.ok) return 'committed'
  return outcome.fault.kind === 'unknown-outcome' ? 'unknown' : 'failed'
}

/** The summary as it was given: an object, or a text that is not JSON. */
function summaryJson({ summary }: PreparedChange): Json {
  return parseJsonOrUndefined(summary) ?? summary
}
