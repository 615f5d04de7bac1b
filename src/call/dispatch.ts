/**
 * Dispatch: stage 4, in five steps of its own. Each step adds to the context what the next ones read.
 *
 *   plan        the family says what the call would do                          guard/decision.ts
 *   authorise   the policy decides about it, from memory                        guard/decision.ts
 *   reserve     turn, rest, key, approval and budget, on the disk               guard/reserve.ts
 *   execute     the call is routed to a provider, which carries out the plan    bus/dispatch.ts
 *   settle      what became of it closes what was reserved                      guard/reserve.ts
 *
 * Pure: the guard and the bus do the work.
 */
import type { Outcome } from '../bus/call.ts'
import { fail } from '../core/result.ts'
import type { Authorization } from '../guard/decision.ts'
import type { DecisionSteps } from '../guard/reserve.ts'
import { withdrawnCallFault } from '../guard/refusal.ts'
import type { CallContext, InternalErrorReporter, CallStage } from './context.ts'

export interface DispatchParts {
  readonly decision: DecisionSteps
  readonly monotonic: () => number
  readonly report: InternalErrorReporter
}

type Step = (context: CallContext, parts: DispatchParts) => CallContext | Promise<CallContext>

/** The order is part of the contract. */
export const DISPATCH_STEPS: readonly Step[] = [plan, authorise, reserve, execute, settle]

export function createDispatchStage(parts: DispatchParts): CallStage {
  return async (context, next) => {
    let current = context
    for (const step of DISPATCH_STEPS) {
      const changed = step(current, parts)
      // Most steps of most calls wait for nothing.
      current = changed instanceof Promise ? await changed : changed
    }
    return next(current)
  }
}

function plan(context: CallContext, { decision }: DispatchParts): CallContext | Promise<CallContext> {
  const { call, offer, refusal } = context
  if (refusal !== undefined) return { ...context, outcome: fail(refusal) }
  // Nobody offers it here; the bus knows whether it is unknown, or known in another version, and says so.
  if (offer === undefined) return context
  const assessed = decision.plan(call, offer)
  return assessed instanceof Promise ? assessed.then((later) => withPlan(context, later)) : withPlan(context, assessed)
}

function withPlan(context: CallContext, assessed: Awaited<ReturnType<DecisionSteps['plan']>>): CallContext {
  if (!assessed.ok) return { ...context, outcome: assessed }
  return { ...context, call: assessed.value.call, assessed: assessed.value }
}

function authorise(context: CallContext, { decision }: DispatchParts): CallContext {
  const { assessed } = context
  return assessed === undefined ? context : { ...context, authorization: decision.authorise(assessed) }
}

function reserve(context: CallContext, { decision }: DispatchParts): CallContext | Promise<CallContext> {
  const { assessed, authorization } = context
  if (assessed === undefined || authorization?.kind !== 'open') return context
  const reserved = decision.reserve(assessed, authorization.decision)
  if (!(reserved instanceof Promise)) return { ...context, authorization: reserved }
  return reserved.then((later) => ({ ...context, authorization: later }))
}

async function execute(context: CallContext, parts: DispatchParts): Promise<CallContext> {
  const { call, authorization, outcome } = context
  if (outcome !== undefined) return context
  if (authorization?.kind === 'answered') return { ...context, outcome: authorization.outcome }
  if (authorization?.kind === 'rehearsal')
    return { ...context, outcome: await context.execute({ ...call, rehearsal: true }) }
  if (!isAct(authorization)) return { ...context, outcome: await context.execute(call) }
  if (call.signal.aborted)
    return { ...context, isBegun: false, outcome: fail(withdrawnCallFault(call, parts.monotonic())) }
  return { ...context, isBegun: true, outcome: await attempted(context, parts) }
}

/** A throw in the middle of a change says as little about its outcome as no answer would. */
async function attempted({ call, execute: run }: CallContext, { report }: DispatchParts): Promise<Outcome> {
  try {
    return await run(call)
  } catch (error) {
    report(error, `${call.capability} threw`)
    return fail({ kind: 'internal', message: `${call.capability} failed inside this node.` })
  }
}

function settle(context: CallContext, { decision }: DispatchParts): CallContext | Promise<CallContext> {
  const { call, authorization, outcome, isBegun } = context
  if (!isAct(authorization) || outcome === undefined || isBegun === undefined) return context
  return decision
    .settle(outcome, { call, ...authorization, isBegun })
    .then((settled) => ({ ...context, outcome: settled }))
}

/** A read, and a name that nobody offers, leave nothing behind that would have to be closed. */
function isAct(
  authorization: Authorization | undefined,
): authorization is Authorization & { readonly kind: 'granted' } {
  return authorization?.kind === 'granted' && authorization.effect !== 'reads'
}
