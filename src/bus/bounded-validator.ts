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
import { canonicalJson, isJsonObject, MAX_REMOTE_JSON_DEPTH } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { ArgumentIssue, JsonSchema } from './capability.ts'
import { compileBoundedPattern } from './bounded-pattern.ts'
import type { BoundedPattern } from './bounded-pattern.ts'
import { listOrNothing, resolveSchemaReference } from './schema-cost.ts'

export type ValidationVerdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly issues: readonly ArgumentIssue[] }
  | { readonly kind: 'too-costly'; readonly why: string }

export type BoundedValidator = (value: unknown) => ValidationVerdict

/** About 30 ms at most; the answer of a thousand devices with all their fields needs a third of these steps. */
const MAX_STEPS = 200_000
/** Limit of the evaluation's own depth: a schema can follow references without going deeper into the data. */
const MAX_EVALUATION_DEPTH = 512
const MAX_ISSUES = 20
/** Characters that are read in one step. */
const TEXT_PER_STEP = 16
/** Steps charged for sorting the names of an object. */
const OBJECT_STEPS = 12
/** Steps charged for starting a pattern. */
const PATTERN_START = 16
/** So many steps of a pattern take as long as one step of the validator. */
const PATTERN_PER_STEP = 4
/** Limit for one pattern on one text. */
const PATTERN_STEPS = 20_000

const VALID: ValidationVerdict = { kind: 'valid' }

/** `schema` must have been made by `rebuildUntrustedSchema`. */
export function compileBoundedValidator(schema: JsonSchema, maxSteps = MAX_STEPS): BoundedValidator {
  const root = schema as JsonObject
  return (value) => {
    const run: Run = { root, left: maxSteps, depth: 0, path: [], issues: [], silent: 0, names: new Map() }
    const isValid = holds(root, value as Json, run)
    if (run.left <= 0) return tooCostly(`it takes more than ${maxSteps} steps`)
    if (run.depth < 0) return tooCostly(`its schema follows references more than ${MAX_EVALUATION_DEPTH} times`)
    return isValid ? VALID : { kind: 'invalid', issues: run.issues }
  }
}

function tooCostly(why: string): ValidationVerdict {
  return { kind: 'too-costly', why }
}

interface Run {
  readonly root: JsonObject
  /** Once this is zero or less, the steps are used up: all loops end and no result counts any more. */
  left: number
  /** Negative once the evaluation was nested too deep. */
  depth: number
  readonly path: (string | number)[]
  readonly issues: ArgumentIssue[]
  /** Above zero while an alternative is evaluated that may fail without the whole schema failing. */
  silent: number
  /** The names of every object that was looked into. */
  readonly names: Map<object, readonly string[]>
}

function holds(schema: Json, value: Json, run: Run): boolean {
  if (!spend(run, 1)) return false
  if (typeof schema === 'boolean') return schema || wrong(run, 'false schema', 'is not allowed here')
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
      if (run.silent > 0 || run.left <= 0 || run.issues.length >= MAX_ISSUES) break
    }
  }
  run.depth--
  return isValid
}

function spend(run: Run, steps: number): boolean {
  run.left -= steps
  return run.left > 0
}

function wrong(run: Run, code: string, message: string, name?: string): false {
  if (run.silent === 0 && run.issues.length < MAX_ISSUES)
    run.issues.push({ path: name === undefined ? [...run.path] : [...run.path, name], message, code })
  return false
}

/** Evaluates an alternative that may fail without the whole schema failing; its issues are not reported. */
function quietly(schema: Json, value: Json, run: Run): boolean {
  run.silent++
  const isValid = holds(schema, value, run)
  run.silent--
  return isValid
}

function at(step: string | number, schema: Json, value: Json, run: Run): boolean {
  run.path.push(step)
  const isValid = holds(schema, value, run)
  run.path.pop()
  return isValid
}

type Rule = (value: Json, run: Run) => boolean
type MakeRule = (argument: Json, schema: JsonObject) => Rule | undefined

const known = new WeakMap<JsonObject, readonly Rule[]>()

