/**
 * Change tools: a change in two steps. Preparing checks it and keeps it under a token; committing carries it out, once,
 * for the caller that prepared it.
 *
 *   prepare ─▶ schema ▸ plan ▸ policy as a dry run ─▶ token
 *   commit  ─▶ peek ▸ policy as it is now ─▶ take (durable) ─▶ the tool itself, through the whole chain ─▶ finish
 *                                                             refused before anything was tried ─▶ release
 *
 * A token stands for one attempt: what a crash interrupts is of unknown outcome, and stays so. One whose change the
 * guard refused before the attempt is as it was.
 *
 * Reads and writes through guard and bus.
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability, ArgumentIssue, Offer } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-options.ts'
import { validateWithoutNullArguments } from '../../bus/schema.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { resolveSpelledName } from '../../core/tool-name-spelling.ts'
import type { ChangeResultState, PreparedChange } from '../../guard/prepared-change.ts'
import type { DecisionPreview } from '../../guard/call-decision.ts'
import { hideSecretsInJson } from '../../guard/redaction.ts'
import { createDeniedFault, isMissingClaimsOnly } from '../../guard/guard-faults.ts'
import { isoTimeOrNull } from '../../toolbox/iso-time.ts'
import { createHomeseerAnswer, type HomeseerToolContext } from './homeseer-tools.ts'
import { homeseerFamily } from './homeseer-envelope.ts'
import {
  createHomeseerArgumentFault,
  FIX_HINT_FIELD,
  createHs4Fault,
  SUGGESTED_CALLS_FIELD,
  toSuggestedCallsJson,
} from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, createTolerantInputSchema } from './homeseer-change.ts'
import { truncateText } from './json-text.ts'
import { completeHomeseerClaims, isDryRunCall, type CallerClaims } from './owner-rules.ts'

/** Tools whose calls can be staged, by name. */
export type PreparableTools = ReadonlyMap<string, Offer>

export function createPreparedChangeTools(
  homeseer: HomeseerToolContext,
  preparable: PreparableTools,
): readonly Capability[] {
  return [prepareTool(homeseer, preparable), commitTool(homeseer, preparable)]
}

function prepareTool(homeseer: HomeseerToolContext, preparable: PreparableTools): Capability {
  return defineChange({
    family: homeseerFamily,
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
    // Nothing in the house changes, so no gate about changes applies; who may change what is judged inside.
    effect: 'records',
    timeoutSeconds: 60,
    plan: (input, context) => planStaging(homeseer, preparable, { ...input, context }),
    assess: ({ real }) => stagedAssessment(real.assessment),
    act: (plan, input, context) => prepare(homeseer, plan, { ...input, context }),
  })
}

/** Only a record is made, and the record says what the change would reach. */
function stagedAssessment({ target, label, touches, mayTouch }: CallAssessment): CallAssessment {
  return {
    effect: 'records',
    ...omitUndefined({ target, label, touches, mayTouch }),
    reasons: [],
  }
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
  /** Why it is not permitted even as a dry run. */
  readonly refusal: Fault | undefined
  /** What would be decided about it as it stands. */
  readonly real: DecisionPreview
}

async function planStaging(
  homeseer: HomeseerToolContext,
  preparable: PreparableTools,
  staging: Staging,
): Promise<Result<StagedCall, Fault>> {
  const { context } = staging
  const found = findTool(preparable, staging.toolName)
  if (!found.ok) return found
  const offer = found.value
  const accepted =
    offer.accept === undefined ? ok(staging.args) : validateWithoutNullArguments(offer.accept, staging.args)
  if (!accepted.ok) return fail(badStagedArguments(offer, accepted.fault))
  const args = accepted.value
  // Twice: as a dry run it must be permitted at all; as it stands, the caller learns what would still refuse it.
  const rehearsed = await previewed(homeseer, found.value, { context, args: { ...args, dryRun: true } })
  if (!rehearsed.ok) return rehearsed
  const { decision } = rehearsed.value
  if (decision.verdict === 'deny')
    return ok({ offer, args, refusal: createDeniedFault(decision), real: rehearsed.value })
  const real = await previewed(homeseer, found.value, { context, args })
  return real.ok ? ok({ offer, args, refusal: undefined, real: real.value }) : real
}

