/**
 * Capability definition: a capability of one's own, written as one value with its schemas in Zod.
 *
 *   defineTool      reads, or keeps a record: { name, input, output, effect, … } and a handler
 *   defineChange    changes something, in three functions that share one value:
 *
 *     plan     finds what is meant and checks it; changes nothing. A fault is the caller's mistake and is the answer
 *     assess   what carrying out this plan would do: effect, target, reasons against it, before → after for an approver
 *     act      carries out exactly this plan
 *
 * The guard decides between `assess` and `act`. The plan travels with the call as a value, so nothing that changes in
 * between can put another act under a decision.
 */
import { z } from 'zod'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { StreamFrame, Outcome, Call } from './call.ts'
import type {
  CallAssessment,
  Capability,
  CapabilityDescriptor,
  ConfirmationArgumentCompleter,
  Effect,
  McpExposure,
  FamilyEnvelope,
  ArgumentIssue,
  JsonSchema,
  Offer,
  ParamsMatchRules,
  ParamsMatcherFunction,
  Stability,
  PlannedCall,
} from './capability.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { createHandlerContext } from './call-factory.ts'
import type { HandlerContext } from './call-factory.ts'
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import { computeCapabilityInstanceId, computeSchemaHash } from './schema-hash.ts'

/** What every capability of our own says about itself, whether it reads or changes. */
export interface CapabilityDefinition<Input extends z.ZodType<JsonObject, unknown>> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** The data of a success, before the family wraps it. */
  readonly output: z.ZodType
  /** The frames of a streamed answer, each as `{ event, data }`. */
  readonly frames?: z.ZodType
  /** Whose envelope it answers in; absent: the bus's own, `{ ok, data }` or `{ ok, error }`. */
  readonly family?: FamilyEnvelope
  readonly face?: McpExposure
  readonly lock?: string | ((body: JsonObject) => string | undefined)
  readonly version?: readonly [number, number]
  /** `stable` unless it says otherwise. */
  readonly stability?: Stability
  readonly timeoutSeconds?: number
  readonly maxConcurrent?: number
  readonly idempotent?: boolean
  readonly trustRequired?: CapabilityDescriptor['trustRequired']
  readonly params?: JsonObject
  readonly matches?: ParamsMatchRules | ParamsMatcherFunction
  /** See `Offer.anywhere`. */
  readonly anywhere?: boolean
  /** See `Offer.composes`. */
  readonly composes?: boolean
  readonly secrets?: readonly string[]
  readonly completeClaims?: ConfirmationArgumentCompleter
  /** See `Offer.forApprovers`. */
  readonly forApprovers?: boolean
}

export interface ToolDefinition<Input extends z.ZodType<JsonObject, unknown>> extends CapabilityDefinition<Input> {
  readonly effect: 'reads' | 'records'
  /**
   * For a tool that is not for every caller, or that only reads with some arguments. Absent: the declared effect
   * counts.
   */
  readonly assess?: (input: z.output<Input>, context: HandlerContext) => CallAssessment
}

export interface ToolWithoutHandler<Input extends z.ZodType<JsonObject, unknown>> {
  readonly offer: Offer
  readonly handledBy: (handler: (input: z.output<Input>, context: HandlerContext) => Promise<Outcome>) => Capability
  readonly streamedBy: (
    handler: (input: z.output<Input>, context: HandlerContext) => AsyncGenerator<StreamFrame, Outcome, void>,
  ) => Capability
}

const DEFAULT_TIMEOUT_SECONDS = 30
const DEFAULT_MAX_CONCURRENT = 64

export function defineTool<Input extends z.ZodType<JsonObject, unknown>>(
  definition: ToolDefinition<Input>,
): ToolWithoutHandler<Input> {
  const { assess, effect } = definition
  const offer: Offer = createOfferFromDefinition(definition, {
    effect,
    plan:
      assess &&
      ((call) => ({
        offer,
        assessment: assess(call.body as z.output<Input>, createHandlerContext(call)),
        plan: ok(undefined),
      })),
  })
  return {
    offer,
    // By the time a handler is called, the pipeline has put the parsed body into the call.
    handledBy: (handler) => ({
      offer,
      handle: (call) => handler(call.body as z.output<Input>, createHandlerContext(call)),
    }),
    streamedBy: (handler) => ({
      offer,
      handleStream: (call) => handler(call.body as z.output<Input>, createHandlerContext(call)),
    }),
  }
}

