/**
 * Dispatch: stage 4, in five steps of its own. Each step adds to the context what the next ones read.
 *
 *   plan        the family says what the call would do                          guard/call-decision.ts
 *   authorise   the policy decides about it, from memory                        guard/call-decision.ts
 *   reserve     turn, rest, key, approval and budget, on the disk               guard/call-reservation.ts
 *   execute     the call is routed to a provider, which carries out the plan    bus/call-dispatcher.ts
 *   settle      the outcome closes what was reserved                            guard/call-reservation.ts
 *
 * Pure: the guard and the bus do the work.
 */
import type { Outcome } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { createRefusedAuthorization } from '../guard/call-decision.ts'
import type { Authorization } from '../guard/call-decision.ts'
import type { CallDecisionSteps } from '../guard/call-reservation.ts'
import { createCancelledCallFault } from '../guard/guard-faults.ts'
import type { CallContext, InternalErrorReporter, CallStage } from './context.ts'

export interface DispatchDependencies {
  readonly decision: CallDecisionSteps
  /** Why nothing may be changed now, as a sentence; `undefined` while it may. */
  readonly changeRefusal?: (() => string | undefined) | undefined
  readonly monotonic: () => number
  readonly report: InternalErrorReporter
}

type Step = (context: CallContext, parts: DispatchDependencies) => CallContext | Promise<CallContext>

/** The order is part of the contract. */
export const DISPATCH_STEPS: readonly Step[] = [plan, authorise, reserve, execute, settle]

export function createDispatchStage(parts: DispatchDependencies): CallStage {
  return async (context, next) => {
    let current = context
    for (const step of DISPATCH_STEPS) {
      const changed = step(current, parts)
      // Most steps of most calls return at once, so a step is awaited only if it returned a promise.
      current = changed instanceof Promise ? await changed : changed
    }
    return await next(current)
  }
}

function plan(context: CallContext, { decision }: DispatchDependencies): CallContext | Promise<CallContext> {
  const { call, offer, refusal } = context
  if (refusal !== undefined) return refuseWithPolicy(context, refusal, decision)
  // No provider offers the name on this node; the bus knows whether the name is unknown or known in another version,
  // and says so.
  if (offer === undefined) return context
  const assessed = decision.plan(call, offer)
  return assessed instanceof Promise ? assessed.then((later) => withPlan(context, later)) : withPlan(context, assessed)
}

/**
 * A call that lacks nothing but claims is decided about as if it had them: where the policy would refuse it anyway, its
 * caller hears both at once.
 */
async function refuseWithPolicy(
  context: CallContext,
  refusal: Fault,
  decision: CallDecisionSteps,
): Promise<CallContext> {
  const { call, offer } = context
  const refused = { ...context, outcome: fail(refusal) }
  const next = refusal.details?.['next']
  const args = isJsonObject(next) ? next['arguments'] : undefined
  const accepted = isJsonObject(args) ? offer?.accept?.(args) : undefined
  if (offer === undefined || accepted?.ok !== true) return refused
  const assessed = await decision.plan({ ...call, body: accepted.value }, offer)
  const verdict = assessed.ok ? decision.authorise(assessed.value) : undefined
  if (verdict?.kind !== 'answered' || verdict.outcome.ok || verdict.outcome.fault.kind !== 'not-permitted')
    return refused
  const { fault } = verdict.outcome
  const issues = refusal.details?.['issues'] ?? []
  return {
    ...context,
    outcome: fail({ ...fault, message: `${fault.message} ${refusal.message}`, details: { ...fault.details, issues } }),
  }
}

function withPlan(context: CallContext, assessed: Awaited<ReturnType<CallDecisionSteps['plan']>>): CallContext {
  if (!assessed.ok) return { ...context, outcome: assessed }
  return { ...context, call: assessed.value.call, assessed: assessed.value }
}

function authorise(context: CallContext, { decision, changeRefusal }: DispatchDependencies): CallContext {
  const { assessed } = context
  if (assessed === undefined) return context
  const authorization = decision.authorise(assessed)
  const isDecided = authorization.kind === 'answered' || authorization.kind === 'rehearsal'
  if (isDecided || !CHANGING_EFFECTS.has(assessed.act.effect)) return { ...context, authorization }
  const message = changeRefusal?.()
  if (message === undefined) return { ...context, authorization }
  return { ...context, authorization: createRefusedAuthorization({ kind: 'internal', message }) }
}

const CHANGING_EFFECTS: ReadonlySet<Effect> = new Set(['writes', 'sensitive', 'admin'])

function reserve(context: CallContext, { decision }: DispatchDependencies): CallContext | Promise<CallContext> {
  const { assessed, authorization } = context
  if (assessed === undefined || authorization?.kind !== 'open') return context
  const reserved = decision.reserve(assessed, authorization.decision)
  if (!(reserved instanceof Promise)) return { ...context, authorization: reserved }
  return reserved.then((later) => ({ ...context, authorization: later }))
}

async function execute(context: CallContext, parts: DispatchDependencies): Promise<CallContext> {
  const { call, authorization, outcome } = context
  if (outcome !== undefined) return context
  if (authorization?.kind === 'answered') return { ...context, outcome: authorization.outcome }
  if (authorization?.kind === 'rehearsal')
    return { ...context, outcome: await context.execute({ ...call, rehearsal: true }) }
  if (!isAct(authorization)) return { ...context, outcome: await context.execute(call) }
  if (call.signal.aborted)
    return { ...context, isBegun: false, outcome: fail(createCancelledCallFault(call, parts.monotonic())) }
  return { ...context, isBegun: true, outcome: await attempted(context, parts) }
}

/** An exception in the middle of a change says as little about its outcome as a missing answer. */
async function attempted({ call, execute: run }: CallContext, { report }: DispatchDependencies): Promise<Outcome> {
  try {
    return await run(call)
  } catch (error) {
    report(error, `${call.capability} threw`)
    return fail({ kind: 'internal', message: `${call.capability} failed inside this node.` })
  }
}

function settle(context: CallContext, { decision }: DispatchDependencies): CallContext | Promise<CallContext> {
  const { call, authorization, outcome, isBegun } = context
  if (!isAct(authorization) || outcome === undefined || isBegun === undefined) return context
  return decision
    .settle(outcome, { call, ...authorization, isBegun })
    .then((settled) => ({ ...context, outcome: settled }))
}

/** A read, and a call of an unknown name, reserve nothing that would have to be closed. */
function isAct(
  authorization: Authorization | undefined,
): authorization is Authorization & { readonly kind: 'granted' } {
  return authorization?.kind === 'granted' && authorization.effect !== 'reads'
}
