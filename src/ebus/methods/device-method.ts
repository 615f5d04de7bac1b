/**
 * Method: something that can be asked of a device by name, and the telegram that asks it.
 *
 *   name and parameters ─▶ prepared: data to send, how to read the answer, what it would do to the house
 *
 * Everything here depends on name and parameters alone, never on what is on the bus now: what the guard was told a call
 * would do is what the call does.
 */
import { z } from 'zod'
import type { Effect, ArgumentIssue } from '../../bus/capability.ts'
import { toHex } from '../../core/bytes.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'

/** `system` and `timer` can be called; the others are the contract's class planes, listed only. */
export type MethodPlaneName = 'system' | 'timer' | 'heating' | 'dhw' | 'solar'

/** A named value of an answer. An invalid one is `null`: the device had nothing to say. */
export interface MethodAnswerValue extends JsonObject {
  readonly value: Json
  readonly valid: boolean
}
export type MethodValues = Readonly<Record<string, MethodAnswerValue>>

/** What an answer says, by name; bytes are shown as hex, and what the device did not say is `undefined`. */
export type MethodAnswer = Readonly<Record<string, Json | Uint8Array | undefined>>

export interface MethodTelegram<Answer = MethodAnswer> {
  readonly data: Uint8Array
  readonly effect: Effect
  /** What would be changed, for limits and approvals: `b524/02.03.00.0022`. */
  readonly actuator: string
  readonly decode: (response: Uint8Array) => Answer
  /** Reads what a write has changed, and says whether that is it. */
  readonly confirm?: {
    readonly data: Uint8Array
    readonly holds: (response: Uint8Array) => boolean
    readonly decode: (response: Uint8Array) => Answer
  }
}

export type EncodedMethodCall = MethodTelegram<MethodValues>

/** What is listed of a method, whether the built-in tables have it or a definition file. */
export interface MethodSummary {
  readonly name: string
  /** PB and SB of the telegram: 0xB5 and, for extended registers, 0x24. */
  readonly primary: number
  readonly secondary: number
  readonly readOnly: boolean
  /** `unknown` is the contract's word for methods of other makers; ours are all known. */
  readonly mutability: 'read_only' | 'mutating' | 'unknown'
  readonly danger: 'safe' | 'dangerous' | 'unknown'
  /** Listed, but only to be had through the semantic tools. */
  readonly routable: boolean
  /** Of a method by definition: the access level that its file names, empty for everybody's. */
  readonly level?: string
  readonly comment?: string
  /** What it takes, as JSON Schema; `undefined` for what cannot be called. */
  readonly paramsSchema: () => JsonObject | undefined
}

export interface DeviceMethod extends MethodSummary {
  readonly plane: MethodPlaneName
  /** How old an answer may be that is served again; `undefined` for what is never kept. */
  readonly maxAgeMs: number | undefined
  readonly prepare: (params: JsonObject) => Result<EncodedMethodCall, readonly ArgumentIssue[]>
}

/** The older gateway's two classes: what moves may be a minute old, what somebody has set five. */
export const STATE_VALUE_MAX_AGE_MS = 60_000
export const CONFIG_VALUE_MAX_AGE_MS = 300_000

type MethodName = Pick<DeviceMethod, 'plane' | 'name' | 'secondary' | 'readOnly'>

interface Definition<Params> extends MethodName {
  readonly maxAgeMs?: number
  readonly params: z.ZodType<Params>
  readonly prepare: (params: Params) => MethodTelegram | readonly ArgumentIssue[]
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
            // Where the caller finds it: method parameters stand inside `params` of rpc.invoke.
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

/** For methods that are listed and cannot be called: spec 1 keeps heat-source planes out of what is routable. */
export function defineUncallableMethod(method: MethodName): DeviceMethod {
  return {
    ...createMethodFacts(method),
    routable: false,
    maxAgeMs: undefined,
    paramsSchema: () => undefined,
    prepare: () => fail([{ path: ['method'], message: 'listed, but not to be called', code: 'custom' }]),
  }
}

/** Everything follows from `readOnly`, so that no table can say safe of something that writes. */
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

/** What every method takes beside its own: who asks, and how fresh the answer has to be. */
export const commonMethodParams = {
  // Checked against our own address by the tool: a method knows of no bus.
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
export function createMethodValue(value: Json | undefined): MethodAnswerValue {
  return value === undefined ? { value: null, valid: false } : { value, valid: true }
}

function toEncodedCall({ decode, confirm, ...telegram }: MethodTelegram): EncodedMethodCall {
  return {
    ...telegram,
    decode: (response) => toMethodValues(decode(response)),
    ...(confirm === undefined
      ? {}
      : { confirm: { ...confirm, decode: (response) => toMethodValues(confirm.decode(response)) } }),
  }
}

/** No bytes at all are no value. */
function toMethodValues(values: MethodAnswer): MethodValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (!(value instanceof Uint8Array)) return [name, createMethodValue(value)]
      return [name, createMethodValue(value.length === 0 ? undefined : toHex(value))]
    }),
  )
}

export function createMissingParamIssue(param: string, or?: string): ArgumentIssue {
  return { path: ['params', param], message: or === undefined ? 'is needed' : `is needed, or ${or}`, code: 'custom' }
}
