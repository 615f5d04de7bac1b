/**
 * HomeSeer change: a change as bus/change-definition.ts has it, with what all changes of HomeSeer share: the contract's
 * guard arguments, the owner's rules as reasons, and the answer to a dry run.
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import type { Capability, Effect } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { CapabilityDefinition } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-options.ts'
import type { Fault } from '../../core/fault.ts'
import type { Result } from '../../core/result.ts'
import { createHomeseerAnswer, homeseerFamily } from './homeseer-envelope.ts'
import {
  createHomeseerClaimCompleter,
  isDryRunCall,
  listOwnerRuleRefusals,
  MIN_INTENT_OR_REASON_LENGTH,
  type HomeseerGuardArguments,
  type HomeseerOwnerRules,
  type TouchedTargets,
} from './owner-rules.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'

/** That it says something is for the rules to see (tools/owner-rules.ts). */
export const MAX_INTENT_OR_REASON_LENGTH = 500
const words = z.string().min(MIN_INTENT_OR_REASON_LENGTH).max(MAX_INTENT_OR_REASON_LENGTH)

/** The contract's base guard. */
export const BASE_GUARD_ARGUMENT_SCHEMAS = {
  confirm: z.boolean().exactOptional().describe('true: this is meant to happen.'),
  intent: words.exactOptional().describe('What is to be done.'),
  reason: words.exactOptional().describe('Why.'),
  dryRun: z.boolean().exactOptional().describe('true: plan only, change nothing.'),
}

/** What every guarded tool of the core answers at least one of; a dry run says so. */
const GUARDED_TOOL_OUTPUT_SCHEMA = z.looseObject({
  dryRun: z.boolean().exactOptional(),
  applied: z.boolean().exactOptional(),
  invoked: z.boolean().exactOptional(),
  verification: z.looseObject({}).exactOptional(),
})

export interface HomeseerAssessment {
  readonly effect: Effect
  readonly target: string
  readonly label: string
  readonly touched: TouchedTargets
  /** Devices and events that it sets in motion beside its target, as rules and limits name them. */
  readonly reaches?: readonly string[]
  /** Those that it might reach, for want of knowledge, or would reach later on. */
  readonly mayReach?: readonly string[]
  /** What may drift while a person thinks stands under `before`. */
  readonly preview: JsonObject
}

/** `effect` of the definition is the most it can be, for listings; what a call is, `assess` says. */
export interface HomeseerChangeDefinition<
  Input extends z.ZodType<JsonObject & HomeseerGuardArguments, unknown>,
  Plan,
> extends Omit<CapabilityDefinition<Input>, 'family' | 'output'> {
  /** Where it is another one than that of the guarded tools of the core. */
  readonly output?: z.ZodType
  readonly effect: Exclude<Effect, 'reads'>
  readonly plan: (input: z.output<Input>, context: HandlerContext) => Promise<Result<Plan, Fault>>
  readonly assess: (plan: Plan, input: z.output<Input>) => HomeseerAssessment
  readonly act: (plan: Plan, input: z.output<Input>, context: HandlerContext) => Promise<Outcome>
  /** What it touches whatever the plan finds. */
  readonly alwaysTouched?: TouchedTargets
  /** What a refusal tells beside its reasons; the plan is there unless it found a mistake. */
  readonly refusal?: (input: z.output<Input>, context: HandlerContext, plan: Plan | undefined) => JsonObject
  /** The answer to a dry run, where the usual one does not do. */
  readonly rehearse?: (plan: Plan, input: z.output<Input>, context: HandlerContext) => JsonObject
}

/** A device as approvals, limits and the owner's rules name it. */
export function toHomeseerDeviceTarget(ref: number): string {
  return `homeseer:ref:${ref}`
}