function rulesOf(schema: JsonObject): readonly Rule[] {
  const made = known.get(schema)
  if (made !== undefined) return made
  const rules = Object.entries(schema).flatMap(([keyword, argument]) => {
    const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword]?.(argument, schema) : undefined
    return rule === undefined ? [] : [rule]
  })
  known.set(schema, rules)
  return rules
}

const RULES: Readonly<Record<string, MakeRule>> = {
  type: (argument) => {
    const listed: readonly Json[] = Array.isArray(argument) ? argument : [argument]
    const types = new Set(listed.filter((type) => typeof type === 'string'))
    const message = `must be ${[...types].join(' or ')}`
    return (value, run) => isOfType(value, types) || wrong(run, 'type', message)
  },
  enum: (argument) => {
    const choices = new Set(listOrNothing(argument).map(keyOf))
    return (value, run) => isKeyed(value, choices, run) || wrong(run, 'enum', 'must be one of the listed values')
  },
  const: (argument) => {
    const choices = new Set([keyOf(argument)])
    return (value, run) => isKeyed(value, choices, run) || wrong(run, 'const', 'must be the one allowed value')
  },
  $ref: (argument) => (value, run) => holds(resolveSchemaReference(run.root, argument) ?? true, value, run),
  allOf: (argument) => (value, run) => listOrNothing(argument).every((each) => holds(each, value, run)),
  anyOf: (argument) => (value, run) =>
    listOrNothing(argument).some((each) => run.left > 0 && quietly(each, value, run)) ||
    wrong(run, 'anyOf', 'fits none of the alternatives'),
  oneOf: (argument) => (value, run) => {
    let fitting = 0
    for (const each of listOrNothing(argument)) if (fitting < 2 && run.left > 0 && quietly(each, value, run)) fitting++
    return fitting === 1 || wrong(run, 'oneOf', 'must fit exactly one of the alternatives')
  },
  not: (argument) => (value, run) =>
    !quietly(argument, value, run) || wrong(run, 'not', 'matches what it must not match'),
  if: (argument, { then: yes = true, else: no = true }) => {
    return (value, run) => holds(quietly(argument, value, run) ? yes : no, value, run)
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
    const expression = strangersPattern(argument)
    return (value, run) =>
      typeof value !== 'string' || fits(expression, value, run) || wrong(run, 'pattern', 'does not match its pattern')
  },
  minItems: sized(itemsIn, 'minItems', 'items'),
  maxItems: sized(itemsIn, 'maxItems', 'items'),
  uniqueItems: (argument) => (argument === true ? uniqueItems : undefined),
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
  required: (argument) => {
    const names = listOrNothing(argument).map(String)
    return (value, run) => {
      if (!isJsonObject(value)) return true
      const missing = spend(run, names.length) ? names.filter((name) => !Object.hasOwn(value, name)) : names
      for (const name of missing) wrong(run, 'required', `must have required property '${name}'`, name)
      return missing.length === 0
    }
  },
  minProperties: sized(membersIn, 'minProperties', 'properties'),
  maxProperties: sized(membersIn, 'maxProperties', 'properties'),
  propertyNames: (argument) => (value, run) => {
    if (!isJsonObject(value)) return true
    for (const name of namesOf(value, run)) if (!at(name, argument, name, run)) return false
    return true
  },
  properties: (argument) => {
    const properties = isJsonObject(argument) ? Object.entries(argument) : []
    return (value, run) => {
      if (!isJsonObject(value) || !spend(run, properties.length)) return !isJsonObject(value)
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
      for (const name of namesOf(value, run))
        for (const [expression, schema] of patterns)
          if (fits(expression, name, run) && !at(name, schema, value[name] ?? null, run)) return false
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
      for (const name of namesOf(value, run)) {
        if (!spend(run, 1)) return false
        if (Object.hasOwn(properties, name) || patterns.some(([each]) => fits(each, name, run))) continue
        if (argument === false) isValid = wrong(run, 'additionalProperties', message, name)
        else if (!at(name, argument, value[name] ?? null, run)) isValid = false
      }
      return isValid
    }
  },
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

function isKeyed(value: Json, choices: ReadonlySet<string>, run: Run): boolean {
  return spend(run, stepsOf(value, run.left)) && choices.has(keyOf(value))
}

/** The steps that serialising a value takes. Counting stops at `most`; a value that is nested too deep costs `most`. */
function stepsOf(value: Json, most: number, depth = 0): number {
  if (typeof value === 'string') return 1 + value.length / TEXT_PER_STEP
  if (typeof value !== 'object' || value === null) return 1
  if (depth > MAX_REMOTE_JSON_DEPTH) return Infinity
  let steps = OBJECT_STEPS
  for (const name of Object.keys(value)) {
    if (steps > most) break
    steps += 2 + name.length / TEXT_PER_STEP + stepsOf((value as JsonObject)[name] ?? null, most - steps, depth + 1)
  }
  return steps
}

const uniqueItems: Rule = (value, run) => {
  if (!Array.isArray(value)) return true
  const seen = new Set<string>()
  for (const item of value as readonly Json[]) {
    if (!spend(run, stepsOf(item, run.left))) return false
    const key = keyOf(item)
    if (seen.has(key)) return wrong(run, 'uniqueItems', 'must NOT have the same item twice')
    seen.add(key)
  }
  return true
}

function contains(argument: Json, schema: JsonObject): Rule {
  const least = Number(schema['minContains'] ?? 1)
  const most = Number(schema['maxContains'] ?? Infinity)
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let fitting = 0
    for (const item of value as readonly Json[]) if (run.left > 0 && quietly(argument, item, run)) fitting++
    return (fitting >= least && fitting <= most) || wrong(run, 'contains', 'has too few or too many matching items')
  }
}