async function prepare(
  homeseer: HomeseerToolContext,
  { offer, args, refusal, real }: StagedCall,
  { context, summary, toolName }: Staging,
): Promise<Outcome> {
  if (refusal !== undefined) return fail(refusal)
  const kept = await homeseer.guard.changes.prepare({
    principal: toCallerKey(context.caller),
    tool: offer.name,
    args,
    summary: typeof summary === 'string' ? summary : JSON.stringify(hideSecretsInJson(summary)),
    ttlMs: homeseer.config.changeTokenSeconds * 1_000,
    offer,
  })
  if (!kept.ok) return kept
  const { token, expiresAtMs, preparedSeq } = kept.value
  return createHomeseerAnswer({
    prepared: true,
    token,
    toolName: offer.name,
    expiresAt: isoTimeOrNull(expiresAtMs),
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

function commitTool(homeseer: HomeseerToolContext, preparable: PreparableTools): Capability {
  return defineChange({
    family: homeseerFamily,
    name: 'hs4.change.commit',
    title: 'Commit a prepared change',
    description:
      'Carries out a prepared change, once, if policy still allows it. Only whoever prepared it can. confirm, intent and reason are those that it was prepared with, unless they are given here. The change itself is checked, guarded and recorded as if it had been called directly.',
    input: createTolerantInputSchema({
      token: z.string().min(1).max(128).describe('From hs4.change.prepare.'),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    output: z.looseObject({ committed: z.boolean(), toolName: z.string(), preparedAuditRef: z.string() }),
    effect: 'writes',
    // The answer of the inner call is recorded with that call, where it is known which of it is secret.
    secrets: ['token', 'data'],
    timeoutSeconds: 90,
    plan: ({ token, ...claims }, context) => planCommit(homeseer, preparable, { token, claims, context }),
    // The act is the inner call, which the guard decides about by itself; here only a record changes hands.
    assess: ({ verdict }) => stagedAssessment(verdict.assessment),
    act: (plan, { token, ...claims }, context) => commit(homeseer, plan, { token, claims, context }),
  })
}

interface Committing {
  readonly token: string
  readonly claims: CallerClaims
  readonly context: HandlerContext
}

interface CommitPlan {
  /** As it was prepared, with the claims of the commit. */
  readonly change: PreparedChange
  /** What the policy says of it now. */
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
  const found = findTool(preparable, change.tool)
  if (!found.ok) return found
  const verdict = await previewed(homeseer, found.value, { context, args: change.args })
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
  // Before the token is taken: a rehearsal must not use it up.
  if (isDryRunCall(homeseer.rules, args)) return commitDry({ context, change, token })
  if (verdict.decision.verdict === 'deny')
    return fail(asPrepared(createDeniedFault(verdict.decision), { token, claims, change }))
  // Durable before the act: of any number of commits of one token, one goes on.
  const taken = await changes.take(token, principal)
  if (!taken.ok) return taken
  const outcome = await context.call(name, claimed(taken.value, claims), { isLocal: true })
  const preparedAuditRef = `ledger:${taken.value.preparedSeq}`
  if (!outcome.ok && (REFUSED.has(outcome.fault.kind) || isMissingClaimsOnly(outcome.fault))) {
    const { releasedSeq } = await changes.release(token)
    const refs = { preparedAuditRef, commitAuditRef: `ledger:${releasedSeq}` }
    return fail(stillCommittable(outcome.fault, { token, claims, change: taken.value, refs }))
  }
  const { finishedSeq } = await changes.finish(token, endOf(outcome))
  const refs = { preparedAuditRef, commitAuditRef: `ledger:${finishedSeq}` }
  if (!outcome.ok) return fail({ ...outcome.fault, details: { ...outcome.fault.details, ...refs } })
  return createHomeseerAnswer({
    committed: true,
    token,
    toolName: name,
    ...refs,
    summary: summaryJson(taken.value),
    data: { toolName: name, ...(outcome.value.data as JsonObject) },
  })
}

/**
 * What is said with the commit holds for it: whoever looked at the plan first can confirm it then. What was prepared as
 * a plan stays one, since `dryRun: false` is no more than silence.
 */
function claimed({ args }: PreparedChange, { dryRun, ...said }: CallerClaims): JsonObject {
  return { ...args, ...said, ...(dryRun === true ? { dryRun } : {}) }
}

/** The usual advice for what is not found is about names, and for what cannot be done twice about arguments. */
function asToken(fault: Fault): Fault {
  if (fault.kind === 'conflict') return { ...fault, details: { ...fault.details, [FIX_HINT_FIELD]: SPENT_HINT } }
  if (fault.kind !== 'not-found') return fault
  const next = toSuggestedCallsJson({ name: 'hs4.help.route', args: { goal: 'use hs4.change.prepare' } })
  return { ...fault, details: { ...fault.details, [FIX_HINT_FIELD]: TOKEN_HINT, [SUGGESTED_CALLS_FIELD]: [next] } }
}

const TOKEN_HINT = 'Prepare the change again: a token ends with its time, and is good only for whoever prepared it.'

const SPENT_HINT =
  'A token is good for one attempt; `details.state` says what became of it. Prepare the change again only if it is to happen once more.'

/** The same token alone would be refused again. */
function asPrepared(
  fault: Fault,
  { token, claims, change }: Pick<Committing, 'token' | 'claims'> & { readonly change: PreparedChange },
): Fault {
  if (isMissingClaimsOnly(fault)) {
    const missing = completeHomeseerClaims(`Commit ${change.tool}`)(change.args, { traceId: '' })
    const next = { tool: 'hs4.change.commit', arguments: { token, ...claims, ...missing } }
    return { ...fault, details: { ...fault.details, next } }
  }
  if (fault.kind !== 'not-permitted') return fault
  return { ...fault, details: { ...fault.details, [FIX_HINT_FIELD]: PREPARED_HINT } }
}

const PREPARED_HINT =
  'Give confirm, intent and reason with the commit; for anything else in `details.reasons`, prepare the change again, or call its tool.'

/** Only the guard and the queue before it say these, and they do so before a tool is reached. */
const REFUSED: ReadonlySet<Fault['kind']> = new Set(['not-permitted', 'approval-required', 'busy'])

/** After the person's yes, or a moment later, the very same token will do. */
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
  const next = toSuggestedCallsJson({ name: 'hs4.change.commit', args: { token, ...claims } })
  const expiresAt = isoTimeOrNull(change.expiresAtMs)
  return { ...fault, details: { ...fault.details, ...refs, token, expiresAt, [SUGGESTED_CALLS_FIELD]: [next] } }
}

/** Default dry run, or a change that was staged as one: a plan, and the token stays as it is. */
async function commitDry({
  context,
  change,
  token,
}: {
  readonly context: HandlerContext
  readonly change: PreparedChange
  readonly token: string
}): Promise<Outcome> {
  const { tool: name, args, preparedSeq } = change
  const outcome = await context.call(name, { ...args, dryRun: true }, { isLocal: true })
  if (!outcome.ok) return outcome
  return createHomeseerAnswer({
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

/** The guard's decision and, unless it is a no, the mistake that the tool's own plan found. */
async function previewed(
  homeseer: HomeseerToolContext,
  offer: Offer,
  { context, args }: { readonly context: HandlerContext; readonly args: JsonObject },
): Promise<Result<DecisionPreview, Fault>> {
  const verdict = await homeseer.guard.previewDecision({ ...context, capability: offer.name, body: args }, offer)
  if (!verdict.ok) return verdict
  const { mistake } = verdict.value
  return mistake === undefined || verdict.value.decision.verdict === 'deny' ? verdict : fail(mistake)
}

/** Under the contract's name or the one with underscores that strict clients see. */
function findTool(preparable: PreparableTools, given: string): Result<Offer, Fault> {
  const tool = preparable.get(resolveSpelledName(given, preparable.keys()) ?? given)
  if (tool !== undefined) return ok(tool)
  return fail(
    createHomeseerArgumentFault('toolName', `${given} is no tool whose calls can be prepared`, {
      details: { preparable: [...preparable.keys()] },
      next: [{ name: 'hs4.help.route', args: { goal: truncateText(`use ${given}`, 200) } }],
    }),
  )
}

function badStagedArguments(offer: Offer, issues: readonly ArgumentIssue[]): Fault {
  const sentences = issues.map(({ path, message }) => `${['args', ...path].join('.')}: ${message}`)
  return createHs4Fault('BAD_REQUEST', `The arguments do not fit ${offer.name}: ${sentences.join('; ')}.`, {
    details: { issues: issues.map(({ path, message, code }) => ({ path: ['args', ...path], message, code })) },
  })
}

function endOf(outcome: Outcome): ChangeResultState {
  if (outcome.ok) return 'committed'
  return outcome.fault.kind === 'unknown-outcome' ? 'unknown' : 'failed'
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

/** Spec 4's target summary: the arguments of any preparable tool that say what it is about. */
const TARGET_ARGUMENTS = new Set(['ref', 'camId', 'id', 'group', 'name', 'command', 'plugin', 'functionName'])

function targetJson(offer: Offer, args: JsonObject, { assessment }: DecisionPreview): JsonObject {
  const named = Object.entries(args).filter(([name]) => TARGET_ARGUMENTS.has(name))
  return {
    toolName: offer.name,
    ...Object.fromEntries(named),
    ...omitUndefined({ target: assessment.target, label: assessment.label }),
  }
}

function summaryJson({ summary }: PreparedChange): Json {
  try {
    return JSON.parse(summary) as Json
  } catch {
    return summary
  }
}