export function defineHomeseerChange<Input extends z.ZodType<JsonObject & HomeseerGuardArguments, unknown>, Plan>(
  rules: HomeseerOwnerRules,
  definition: HomeseerChangeDefinition<Input, Plan>,
): Capability {
  const { assess, alwaysTouched = {}, refusal, rehearse = usualRehearsal(definition) } = definition
  return defineChange<Input, Plan>({
    output: GUARDED_TOOL_OUTPUT_SCHEMA,
    ...definition,
    ...unlessDry(rules, definition),
    family: homeseerFamily,
    completeClaims: createHomeseerClaimCompleter(definition.title),
    assess: (plan, input, context) => {
      const { effect, target, label, touched, reaches = [], mayReach = [], preview } = assess(plan, input)
      return {
        effect,
        target,
        touches: reaches,
        mayTouch: mayReach,
        label,
        dryRun: isDryRunCall(rules, input),
        preview,
        reasons: listOwnerRuleRefusals(rules, input, touched),
        refusal: refusal?.(input, context, plan) ?? {},
      }
    },
    // A caller who may not change anything does not learn from mistakes what is in the house.
    assessMistake: (input, context, mistake) => {
      const reasons = listOwnerRuleRefusals(rules, input, alwaysTouched)
      // Who only forgot to say so hears of the mistake, too: all complaints come at once.
      const isForgetful = reasons.length > 0 && reasons.every(({ argument }) => argument !== undefined)
      const also = isForgetful ? { alsoWrong: mistake.message } : {}
      return {
        dryRun: isDryRunCall(rules, input),
        reasons,
        refusal: { ...refusal?.(input, context, undefined), ...also },
      }
    },
    rehearse: (plan, input, context) => createHomeseerAnswer(rehearse(plan, input, context)),
  })
}

/** A plan changes nothing, so it waits for nobody: however many there are, none is turned away from a full queue. */
function unlessDry(
  rules: HomeseerOwnerRules,
  { lock }: Pick<CapabilityDefinition<z.ZodType<JsonObject>>, 'lock'>,
): Pick<CapabilityDefinition<z.ZodType<JsonObject>>, 'lock'> {
  if (lock === undefined) return {}
  return {
    lock: (body) => {
      if (isDryRunCall(rules, body)) return undefined
      return typeof lock === 'string' ? lock : lock(body)
    },
  }
}

function usualRehearsal<Input extends z.ZodType<JsonObject & HomeseerGuardArguments, unknown>, Plan>({
  name,
  assess,
}: HomeseerChangeDefinition<Input, Plan>): (plan: Plan, input: z.output<Input>) => JsonObject {
  return (plan, input) => {
    const { target, label, preview, effect } = assess(plan, input)
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

// Tolerant input: arguments that a tool does not know are left out and named in a warning, as callers of the contract's
// first implementation rely on (ADR 164). What is left out reaches nothing: no handler, no adapter, no approval.

/**
 * Under a key that no JSON has: it goes with the arguments wherever they go, copies included, and into no record, hash or
 * wire.
 */
const IGNORED = Symbol('ignored arguments')
const MAX_NAMED = 20

export function createTolerantInputSchema<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = z.object(shape)
  return z.looseObject(shape).transform((body): z.output<typeof known> => {
    const entries = Object.entries(body)
    const kept = Object.fromEntries(entries.filter(([name]) => Object.hasOwn(shape, name)))
    const unknown = entries.map(([name]) => name).filter((name) => !Object.hasOwn(shape, name))
    const ignored = unknown.length === 0 ? {} : { [IGNORED]: unknown.slice(0, MAX_NAMED) }
    return { ...kept, ...ignored } as z.output<typeof known>
  })
}

/** The same capability, whose answers name the arguments that were ignored. */
export function addIgnoredArgumentsReport(capability: Capability): Capability {
  if (!('handle' in capability)) return capability
  const { offer, handle } = capability
  return {
    offer,
    handle: async (call) => {
      const outcome = await handle(call)
      const { [IGNORED]: ignored } = call.body as { readonly [IGNORED]?: readonly string[] }
      if (ignored === undefined || !outcome.ok || !isJsonObject(outcome.value.data)) return outcome
      const { warnings } = outcome.value.data
      const warning = {
        code: 'UNKNOWN_ARGUMENTS',
        message: `Ignored, because ${offer.name} does not know them: ${ignored.join(', ')}.`,
        arguments: ignored,
      }
      const all = [...(Array.isArray(warnings) ? (warnings as readonly JsonObject[]) : []), warning]
      return ok({ ...outcome.value, data: { ...outcome.value.data, warnings: all } })
    },
  }
}