function numeric(isFine: (value: number, bound: number) => boolean, code: string, words: string): MakeRule {
  return (argument) => {
    const bound = Number(argument)
    const message = `must be ${words} ${bound}`
    return (value, run) => typeof value !== 'number' || isFine(value, bound) || wrong(run, code, message)
  }
}

/** `sizeOf` gives `undefined` for values that have no such size. */
function sized(sizeOf: (value: Json, run: Run) => number | undefined, code: string, unit: string): MakeRule {
  return (argument) => {
    const bound = Number(argument)
    const isLeast = code.startsWith('min')
    const message = `must NOT have ${isLeast ? 'fewer' : 'more'} than ${bound} ${unit}`
    return (value, run) => {
      const size = spend(run, typeof value === 'string' ? value.length / TEXT_PER_STEP : 0) ? sizeOf(value, run) : 0
      if (size === undefined) return true
      return (
        spend(run, size / TEXT_PER_STEP) && ((isLeast ? size >= bound : size <= bound) || wrong(run, code, message))
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

function membersIn(value: Json, run: Run): number | undefined {
  return isJsonObject(value) ? namesOf(value, run).length : undefined
}

/**
 * The names of an object's members. Listing them takes time for each name, however soon a loop over them ends. An
 * object is therefore listed once, at one step per name, and not again for every alternative that looks at it.
 */
function namesOf(value: JsonObject, run: Run): readonly string[] {
  const listed = run.names.get(value)
  if (listed !== undefined) return listed
  const names = Object.keys(value)
  run.names.set(value, names)
  return spend(run, names.length) ? names : []
}

/** 0.3 is a multiple of 0.1, although their quotient in binary is not a whole number. */
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Number.isFinite(quotient) && Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))
}

function strangersPattern(source: string): BoundedPattern {
  return compileBoundedPattern(source, 'u', PATTERN_STEPS)
}

/** Charges the highest cost that the pattern's limit allows for a text of this length. */
function fits(expression: BoundedPattern, text: string, run: Run): boolean {
  return spend(run, PATTERN_START + expression.steps(text.length) / PATTERN_PER_STEP) && expression.test(text)
}

function patternsOf(argument: Json | undefined): readonly (readonly [BoundedPattern, Json])[] {
  if (!isJsonObject(argument)) return []
  return Object.entries(argument).map(([source, schema]) => [strangersPattern(source), schema])
}
