/**
 * Bounded assertions: the keywords that judge a value by itself, without another schema (JSON Schema 2020-12,
 * Validation, § 6).
 *
 * Pure, but for the run that they are given.
 */
import { canonicalJson, isJsonObject, MAX_REMOTE_JSON_DEPTH } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { listOrNothing } from './schema-cost.ts'
import type { BoundedRuleFactory, StepBoundedValidationState, BoundedKeywordCheck } from './bounded-validation-state.ts'
import {
  addIssue,
  compileRemotePattern,
  matchesRemotePattern,
  spendSteps,
  CHARACTERS_PER_STEP,
  listMemberNames,
} from './bounded-validation-state.ts'

/** Steps charged for sorting the names of an object. */
const OBJECT_STEPS = 12

export const BOUNDED_ASSERTIONS: Readonly<Record<string, BoundedRuleFactory>> = {
  type: (argument) => {
    const listed: readonly Json[] = Array.isArray(argument) ? argument : [argument]
    const types = new Set(listed.filter((type) => typeof type === 'string'))
    const message = `must be ${[...types].join(' or ')}`
    return (value, run) => isOfType(value, types) || addIssue(run, 'type', message)
  },
  enum: (argument) => {
    const choices = new Set(listOrNothing(argument).map(keyOf))
    return (value, run) => isKeyed(value, choices, run) || addIssue(run, 'enum', 'must be one of the listed values')
  },
  const: (argument) => {
    const choices = new Set([keyOf(argument)])
    return (value, run) => isKeyed(value, choices, run) || addIssue(run, 'const', 'must be the one allowed value')
  },
  minimum: numeric((value, least) => value >= least, 'minimum', '>='),
  maximum: numeric((value, most) => value <= most, 'maximum', '<='),
  exclusiveMinimum: numeric((value, below) => value > below, 'exclusiveMinimum', '>'),
  exclusiveMaximum: numeric((value, above) => value < above, 'exclusiveMaximum', '<'),
  multipleOf: numeric(isMultiple, 'multipleOf', 'a multiple of'),
  minLength: sized(lengthOf, 'minLength', 'characters'),
  maxLength: sized(lengthOf, 'maxLength', 'characters'),
  pattern: (argument) => {
    if (typeof argument !== 'string') return undefined
    const expression = compileRemotePattern(argument)
    return (value, run) =>
      typeof value !== 'string' ||
      matchesRemotePattern(expression, value, run) ||
      addIssue(run, 'pattern', 'does not match its pattern')
  },
  minItems: sized(itemsIn, 'minItems', 'items'),
  maxItems: sized(itemsIn, 'maxItems', 'items'),
  uniqueItems: (argument) => (argument === true ? uniqueItems : undefined),
  required: (argument) => {
    const names = listOrNothing(argument).map(String)
    return (value, run) => {
      if (!isJsonObject(value)) return true
      const missing = spendSteps(run, names.length) ? names.filter((name) => !Object.hasOwn(value, name)) : names
      for (const name of missing) addIssue(run, 'required', `must have required property '${name}'`, name)
      return missing.length === 0
    }
  },
  minProperties: sized(membersIn, 'minProperties', 'properties'),
  maxProperties: sized(membersIn, 'maxProperties', 'properties'),
}

function isOfType(value: Json, types: ReadonlySet<string>): boolean {
  if (value === null) return types.has('null')
  if (typeof value === 'number') return types.has('number') || (types.has('integer') && Number.isInteger(value))
  if (typeof value === 'object') return types.has(Array.isArray(value) ? 'array' : 'object')
  return types.has(typeof value)
}

/** Text that is the same for equal values and for no others; numbers are equal by value. */
function keyOf(value: Json): string {
  if (typeof value === 'string') return `"${value}`
  return typeof value === 'object' && value !== null ? canonicalJson(value) : String(value)
}

function isKeyed(value: Json, choices: ReadonlySet<string>, run: StepBoundedValidationState): boolean {
  return spendSteps(run, stepsOf(value, run.left)) && choices.has(keyOf(value))
}

/** The steps that serialising a value takes. Counting stops at `most`; a value that is nested too deep costs `most`. */
function stepsOf(value: Json, most: number, depth = 0): number {
  if (typeof value === 'string') return 1 + value.length / CHARACTERS_PER_STEP
  if (typeof value !== 'object' || value === null) return 1
  if (depth > MAX_REMOTE_JSON_DEPTH) return Infinity
  let steps = OBJECT_STEPS
  for (const name of Object.keys(value)) {
    if (steps > most) break
    steps +=
      2 + name.length / CHARACTERS_PER_STEP + stepsOf((value as JsonObject)[name] ?? null, most - steps, depth + 1)
  }
  return steps
}

const uniqueItems: BoundedKeywordCheck = (value, run) => {
  if (!Array.isArray(value)) return true
  const seen = new Set<string>()
  for (const item of value as readonly Json[]) {
    if (!spendSteps(run, stepsOf(item, run.left))) return false
    const key = keyOf(item)
    if (seen.has(key)) return addIssue(run, 'uniqueItems', 'must NOT have the same item twice')
    seen.add(key)
  }
  return true
}

function numeric(isFine: (value: number, bound: number) => boolean, code: string, words: string): BoundedRuleFactory {
  return (argument) => {
    const bound = Number(argument)
    const message = `must be ${words} ${bound}`
    return (value, run) => typeof value !== 'number' || isFine(value, bound) || addIssue(run, code, message)
  }
}

/** `sizeOf` gives `undefined` for values that have no such size. */
function sized(
  sizeOf: (value: Json, run: StepBoundedValidationState) => number | undefined,
  code: string,
  unit: string,
): BoundedRuleFactory {
  return (argument) => {
    const bound = Number(argument)
    const isLeast = code.startsWith('min')
    const message = `must NOT have ${isLeast ? 'fewer' : 'more'} than ${bound} ${unit}`
    return (value, run) => {
      const size = spendSteps(run, typeof value === 'string' ? value.length / CHARACTERS_PER_STEP : 0)
        ? sizeOf(value, run)
        : 0
      if (size === undefined) return true
      return (
        spendSteps(run, size / CHARACTERS_PER_STEP) &&
        ((isLeast ? size >= bound : size <= bound) || addIssue(run, code, message))
      )
    }
  }
}

/** JSON Schema counts code points. */
function lengthOf(value: Json): number | undefined {
  if (typeof value !== 'string') return undefined
  let length = 0
  for (const _ of value) length++
  return length
}

function itemsIn(value: Json): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

function membersIn(value: Json, run: StepBoundedValidationState): number | undefined {
  return isJsonObject(value) ? listMemberNames(value, run).length : undefined
}

/** 0.3 is a multiple of 0.1, although their quotient in binary is not a whole number. */
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Number.isFinite(quotient) && Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))
}