/** The offer that the bus registers for a definition. */
export function createOfferFromDefinition<Input extends z.ZodType<JsonObject, unknown>>(
  definition: CapabilityDefinition<Input>,
  { effect, plan }: { readonly effect: Effect; readonly plan: Offer['plan'] },
): Offer {
  const { name, title, description, input, output, family = defaultFamilyEnvelope } = definition
  const schema = lazySchemas(input, output)
  const frames = definition.frames === undefined ? undefined : jsonSchema(definition.frames, 'output')
  const offer: Offer = {
    name,
    title,
    description,
    effect,
    family,
    version: definition.version ?? [1, 0],
    stability: definition.stability ?? 'stable',
    get requestSchema() {
      return schema.request()
    },
    get responseSchema() {
      return schema.response()
    },
    streamSchema: frames,
    params: definition.params ?? {},
    maxConcurrent: definition.maxConcurrent ?? DEFAULT_MAX_CONCURRENT,
    trustRequired: definition.trustRequired ?? (effect === 'reads' ? 'member' : 'trusted'),
    timeoutSeconds: definition.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    idempotent: definition.idempotent ?? effect === 'reads',
    lock: definition.lock,
    face: definition.face ?? { kind: 'tool' },
    accept: (body) => {
      const parsed = input.safeParse(body)
      return parsed.success ? ok(parsed.data) : fail(parsed.error.issues.map(toIssue))
    },
    ...(plan === undefined ? {} : { plan }),
    ...(definition.matches === undefined ? {} : { matches: definition.matches }),
    ...(definition.forApprovers === undefined ? {} : { forApprovers: definition.forApprovers }),
    ...(definition.anywhere === undefined ? {} : { anywhere: definition.anywhere }),
    ...(definition.composes === undefined ? {} : { composes: definition.composes }),
    ...(definition.secrets === undefined ? {} : { secrets: definition.secrets }),
    ...(definition.completeClaims === undefined ? {} : { completeClaims: definition.completeClaims }),
  }
  ourOwn.add(offer)
  return offer
}

const ourOwn = new WeakSet<Offer>()

/**
 * Whether the offer's schemas were generated from Zod in this process, and are therefore well-formed. Copies of an
 * offer do not count.
 */
export function hasZodGeneratedSchemas(offer: Offer): boolean {
  return ourOwn.has(offer)
}

/** JSON Schemas cost a quarter of a millisecond each: made when first asked for, once. */
function lazySchemas(input: z.ZodType, output: z.ZodType): { request: () => JsonSchema; response: () => JsonSchema } {
  let request: JsonSchema | undefined
  let response: JsonSchema | undefined
  return {
    request: () => (request ??= jsonSchema(input, 'input')),
    response: () => (response ??= jsonSchema(output, 'output')),
  }
}

function jsonSchema(type: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, target: 'draft-2020-12', unrepresentable: 'any' })
  return schema
}

function toIssue(issue: z.core.$ZodIssue): ArgumentIssue {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  return { path, message: issue.message, code: issue.code }
}

export type ChangeDefinition<Input extends z.ZodType<JsonObject, unknown>, Plan> = CapabilityDefinition<Input> &
  PlanAndActSteps<z.output<Input>, Plan> & {
    /** The strongest effect that a call can have, for lists; `assess` says the effect of one call. */
    readonly effect: Exclude<Effect, 'reads'>
  }

export type PlanAndActSteps<Input extends JsonObject, Plan> = PlanSteps<Input, Plan> &
  (
    | { readonly act: (plan: Plan, input: Input, context: HandlerContext) => Outcome | Promise<Outcome> }
    | {
        readonly actStream: (
          plan: Plan,
          input: Input,
          context: HandlerContext,
        ) => AsyncGenerator<StreamFrame, Outcome, void>
      }
  )

interface PlanSteps<Input extends JsonObject, Plan> {
  readonly plan: (input: Input, context: HandlerContext) => Result<Plan, Fault> | Promise<Result<Plan, Fault>>
  readonly assess: (plan: Plan, input: Input, context: HandlerContext) => CallAssessment
  /**
   * Where planning found a mistake of the caller: reasons for which this caller is not told about it. Absent: every
   * caller is told.
   */
  readonly assessMistake?: (input: Input, context: HandlerContext, mistake: Fault) => Omit<CallAssessment, 'effect'>
  /** Answers a dry run. Absent: the change does not support dry runs. */
  readonly rehearse?: (plan: Plan, input: Input, context: HandlerContext) => Outcome | Promise<Outcome>
}

/**
 * The steps of a change that only makes further calls in its caller's name: those calls are planned, decided about and
 * recorded themselves.
 */
export const DELEGATING_CHANGE_STEPS = {
  plan: (): Result<undefined, Fault> => ok(undefined),
  assess: (): CallAssessment => ({ effect: 'reads', reasons: [] }),
}

