/**
 * Bounded validator: checks a value against another node's schema in a bounded number of steps, whatever the value and
 * the schema are.
 *
 * A compiled validator cannot be stopped before it is done. This one evaluates the schema as it is written and counts:
 * every visit of a value, every member, item and alternative, and texts by their length. When the steps are used up the
 * answer is that the check is too costly, which is neither yes nor no.
 *
 * Evaluates what untrusted-schema.ts rebuilds, by the rules of JSON Schema 2020-12; formats are annotations.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { ArgumentIssue, JsonSchema } from './capability.ts'
import type { LengthLimitedRegExp } from './length-limited-regexp.ts'
import { listOrNothing, resolveSchemaReference } from './schema-cost.ts'
import type { StepBoundedValidationState, BoundedKeywordCheck, BoundedRuleFactory } from './bounded-validation-state.ts'
import {
  spendSteps,
  addIssue,
  MAX_VALIDATION_ISSUES,
  listMemberNames,
  matchesRemotePattern,
  compileRemotePattern,
} from './bounded-validation-state.ts'
import { BOUNDED_ASSERTIONS } from './bounded-assertions.ts'

export type ValidationVerdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly issues: readonly ArgumentIssue[] }
  | { readonly kind: 'too-costly'; readonly why: string }

export type BoundedValidator = (value: unknown) => ValidationVerdict

/** About 30 ms at most; the answer of a thousand devices with all their fields needs a third of these steps. */
const MAX_STEPS = 200_000
/** Limit of the evaluation's own depth: a schema can follow references without going deeper into the data. */
const MAX_EVALUATION_DEPTH = 512
const VALID: ValidationVerdict = { kind: 'valid' }

/** `schema` must have been made by `rebuildUntrustedSchema`. */
export function compileBoundedValidator(schema: JsonSchema, maxSteps = MAX_STEPS): BoundedValidator {
  const root = schema as JsonObject
  return (value) => {
    const run: StepBoundedValidationState = {
      root,
      left: maxSteps,
      depth: 0,
      path: [],
      issues: [],
      silent: 0,
      names: new Map(),
    }
    const isValid = holds(root, value as Json, run)
    if (run.left <= 0) return tooCostly(`it takes more than ${maxSteps} steps`)
    if (run.depth < 0) return tooCostly(`its schema follows references more than ${MAX_EVALUATION_DEPTH} times`)
    return isValid ? VALID : { kind: 'invalid', issues: run.issues }
  }
}

function tooCostly(why: string): ValidationVerdict {
  return { kind: 'too-costly', why }
}

function holds(schema: Json, value: Json, run: StepBoundedValidationState): boolean {
  if (!spendSteps(run, 1)) return false
  if (typeof schema === 'boolean') return schema || addIssue(run, 'false schema', 'is not allowed here')
  if (!isJsonObject(schema)) return true
  if (run.depth < 0 || ++run.depth > MAX_EVALUATION_DEPTH) {
    run.depth = Number.NEGATIVE_INFINITY
    return false
  }
  let isValid = true
  for (const rule of rulesOf(schema)) {
    if (!rule(value, run)) {
      isValid = false
      // Outside of alternatives every issue is collected; inside of one, the first is enough.
      if (run.silent > 0 || run.left <= 0 || run.issues.length >= MAX_VALIDATION_ISSUES) break
    }
  }
  run.depth--
  return isValid
}

/** Evaluates an alternative that may fail without the whole schema failing; its issues are not reported. */
function quietly(schema: Json, value: Json, run: StepBoundedValidationState): boolean {
  run.silent++
  const isValid = holds(schema, value, run)
  run.silent--
  return isValid
}

function at(step: string | number, schema: Json, value: Json, run: StepBoundedValidationState): boolean {
  run.path.push(step)
  const isValid = holds(schema, value, run)
  run.path.pop()
  return isValid
}

const known = new WeakMap<JsonObject, readonly BoundedKeywordCheck[]>()

function rulesOf(schema: JsonObject): readonly BoundedKeywordCheck[] {
  const made = known.get(schema)
  if (made !== undefined) return made
  const rules = Object.entries(schema).flatMap(([keyword, argument]) => {
    const makeRule = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined
    const rule = makeRule?.(argument, schema)
    return rule === undefined ? [] : [rule]
  })
  known.set(schema, rules)
  return rules
}

