/**
 * Gate: one call on its way past the guard.
 *
 *   assess ▸ decide ─▶ refused, or asked of a person
 *             ├─▶ rehearsed: no key, approval or budget is touched
 *             └─▶ step (durable) ▸ act ▸ what became of it
 *
 * The step is on the disk before the act begins. A crash after it leaves a used approval and an unknown key, never a
 * second act.
 *
 * Pure: stores and bus do the work.
 */
import type { Proceed } from '../bus/admit.ts'
import type { Call, Outcome, Weighed } from '../bus/call.ts'
import type { Assessment, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { assess, budgetOf, decideOn } from './assessed.ts'
import type { Assessed, Standing } from './assessed.ts'
import type { KeyUse } from './keys-store.ts'
import { drivenBy } from './limits.ts'
import type { Decision } from './policy.ts'
import { denied, withdrawn } from './refusal.ts'
import { settle } from './settle.ts'
import { refuse, takeStep } from './step.ts'
import type { Passed, StepParts, UsedYes } from './step.ts'

export type Around = (call: Call, offer: Offer, proceed: Proceed) => Promise<Outcome>

export interface Judgement {
  readonly decision: Decision
  readonly assessment: Assessment
}

export type Judge = (call: Call, offer: Offer) => Promise<Result<Judgement, Fault>>

/** As if the call had never been made before: no person was asked about it, and its key is new. */
const AFRESH: Standing = { approval: { state: 'none' }, repeat: false }
const AS_REPEAT: Standing = { approval: { state: 'none' }, repeat: true }

export function createGate(parts: StepParts): Around {
  return async (call, offer, proceed) => {
    const arrival = parts.limits.arrive(budgetOf(call))
    if (!arrival.ok) return fail(denied({ verdict: 'deny', ...arrival }))
    const assessed = await assess(call, offer, parts)
    if (!assessed.ok) return assessed
    const passed = await pass(assessed.value, parts)
    call.weighed?.(weighedAs(assessed.value, passed))
    switch (passed.kind) {
      case 'answer':
        return told(passed.outcome, assessed.value.assessment)
      case 'rehearse':
        return proceed({ ...call, rehearsal: true })
      default:
        return passed.effect === 'reads' ? proceed(call) : carryOut({ call, proceed }, passed, parts)
    }
  }
}

/** A refusal, with what the family has to say about the call that was refused. */
function told(outcome: Outcome, { refusal }: Assessment): Outcome {
  if (outcome.ok || outcome.fault.reasons === undefined || refusal === undefined) return outcome
  return fail({ ...outcome.fault, details: { ...refusal, ...outcome.fault.details } })
}

/** For the record: what the family said of this very call, and which word of a person it depends on. */
function weighedAs({ assessment, act }: Assessed, passed: Passed): Weighed {
  const { target, label, dryRun } = assessment
  return { effect: act.effect, target, label, dryRun: dryRun === true, yes: yesTo(passed) }
}

function yesTo(passed: Passed): Weighed['yes'] {
  if (passed.kind === 'act' && passed.yes !== undefined)
    return passed.yes.state === 'approved' ? { approval: passed.yes.id } : { grant: passed.yes.id }
  const asked =
    passed.kind === 'answer' && !passed.outcome.ok ? passed.outcome.fault.details?.['approval_id'] : undefined
  return typeof asked === 'string' ? { approval: asked } : undefined
}

/** The decision alone. */
export async function judge(call: Call, offer: Offer, parts: StepParts): Promise<Result<Judgement, Fault>> {
  const assessed = await assess(call, offer, parts)
  if (!assessed.ok) return assessed
  const decision = decideOn(assessed.value, AFRESH, parts)
  return ok({ decision, assessment: assessed.value.assessment })
}

/**
 * Most calls are decided here, from memory. Those that a record concerns (a key, an approval, the wear of a device) are
 * decided again inside the step, where the record is.
 */
async function pass(assessed: Assessed, parts: StepParts): Promise<Passed> {
  const { assessment, act, effect } = assessed
  const decision = decideOn(assessed, AFRESH, parts)
  if (decision.verdict === 'rehearse') return { kind: 'rehearse' }
  if (assessment.idempotencyKey !== undefined && effect !== 'reads') {
    // A repeat is answered without budget or approval, so only what holds regardless of both refuses it here.
    const regardless = decideOn(assessed, AS_REPEAT, parts)
    return regardless.verdict === 'allow' ? takeStep(assessed, parts) : refuse(decision)
  }
  if (decision.verdict === 'approval-required') return takeStep(assessed, parts)
  if (decision.verdict !== 'allow') return refuse(decision)
  // What wears a device out is on the disk before it happens: a restart forgives nothing.
  if (drivenBy(act) !== undefined) return takeStep(assessed, parts)
  parts.limits.take(act)
  return { kind: 'act', effect: decision.effect, key: undefined }
}

async function carryOut(
  { call, proceed }: { readonly call: Call; readonly proceed: Proceed },
  { effect, key, yes }: Passed & { readonly kind: 'act' },
  parts: StepParts,
): Promise<Outcome> {
  const withdrawnInTime = call.signal.aborted
  const outcome = withdrawnInTime
    ? fail(withdrawn(call, parts.monotonic()))
    : settle(await attempt(call, proceed, parts), effect)
  // Another node, or a call made by this one, asks a person of its own, and nothing was tried: this yes is kept until
  // that one is given.
  if (yes !== undefined && !outcome.ok && outcome.fault.kind === 'approval-required') await giveBack(yes, call, parts)
  if (key !== undefined) await closeKey(key, withdrawnInTime ? undefined : outcome, parts)
  return outcome
}

/** `undefined`: nothing was tried, so the key is free again. */
async function closeKey(key: KeyUse, outcome: Outcome | undefined, { keys, report }: StepParts): Promise<void> {
  try {
    await (outcome === undefined ? keys.release(key) : keys.finish(key, outcome))
  } catch (error) {
    // The act is done and its answer stands; only a repeat hears "still under way", and after a restart "unknown".
    report(error, `the outcome of an idempotency key of ${key.capability} could not be kept`)
  }
}

async function giveBack(yes: UsedYes, call: Call, parts: StepParts): Promise<void> {
  const store = yes.state === 'approved' ? parts.approvals : parts.grants
  try {
    await parts.transact((transaction) => store.giveBackIn(transaction, yes.id, call))
  } catch (error) {
    // The person is asked once more, and nothing worse.
    parts.report(error, `a yes to ${call.capability} could not be given back`)
  }
}

/** A throw in the middle of a change says as little about its outcome as no answer would. */
async function attempt(call: Call, proceed: Proceed, parts: StepParts): Promise<Outcome> {
  try {
    return await proceed(call)
  } catch (error) {
    parts.report(error, `${call.capability} threw`)
    return fail({ kind: 'internal', message: `${call.capability} failed inside this node.` })
  }
}