export function defineChange<Input extends z.ZodType<JsonObject, unknown>, Plan>(
  definition: ChangeDefinition<Input, Plan>,
): Capability {
  const offer: Offer = createOfferFromDefinition(definition, {
    effect: definition.effect,
    plan: (call) => planned(offer, definition, call),
  })
  return changeCapability(offer, definition)
}

/** Defines a change for an offer whose schemas are not ours, such as a device's own tool. */
export function defineChangeForOffer<Plan>(
  unplanned: Omit<Offer, 'plan'>,
  steps: PlanAndActSteps<JsonObject, Plan>,
): Capability {
  const offer: Offer = { ...unplanned, plan: (call) => planned(offer, steps, call) }
  return changeCapability(offer, steps)
}

function changeCapability<Input extends JsonObject, Plan>(
  offer: Offer,
  steps: PlanAndActSteps<Input, Plan>,
): Capability {
  // A program in JavaScript has no type checker, so the steps are checked at run time.
  if (typeof steps.plan !== 'function' || typeof steps.assess !== 'function')
    throw new TypeError(`${offer.name} changes something and does not say what: plan or assess is missing`)
  if ('actStream' in steps)
    return {
      offer,
      handleStream: async function* (call) {
        const { plan, input, context, isRehearsal } = carriedOut<Input, Plan>(offer, call)
        if (!plan.ok) return plan
        if (isRehearsal) return rehearsed(steps, plan.value, { input, context })
        return yield* steps.actStream(plan.value, input, context)
      },
    }
  return {
    offer,
    handle: async (call) => {
      const { plan, input, context, isRehearsal } = carriedOut<Input, Plan>(offer, call)
      if (!plan.ok) return plan
      return isRehearsal ? rehearsed(steps, plan.value, { input, context }) : steps.act(plan.value, input, context)
    },
  }
}

async function planned<Input extends JsonObject, Plan>(
  offer: Offer,
  { plan, assess, assessMistake }: PlanSteps<Input, Plan>,
  call: Call,
): Promise<PlannedCall> {
  const context = createHandlerContext(call)
  // The pipeline has put the parsed body into the call by now.
  const input = call.body as Input
  const made = await plan(input, context)
  if (made.ok) return { offer, plan: made, assessment: assess(made.value, input, context) }
  const refusal = assessMistake?.(input, context, made.fault) ?? { reasons: [] }
  // A refusal refuses the requested change, with that change's effect; reporting the caller's mistake only reads.
  const effect = refusal.reasons.length > 0 ? offer.effect : 'reads'
  return { offer, plan: made, assessment: { ...refusal, effect } }
}

interface CarriedOut<Input, Plan> {
  readonly plan: Result<Plan, Fault>
  readonly input: Input
  readonly context: HandlerContext
  readonly isRehearsal: boolean
}

/** Throws for a call that was not planned: no guard has seen it, so this node is assembled wrongly. */
function carriedOut<Input extends JsonObject, Plan>(offer: Offer, call: Call): CarriedOut<Input, Plan> {
  const { planned: given } = call
  if (given === undefined) throw new Error(`${offer.name} reached its handler without a plan`)
  return {
    // A plan is only carried out under the contract that it was made for, not under that of a tool that was replaced
    // meanwhile.
    plan: isSameContract(given.offer, offer) ? (given.plan as Result<Plan, Fault>) : fail(replaced(offer)),
    input: call.body as Input,
    context: createHandlerContext(call),
    // A change that only delegates is rehearsed by its nested calls, which carry the rehearsal flag.
    isRehearsal: call.rehearsal && given.assessment.effect !== 'reads',
  }
}

/**
 * A device that reconnects registers its tool again while a call of it waits: the plan that was made before remains
 * valid.
 */
function isSameContract(left: Offer, right: Offer): boolean {
  if (left === right) return true
  return (
    left.effect === right.effect &&
    computeCapabilityInstanceId(left.params) === computeCapabilityInstanceId(right.params) &&
    computeSchemaHash(left) === computeSchemaHash(right)
  )
}

function replaced({ name }: Offer): Fault {
  return {
    kind: 'conflict',
    message: `${name} was redefined while this call was being decided. Nothing was tried.`,
  }
}

function rehearsed<Input extends JsonObject, Plan>(
  { rehearse }: PlanSteps<Input, Plan>,
  plan: Plan,
  { input, context }: { readonly input: Input; readonly context: HandlerContext },
): Outcome | Promise<Outcome> {
  if (rehearse !== undefined) return rehearse(plan, input, context)
  return fail({ kind: 'unsupported', message: `${context.capability} does not support dry runs.` })
}