/** The keywords that apply other schemas, to the value or to what is in it (JSON Schema 2020-12, Core, § 10). */
const APPLICATORS: Readonly<Record<string, BoundedRuleFactory>> = {
  $ref: (argument) => (value, run) => holds(resolveSchemaReference(run.root, argument) ?? true, value, run),
  allOf: (argument) => (value, run) => listOrNothing(argument).every((each) => holds(each, value, run)),
  anyOf: (argument) => (value, run) =>
    listOrNothing(argument).some((each) => run.left > 0 && quietly(each, value, run)) ||
    addIssue(run, 'anyOf', 'fits none of the alternatives'),
  oneOf: (argument) => (value, run) => {
    let fitting = 0
    for (const each of listOrNothing(argument)) if (fitting < 2 && run.left > 0 && quietly(each, value, run)) fitting++
    return fitting === 1 || addIssue(run, 'oneOf', 'must fit exactly one of the alternatives')
  },
  not: (argument) => (value, run) =>
    !quietly(argument, value, run) || addIssue(run, 'not', 'matches what it must not match'),
  if: (argument, { then: thenSchema = true, else: elseSchema = true }) => {
    return (value, run) => holds(quietly(argument, value, run) ? thenSchema : elseSchema, value, run)
  },
  prefixItems: (argument) => (value, run) =>
    !Array.isArray(value) ||
    listOrNothing(argument).every((each, index) => index >= value.length || at(index, each, value[index] as Json, run)),
  items: (argument, schema) => {
    const first = listOrNothing(schema['prefixItems']).length
    return (value, run) => {
      if (!Array.isArray(value)) return true
      for (let index = first; index < value.length; index++)
        if (!at(index, argument, value[index] as Json, run)) return false
      return true
    }
  },
  contains: (argument, schema) => contains(argument, schema),
  propertyNames: (argument) => (value, run) => {
    if (!isJsonObject(value)) return true
    for (const name of listMemberNames(value, run)) if (!at(name, argument, name, run)) return false
    return true
  },
  properties: (argument) => {
    const properties = isJsonObject(argument) ? Object.entries(argument) : []
    return (value, run) => {
      if (!isJsonObject(value) || !spendSteps(run, properties.length)) return !isJsonObject(value)
      let isValid = true
      for (const [name, schema] of properties)
        if (Object.hasOwn(value, name) && !at(name, schema, value[name] ?? null, run)) isValid = false
      return isValid
    }
  },
  patternProperties: (argument) => {
    const patterns = patternsOf(argument)
    return (value, run) => {
      if (!isJsonObject(value)) return true
      for (const name of listMemberNames(value, run))
        for (const [expression, schema] of patterns)
          if (matchesRemotePattern(expression, name, run) && !at(name, schema, value[name] ?? null, run)) return false
      return true
    }
  },
  additionalProperties: (argument, schema) => {
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
    const patterns = patternsOf(schema['patternProperties'])
    const message = 'must NOT have additional properties'
    return (value, run) => {
      if (!isJsonObject(value)) return true
      let isValid = true
      for (const name of listMemberNames(value, run)) {
        if (!spendSteps(run, 1)) return false
        if (Object.hasOwn(properties, name) || patterns.some(([each]) => matchesRemotePattern(each, name, run)))
          continue
        if (argument === false) isValid = addIssue(run, 'additionalProperties', message, name)
        else if (!at(name, argument, value[name] ?? null, run)) isValid = false
      }
      return isValid
    }
  },
}

const KEYWORDS: Readonly<Record<string, BoundedRuleFactory>> = { ...BOUNDED_ASSERTIONS, ...APPLICATORS }

function contains(argument: Json, schema: JsonObject): BoundedKeywordCheck {
  const least = Number(schema['minContains'] ?? 1)
  const most = Number(schema['maxContains'] ?? Infinity)
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let fitting = 0
    for (const item of value as readonly Json[]) if (run.left > 0 && quietly(argument, item, run)) fitting++
    return (fitting >= least && fitting <= most) || addIssue(run, 'contains', 'has too few or too many matching items')
  }
}

function patternsOf(argument: Json | undefined): readonly (readonly [LengthLimitedRegExp, Json])[] {
  if (!isJsonObject(argument)) return []
  return Object.entries(argument).map(([source, schema]) => [compileRemotePattern(source), schema])
}
