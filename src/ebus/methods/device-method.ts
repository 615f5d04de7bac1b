/**
 * Device method: a named request to a device, and its telegram.
 *
 *   name and parameters ─▶ prepared: data to send, decoder of the answer, assessment
 *
 * Everything here depends on name and parameters alone, never on the present state of the bus, so a call does exactly
 * what the guard decided about.
 */
import { z } from 'zod'
import type { Effect, ArgumentIssue } from '../../bus/capability.ts'
import { toHex } from '../../core/bytes.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'

/** `system` and `timer` can be called; the others are the contract's class planes, listed only. */
export type BuiltInMethodPlaneName = 'system' | 'timer' | 'heating' | 'dhw' | 'solar'

/** A named value of an answer. An invalid one is `null`: the device returned no value. */
export interface MethodAnswerValue extends JsonObject {
  readonly value: Json
  readonly valid: boolean
}
export type MethodAnswerValues = Readonly<Record<string, MethodAnswerValue>>

/** The values of an answer by name; bytes are shown as hex, and a missing value is `undefined`. */
export type MethodAnswer = Readonly<Record<string, Json | Uint8Array | undefined>>

export interface MethodTelegramWithDecoder<Answer = MethodAnswer> {
  readonly data: Uint8Array
  readonly effect: Effect
  /** The register that would be changed, for limits and approvals: `b524/02.03.00.0022`. */
  readonly actuator: string
  readonly decode: (response: Uint8Array) => Answer
  /** Reads the changed value again, and compares it. */
  readonly confirm?: {
    readonly data: Uint8Array
    readonly holds: (response: Uint8Array) => boolean
    readonly decode: (response: Uint8Array) => Answer
  }
}

export type PreparedMethodCall = MethodTelegramWithDecoder<MethodAnswerValues>

/** The listed facts about a method of the built-in tables or of a definition file. */
export interface MethodSummary {
  readonly name: string
  /** PB and SB of the telegram: 0xB5 and, for extended registers, 0x24. */
  readonly primary: number
  readonly secondary: number
  readonly readOnly: boolean
  /** `unknown` is the contract's word for methods of other makers; ours are all known. */
  readonly mutability: 'read_only' | 'mutating' | 'unknown'
  readonly danger: 'safe' | 'dangerous' | 'unknown'
  /** Listed, but only available through the semantic tools. */
  readonly routable: boolean
  /** For a method by definition: the access level in its file, empty for everybody. */
  readonly level?: string
  readonly comment?: string
  /** The parameters as JSON Schema; `undefined` for a method that cannot be called. */
  readonly paramsSchema: () => JsonObject | undefined
}

export interface DeviceMethod extends MethodSummary {
  readonly plane: BuiltInMethodPlaneName
  /** How old a cached answer may be; `undefined` if it is never cached. */
  readonly maxAgeMs: number | undefined
  readonly prepare: (params: JsonObject) => Result<PreparedMethodCall, readonly ArgumentIssue[]>
}

/** The older gateway's two classes: changing state may be a minute old, settings five. */
export const STATE_VALUE_MAX_AGE_MS = 60_000
export const CONFIG_VALUE_MAX_AGE_MS = 300_000

type MethodName = Pick<DeviceMethod, 'plane' | 'name' | 'secondary' | 'readOnly'>

interface Definition<Params> extends MethodName {
  readonly maxAgeMs?: number
  readonly params: z.ZodType<Params>
  readonly prepare: (params: Params) => MethodTelegramWithDecoder | readonly ArgumentIssue[]
}

export function defineMethod<Params>(definition: Definition<Params>): DeviceMethod {
  const { readOnly, params, prepare } = definition
  return {
    ...createMethodFacts(definition),
    routable: true,
    maxAgeMs: readOnly ? (definition.maxAgeMs ?? STATE_VALUE_MAX_AGE_MS) : undefined,
    paramsSchema: () => schemaOf(params),
    prepare: (given) => {
      const parsed = params.safeParse(given)
      if (!parsed.success)
        return fail(
          parsed.error.issues.map(({ path, message, code }) => ({
            // The path in the caller's arguments: method parameters are inside `params` of rpc.invoke.
            path: ['params', ...path.map((step) => (typeof step === 'symbol' ? String(step) : step))],
            message,
            code,
          })),
        )
      const prepared = prepare(parsed.data)
      return 'data' in prepared ? ok(toEncodedCall(prepared)) : fail(prepared)
    },
  }
}

