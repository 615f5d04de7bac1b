/**
 * Guarded tool: a tool that changes something, in three steps that all of them share.
 *
 *   plan     find what is meant and check it; changes nothing; a mistake found here is answered as it is
 *   weigh    what it would do, for the guard: effect, target, reasons, before → after
 *   act      do exactly what was planned
 *
 * The plan that the guard weighed is the plan that is carried out: it is kept with the arguments it was made from, so
 * nothing that changes in between can slip another act under a decision.
 *
 * Pure.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Assessment, Capability, Effect } from '../../bus/capability.ts'
import { defineTool, type ToolDefinition } from '../../bus/tool.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, type Result } from '../../core/result.ts'
import { answer } from './dependencies.ts'
import { homeseerFamily } from './envelope.ts'
import { isDry, refusals, type Claims, type Rules, type Touched } from './rules.ts'

/** The contract's least length; that it says something is for the rules to see (tools/rules.ts). */
export const MAX_WORDS = 500
const words = z.string().min(3).max(MAX_WORDS)

/** The contract's base guard. */
export const BASE_GUARD = {
  confirm: z.boolean().exactOptional().describe('true: this is meant to happen.'),
  intent: words.exactOptional().describe('What is to be done.'),
  reason: words.exactOptional().describe('Why.'),
  dryRun: z.boolean().exactOptional().describe('true: plan only, change nothing.'),
}

/** What every guarded tool of the core answers at least one of; a dry run says so. */
export const GUARDED_OUTPUT = z.looseObject({
  dryRun: z.boolean().exactOptional(),
  applied: z.boolean().exactOptional(),
  invoked: z.boolean().exactOptional(),
  verification: z.looseObject({}).exactOptional(),
})

export interface Weighed {
  readonly effect: Effect
  readonly target: string
  readonly label: string
  readonly touched: Touched
  /** Devices and events that it reaches beside its target, as rules name them: the owner's word on each holds. */
  readonly reaches?: readonly string[]
  /** What may drift while a person thinks stands under `before`. */
  readonly preview: JsonObject
}

/** `effect` of the definition is the most it can be, for listings; what a call is, `weigh` says. */
export interface GuardedDefinition<Input extends z.ZodType<JsonObject & Claims, unknown>, Plan> extends Omit<
  ToolDefinition<Input>,
  'assess' | 'family'
> {
  readonly plan: (input: z.output<Input>, call: Call) => Promise<Result<Plan, Fault>>
  readonly weigh: (plan: Plan, input: z.output<Input>) => Weighed
  readonly act: (plan: Plan, input: z.output<Input>, call: Call) => Promise<Outcome>
  /** What it touches whatever the plan finds. */
  readonly alwaysTouched?: Touched
  /** What a refusal tells beside its reasons; the plan is there unless it found a mistake. */
  readonly refusal?: (input: z.output<Input>, call: Call, plan: Plan | undefined) => JsonObject
  /** The answer to a dry run, where the usual one does not do. */
  readonly rehearse?: (plan: Plan, input: z.output<Input>, call: Call) => JsonObject
}

/** A device as approvals, limits and the owner's rules name it. */
export function deviceTarget(ref: number): string {
  return `homeseer:ref:${ref}`
}

/** What a caller claims about its own call, and can therefore put right. */
export const CLAIM_RULES: ReadonlySet<string> = new Set(['confirm', 'intent', 'reason'])

/** What a call would do, without doing it: for whoever stages calls of others. */
type CheckPlan = (body: JsonObject) => Fault | undefined

export interface GuardedTool {
  readonly capability: Capability
  /** After the guard has judged a call with this very body: the mistake that its plan found, if any. */
  readonly mistakeIn: CheckPlan
}

export function guardedTool<Input extends z.ZodType<JsonObject & Claims, unknown>, Plan>(
  rules: Rules,
  definition: GuardedDefinition<Input, Plan>,
): GuardedTool {
  // By the body itself, one object per call: no other call's plan can be mistaken for it, and both go together.
  const plans = new WeakMap<JsonObject, Result<Plan, Fault>>()
  const { plan, weigh, act, rehearse = usualRehearsal(definition) } = definition

  async function assess(input: z.output<Input>, call: Call): Promise<Assessment> {
    const planned = await plan(input, call)
    plans.set(call.body, planned)
    const dryRun = isDry(rules, input)
    const refusal = definition.refusal?.(input, call, planned.ok ? planned.value : undefined) ?? {}
    if (!planned.ok) {
      // A caller who may not change anything does not learn from mistakes what is in the house.
      const reasons = refusals(rules, input, definition.alwaysTouched ?? {})
      if (reasons.length > 0) {
        // Who only forgot to say so hears of the mistake, too: all complaints come at once.
        const isForgetful = reasons.every(({ rule }) => CLAIM_RULES.has(rule))
        const also = isForgetful ? { alsoWrong: planned.fault.message } : {}
        return { effect: definition.effect, dryRun, reasons, refusal: { ...refusal, ...also } }
      }
      // Nothing will be tried: the handler answers with the mistake.
      return { effect: 'reads', reasons: [] }
    }
    const { effect, target, label, touched, reaches = [], preview } = weigh(planned.value, input)
    return {
      effect,
      target,
      touches: reaches,
      label,
      dryRun,
      preview,
      reasons: refusals(rules, input, touched),
      refusal,
    }
  }

  const tool = defineTool({ ...definition, ...unlessDry(rules, definition), family: homeseerFamily, assess })
  const capability = tool.handledBy(async (input, call) => {
    const planned = plans.get(call.body)
    if (planned === undefined) throw new Error(`${definition.name} reached its handler without having been weighed`)
    if (!planned.ok) return fail(planned.fault)
    if (call.rehearsal) return answer(rehearse(planned.value, input, call))
    return act(planned.value, input, call)
  })
  return {
    capability,
    mistakeIn: (body) => {
      const planned = plans.get(body)
      return planned === undefined || planned.ok ? undefined : planned.fault
    },
  }
}

/** A plan changes nothing, so it waits for nobody: however many there are, none is turned away from a full queue. */
function unlessDry(
  rules: Rules,
  { lock }: Pick<ToolDefinition<z.ZodType<JsonObject>>, 'lock'>,
): Pick<ToolDefinition<z.ZodType<JsonObject>>, 'lock'> {
  if (lock === undefined) return {}
  return {
    lock: (body) => {
      if (isDry(rules, body)) return undefined
      return typeof lock === 'string' ? lock : lock(body)
    },
  }
}

function usualRehearsal<Input extends z.ZodType<JsonObject & Claims, unknown>, Plan>({
  name,
  weigh,
}: GuardedDefinition<Input, Plan>): (plan: Plan, input: z.output<Input>) => JsonObject {
  return (plan, input) => {
    const { target, label, preview, effect } = weigh(plan, input)
    return {
      dryRun: true,
      action: name,
      target: { id: target, label },
      effect,
      approvalNeeded: effect === 'sensitive',
      preview,
      policy: { reasons: [], normalized: { operationTier: effect === 'admin' ? 'admin' : 'operator' } },
    }
  }
}
