/**
 * Tool: a capability that reads, or keeps a record, written as one value with its schemas in Zod. What changes
 * something in the house is a change (change-definition.ts).
 *
 *   defineTool({ name, input, output, effect, … }) ─▶ Offer ─▶ with a handler, a Capability
 *
 * Pure.
 */
import { z } from 'zod'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Frame, Outcome } from './call.ts'
import type {
  Assessment,
  Capability,
  CapabilityDescriptor,
  Effect,
  Face,
  Family,
  Issue,
  JsonSchema,
  Offer,
  ParamsMatcher,
  ParamsPredicate,
  Stability,
} from './capability.ts'
import { busFamily } from './family.ts'
import { handlerContext } from './handler-context.ts'
import type { HandlerContext } from './handler-context.ts'

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
  readonly family?: Family
  readonly face?: Face
  readonly lock?: string | ((body: JsonObject) => string | undefined)
  readonly version?: readonly [number, number]
  /** `stable` unless it says otherwise. */
  readonly stability?: Stability
  readonly timeoutSeconds?: number
  readonly maxConcurrent?: number
  readonly idempotent?: boolean
  readonly trustRequired?: CapabilityDescriptor['trustRequired']
  readonly params?: JsonObject
  readonly matches?: ParamsMatcher | ParamsPredicate
  /** See `Offer.anywhere`. */
  readonly anywhere?: boolean
  readonly secrets?: readonly string[]
}

export interface ToolDefinition<Input extends z.ZodType<JsonObject, unknown>> extends CapabilityDefinition<Input> {
  readonly effect: 'reads' | 'records'
  /** For a tool that is not for everybody, or that only reads with some arguments. Absent: the declared effect. */
  readonly assess?: (input: z.output<Input>, context: HandlerContext) => Assessment
}

export interface Tool<Input extends z.ZodType<JsonObject, unknown>> {
  readonly offer: Offer
  readonly handledBy: (handler: (input: z.output<Input>, context: HandlerContext) => Promise<Outcome>) => Capability
  readonly streamedBy: (
    handler: (input: z.output<Input>, context: HandlerContext) => AsyncGenerator<Frame, Outcome, void>,
  ) => Capability
}

const DEFAULT_TIMEOUT_SECONDS = 30
const DEFAULT_MAX_CONCURRENT = 64

export function defineTool<Input extends z.ZodType<JsonObject, unknown>>(
  definition: ToolDefinition<Input>,
): Tool<Input> {
  const { assess, effect } = definition
  const offer: Offer = defineOffer(definition, {
    effect,
    plan:
      assess &&
      ((call) => ({
        offer,
        assessment: assess(call.body as z.output<Input>, handlerContext(call)),
        plan: ok(undefined),
      })),
  })
  return {
    offer,
    // The pipeline has put the parsed body into the call by the time that a handler sees it.
    handledBy: (handler) => ({
      offer,
      handle: (call) => handler(call.body as z.output<Input>, handlerContext(call)),
    }),
    streamedBy: (handler) => ({
      offer,
      handleStream: (call) => handler(call.body as z.output<Input>, handlerContext(call)),
    }),
  }
}

/** What the bus registers of a definition. */
export function defineOffer<Input extends z.ZodType<JsonObject, unknown>>(
  definition: CapabilityDefinition<Input>,
  { effect, plan }: { readonly effect: Effect; readonly plan: Offer['plan'] },
): Offer {
  const { name, title, description, input, output, family = busFamily } = definition
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
    ...(definition.anywhere === undefined ? {} : { anywhere: definition.anywhere }),
    ...(definition.secrets === undefined ? {} : { secrets: definition.secrets }),
  }
  ourOwn.add(offer)
  return offer
}

const ourOwn = new WeakSet<Offer>()

/** Whether its schemas came out of Zod just here, and are therefore well-formed. A copy of an offer does not count. */
export function isOurOwn(offer: Offer): boolean {
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

function toIssue(issue: z.core.$ZodIssue): Issue {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  return { path, message: issue.message, code: issue.code }
}