/** For methods that are listed and cannot be called: spec 1 excludes heat-source planes. */
export function defineUncallableMethod(method: MethodName): DeviceMethod {
  return {
    ...createMethodFacts(method),
    routable: false,
    maxAgeMs: undefined,
    paramsSchema: () => undefined,
    prepare: () => fail([{ path: ['method'], message: 'listed, but not to be called', code: 'custom' }]),
  }
}

/** Everything is derived from `readOnly`, so that no table can declare a write as safe. */
function createMethodFacts({ plane, name, secondary, readOnly }: MethodName) {
  return {
    plane,
    name,
    primary: VAILLANT_MANUFACTURER_CODE,
    secondary,
    readOnly,
    mutability: readOnly ? 'read_only' : 'mutating',
    danger: readOnly ? 'safe' : 'dangerous',
  } as const
}

function schemaOf(params: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' })
  return schema as JsonObject
}

export const byteSchema = z.int().min(0).max(0xff)

/** Parameters of every method: the source, and how recent the answer has to be. */
export const commonMethodParams = {
  // The tool compares it with our own address, because a method does not know the bus.
  source: z.unknown().optional().describe('Can be left out.'),
  cache_class: z.unknown().optional().describe('For reads: state or config; max_age_ms says it more exactly.'),
  refresh_class: z.unknown().optional().describe('The same as cache_class.'),
}

/** 6144, "1800" or [24, 0]: all are register 18 00. */
export const registerNumberSchema = z.union(
  [
    z.int().min(0).max(0xffff),
    z
      .string()
      .regex(/^[0-9a-fA-F]{4}$/, 'four hex digits')
      .transform((text) => Number.parseInt(text, 16)),
    z.tuple([byteSchema, byteSchema]).transform(([high, low]) => high * 256 + low),
  ],
  'a number, four hex digits such as "0073", or two bytes, high byte first',
)

/** A list of bytes or a string of hex digits. */
export function createByteListSchema(min: number, max: number): z.ZodType<Uint8Array> {
  return z
    .union(
      [z.array(byteSchema).min(min).max(max), z.string().regex(/^([0-9a-fA-F]{2})*$/, 'hex digits in pairs')],
      `${min} to ${max} bytes, as a list of numbers or as hex digits in pairs`,
    )
    .transform((given) =>
      typeof given === 'string' ? new Uint8Array(Buffer.from(given, 'hex')) : Uint8Array.from(given),
    )
    .refine((bytes) => bytes.length >= min && bytes.length <= max, `${min} to ${max} bytes`)
}

/** Spec 1: "When the controller returns no data, value is invalid." */
export function createMethodAnswerValue(value: Json | undefined): MethodAnswerValue {
  return value === undefined ? { value: null, valid: false } : { value, valid: true }
}

function toEncodedCall({ decode, confirm, ...telegram }: MethodTelegramWithDecoder): PreparedMethodCall {
  return {
    ...telegram,
    decode: (response) => toMethodValues(decode(response)),
    ...(confirm === undefined
      ? {}
      : { confirm: { ...confirm, decode: (response) => toMethodValues(confirm.decode(response)) } }),
  }
}

/** An answer without bytes has no values. */
function toMethodValues(values: MethodAnswer): MethodAnswerValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (!(value instanceof Uint8Array)) return [name, createMethodAnswerValue(value)]
      return [name, createMethodAnswerValue(value.length === 0 ? undefined : toHex(value))]
    }),
  )
}

export function createMissingParamIssue(param: string, or?: string): ArgumentIssue {
  return { path: ['params', param], message: or === undefined ? 'is needed' : `is needed, or ${or}`, code: 'custom' }
}
