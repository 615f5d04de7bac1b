/**
 * HomeSeer change: defines a change (bus/capability-definition.ts) with what all changes of HomeSeer share: the
 * contract's guard arguments, the owner's rules as reasons, and the answer to a dry run.
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import type { Capability, Effect } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { CapabilityDefinition } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault } from '../../core/fault.ts'
import type { Result } from '../../core/result.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import {
  createDefaultConfirmationCompleter,
  isDryRunCall,
  listHomeseerPolicyRefusals,
  MIN_INTENT_OR_REASON_LENGTH,
  type ChangeJustificationArguments,
  type HomeseerChangePolicy,
  type TouchedTargets,
} from './change-policy.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'

/** The rules check that it is not blank (tools/owner-rules.ts). */
export const MAX_INTENT_OR_REASON_LENGTH = 500
const words = z.string().min(MIN_INTENT_OR_REASON_LENGTH).max(MAX_INTENT_OR_REASON_LENGTH)

/** The arguments of the contract's base guard. */
export const BASE_GUARD_ARGUMENT_SCHEMAS = {
  confirm: z.boolean().exactOptional().describe('true: this is meant to happen.'),
  intent: words.exactOptional().describe('What is to be done.'),
  reason: words.exactOptional().describe('Why.'),
  dryRun: z.boolean().exactOptional().describe('true: plan only, change nothing.'),
}

/** The least that every guarded tool of the core returns; a dry run says that it is one. */
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
  /** Devices and events that the change sets in motion, as rules and limits name them. */
  readonly reaches?: readonly string[]
  /** Devices and events that it might set in motion, because that is unknown, or would later. */
  readonly mayReach?: readonly string[]
  /** The preview. State that may change while a person decides is under `before`. */
  readonly preview: JsonObject
}

/** `effect` of the definition is the strongest possible one, for lists; `assess` returns the effect of a call. */
export interface HomeseerChangeDefinition<
  Input extends z.ZodType<JsonObject & ChangeJustificationArguments, unknown>,
  Plan,
> extends Omit<CapabilityDefinition<Input>, 'family' | 'output'> {
  /** The output, if it differs from that of the guarded tools of the core. */
  readonly output?: z.ZodType
  readonly effect: Exclude<Effect, 'reads'>
  readonly plan: (input: z.output<Input>, context: HandlerContext) => Promise<Result<Plan, Fault>>
  readonly assess: (plan: Plan, input: z.output<Input>) => HomeseerAssessment
  readonly act: (plan: Plan, input: z.output<Input>, context: HandlerContext) => Promise<Outcome>
  /** What it touches whatever the plan finds. */
  readonly alwaysTouched?: TouchedTargets
  /** Details of a refusal beside its reasons; the plan is there unless it found a mistake. */
  readonly refusal?: (input: z.output<Input>, context: HandlerContext, plan: Plan | undefined) => JsonObject
  /** The answer to a dry run, if the usual one does not fit. */
  readonly rehearse?: (plan: Plan, input: z.output<Input>, context: HandlerContext) => JsonObject
}

/** A device's target, as approvals, limits and the owner's rules name it. */
export function toHomeseerDeviceTarget(ref: number): string {
  return `homeseer:ref:${ref}`
}

export function defineHomeseerChange<Input extends z.ZodType<JsonObject & ChangeJustificationArguments, unknown>, Plan>(
  rules: HomeseerChangePolicy,
  definition: HomeseerChangeDefinition<Input, Plan>,
): Capability {
  const { assess, alwaysTouched = {}, refusal, rehearse = describeDryRun(definition) } = definition
  return defineChange<Input, Plan>({
    output: GUARDED_TOOL_OUTPUT_SCHEMA,
    ...definition,
    ...unlessDry(rules, definition),
    family: homeseerFamilyEnvelope,
    completeClaims: createDefaultConfirmationCompleter(definition.title),
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
        reasons: listHomeseerPolicyRefusals(rules, input, touched),
        refusal: refusal?.(input, context, plan) ?? {},
      }
    },
    // A caller that may not change anything must not learn from its mistakes what is in the house.
    assessMistake: (input, context, mistake) => {
      const reasons = listHomeseerPolicyRefusals(rules, input, alwaysTouched)
      // A caller that only left out claims also learns of its mistake, so that it gets all complaints at once.
      const isForgetful = reasons.length > 0 && reasons.every(({ argument }) => argument !== undefined)
      const also = isForgetful ? { alsoWrong: mistake.message } : {}
      return {
        dryRun: isDryRunCall(rules, input),
        reasons,
        refusal: { ...refusal?.(input, context, undefined), ...also },
      }
    },
    rehearse: (plan, input, context) => createHomeseerOutcome(rehearse(plan, input, context)),
  })
}

/** A dry run changes nothing, so it needs no lock and is never refused because of a full queue. */
function unlessDry(
  rules: HomeseerChangePolicy,
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

function describeDryRun<Input extends z.ZodType<JsonObject & ChangeJustificationArguments, unknown>, Plan>({
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
// first implementation rely on (ADR 164). Ignored arguments reach no handler, no adapter and no approval.

/**
 * A symbol, which JSON cannot have: it stays with the arguments, copies included, and is in no record, hash or message.
 */
const IGNORED = Symbol('ignored arguments')
const MAX_NAMED = 20

export function createTolerantInputSchema<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = z.object(shape)
  return z.looseObject(shape).transform((body): z.output<typeof known> => {
    const entries = Object.entries(body)
    const accepted = Object.fromEntries(entries.filter(([name]) => Object.hasOwn(shape, name)))
    const unknown = entries.map(([name]) => name).filter((name) => !Object.hasOwn(shape, name))
    const ignored = unknown.length === 0 ? {} : { [IGNORED]: unknown.slice(0, MAX_NAMED) }
    return { ...accepted, ...ignored } as z.output<typeof known>
  })
}

/** Wraps a capability so that its answers name the ignored arguments. */
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
