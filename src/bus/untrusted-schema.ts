/**
 * Untrusted schema: another node's JSON Schema, rebuilt from the keywords that this node knows. Nothing else of it
 * reaches a validator or a model.
 *
 *   rebuilt    assertions that bounded-validator.ts evaluates · annotations, as visible text of bounded length
 *   dropped    $id, $schema, $comment, examples, $async and every unknown keyword: annotations, by JSON Schema's rules
 *   refused    keywords that assert something which is not evaluated here: without them `not` and `oneOf` would mean
 *              something else · whatever is too large, too deep, refers elsewhere or is visibly too costly
 *
 * The node that offers the capability checks every request itself, against the schema that it wrote.
 */
import { isJsonObject, isNestedWithinDepth } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isPrintableText, sanitizeLine } from '../core/untrusted-text.ts'
import type { JsonSchema } from './capability.ts'
import { explainInvalidRegExp } from './length-limited-regexp.ts'
import { explainSchemaCostViolation, resolveSchemaReference } from './schema-cost.ts'

const MAX_PARTS = 4_000
const MAX_DEPTH = 32
const MAX_TEXT = 65_536
const MAX_REFERENCES = 512
/** The engine compiles each pattern when it is first run, which takes longer than running it. */
const MAX_PATTERNS = 128
const MAX_DESCRIPTION = 1_024
const MAX_TITLE = 128
const MAX_CHOICE = 1_024
const MAX_NAME = 128
const MAX_DEFAULT_DEPTH = 8

/** 2020-12 is MCP's default. Older programs name Draft-07; only what it shares with 2020-12 is accepted. */
const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft-07)\/schema#?$/
const REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/]+)?$/
const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'])
const FORMAT = /^[a-z][a-z-]{0,31}$/

interface Walk {
  readonly root: JsonSchema
  parts: number
  text: number
  references: number
  patterns: number
}

/** Thrown and caught in this file: rebuilding takes thirty small functions, and any of them may refuse. */
class SchemaRefusal extends Error {}

/** The schema as this node uses and shows it, or a sentence about why it does not. */
export function rebuildUntrustedSchema(schema: JsonSchema): Result<JsonSchema, string> {
  const dialect = schema['$schema']
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect)))
    return fail(`its dialect ${quoted(dialect)} is neither 2020-12 nor draft-07`)
  try {
    const rebuilt = objectSchema(
      schema as JsonObject,
      { root: schema, parts: 0, text: 0, references: 0, patterns: 0 },
      0,
    )
    const costly = explainSchemaCostViolation(rebuilt)
    return costly === undefined ? ok(rebuilt) : fail(costly)
  } catch (error) {
    if (error instanceof SchemaRefusal) return fail(error.message)
    throw error
  }
}

type Rebuild = (value: Json, walk: Walk, depth: number) => Json | undefined

const schemaValue: Rebuild = (value, walk, depth) => {
  if (typeof value === 'boolean') {
    count(walk)
    return value
  }
  if (!isJsonObject(value)) throw new SchemaRefusal('a part of it is neither an object nor a boolean')
  return objectSchema(value, walk, depth)
}

const schemaList: Rebuild = (value, walk, depth) => {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaRefusal('a list of schemas in it is not a list')
  return value.map((each: Json) => schemaValue(each, walk, depth) ?? true)
}

const schemaMap: Rebuild = (value, walk, depth) => {
  if (!isJsonObject(value)) throw new SchemaRefusal('a part of it is not an object')
  return fromMembers(
    Object.entries(value).map(([name, each]) => {
      readName(name, walk)
      return [name, schemaValue(each, walk, depth) ?? true]
    }),
  )
}

const patternMap: Rebuild = (value, walk, depth) => {
  if (isJsonObject(value)) for (const pattern of Object.keys(value)) readPattern(pattern, walk)
  return schemaMap(value, walk, depth)
}

/** In Draft-07 `items` may be a list, for which 2020-12 has `prefixItems`. */
const itemsValue: Rebuild = (value, walk, depth) => {
  if (Array.isArray(value)) throw new SchemaRefusal('its `items` is a list, as in drafts before 2020-12')
  return schemaValue(value, walk, depth)
}

const dataList: Rebuild = (value, walk, depth) => {
  if (!Array.isArray(value)) throw new SchemaRefusal('its `enum` is not a list')
  return value.map((each: Json) => dataValue(each, walk, depth) ?? null)
}

/**
 * A value that data is compared with must be exactly the other node's: it is taken as it is, or the schema is refused.
 */
const dataValue: Rebuild = (value, walk, depth) => {
  count(walk)
  if (depth > MAX_DEPTH) throw tooDeep()
  if (typeof value === 'string') readChoice(value, walk)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each: Json) => dataValue(each, walk, depth + 1) ?? null)
  return fromMembers(
    Object.entries(value).map(([name, each]) => {
      readName(name, walk)
      return [name, dataValue(each, walk, depth + 1) ?? null]
    }),
  )
}

const names: Rebuild = (value, walk) => {
  if (!Array.isArray(value)) throw new SchemaRefusal('its `required` is not a list')
  for (const name of value as readonly Json[]) {
    if (typeof name !== 'string') throw new SchemaRefusal('its `required` names something that is not a text')
    count(walk)
    readName(name, walk)
  }
  return [...new Set(value as readonly string[])]
}

const types: Rebuild = (value) => {
  const listed: readonly Json[] = Array.isArray(value) ? value : [value]
  if (listed.length === 0 || listed.length > TYPES.size || !listed.every((type) => TYPES.has(type)))
    throw new SchemaRefusal(`its type ${quoted(value)} is not a type of JSON Schema`)
  return value
}

const size: Rebuild = (value) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new SchemaRefusal('one of its sizes is not a valid size')
  return value
}

const bound: Rebuild = (value) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new SchemaRefusal('one of its bounds is not a number')
  return value
}

const divisor: Rebuild = (value) => {
  if (typeof value !== 'number' || !(value > 0)) throw new SchemaRefusal('its `multipleOf` is not above zero')
  return value
}

const flag: Rebuild = (value) => (typeof value === 'boolean' ? value : undefined)

const pattern: Rebuild = (value, walk) => {
  if (typeof value !== 'string') throw new SchemaRefusal('its pattern is not a text')
  readText(value, walk)
  readPattern(value, walk)
  return value
}

const reference: Rebuild = (value, walk) => {
  if (++walk.references > MAX_REFERENCES) throw new SchemaRefusal(`it has more than ${MAX_REFERENCES} references`)
  if (
    typeof value !== 'string' ||
    !REFERENCE.test(value) ||
    resolveSchemaReference(walk.root as JsonObject, value) === undefined
  )
    throw new SchemaRefusal(`its reference ${quoted(value)} leads to none of its own definitions`)
  return value
}

const words =
  (max: number): Rebuild =>
  (value, walk) => {
    if (typeof value !== 'string') return undefined
    const shown = sanitizeLine(value, max)
    walk.text += shown.length
    return shown === '' ? undefined : shown
  }

/** A default is shown and never applied; one that is large or unreadable is left out. */
const shownDefault: Rebuild = (value, walk) => {
  const text = isNestedWithinDepth(value, MAX_DEFAULT_DEPTH) ? JSON.stringify(value) : undefined
  if (text === undefined || text.length > MAX_CHOICE || !isPrintableText(text)) return undefined
  walk.text += text.length
  return value
}

const format: Rebuild = (value) => (typeof value === 'string' && FORMAT.test(value) ? value : undefined)

const KEYWORDS: ReadonlyMap<string, Rebuild> = new Map<string, Rebuild>([
  ['$ref', reference],
  ['$defs', schemaMap],
  ['definitions', schemaMap],
  ['title', words(MAX_TITLE)],
  ['description', words(MAX_DESCRIPTION)],
  ['default', shownDefault],
  ['format', format],
  ['deprecated', flag],
  ['readOnly', flag],
  ['writeOnly', flag],
  ['type', types],
  ['enum', dataList],
  ['const', dataValue],
  ['properties', schemaMap],
  ['required', names],
  ['additionalProperties', schemaValue],
  ['patternProperties', patternMap],
  ['propertyNames', schemaValue],
  ['minProperties', size],
  ['maxProperties', size],
  ['items', itemsValue],
  ['prefixItems', schemaList],
  ['contains', schemaValue],
  ['minContains', size],
  ['maxContains', size],
  ['minItems', size],
  ['maxItems', size],
  ['uniqueItems', flag],
  ['minLength', size],
  ['maxLength', size],
  ['pattern', pattern],
  ['minimum', bound],
  ['maximum', bound],
  ['exclusiveMinimum', bound],
  ['exclusiveMaximum', bound],
  ['multipleOf', divisor],
  ['allOf', schemaList],
  ['anyOf', schemaList],
  ['oneOf', schemaList],
  ['not', schemaValue],
  ['if', schemaValue],
  ['then', schemaValue],
  ['else', schemaValue],
])

/** Keywords that assert something and are not evaluated here. */
const NOT_TAKEN: ReadonlySet<string> = new Set([
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$anchor',
  '$vocabulary',
  'additionalItems',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
])

function objectSchema(schema: JsonObject, walk: Walk, depth: number): JsonObject {
  count(walk)
  if (depth > MAX_DEPTH) throw tooDeep()
  const members: [string, Json][] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (NOT_TAKEN.has(keyword)) throw new SchemaRefusal(`it uses ${keyword}, which is not taken from other nodes`)
    if (keyword === '$id' && depth > 0) throw new SchemaRefusal('a part of it has an $id of its own')
    const rebuilt = KEYWORDS.get(keyword)?.(value, walk, depth + 1)
    if (rebuilt !== undefined) members.push([keyword, rebuilt])
  }
  if (walk.text > MAX_TEXT) throw new SchemaRefusal(`it has more than ${MAX_TEXT} characters of text`)
  return fromMembers(members)
}

function count(walk: Walk): void {
  if (++walk.parts > MAX_PARTS) throw new SchemaRefusal(`it has more than ${MAX_PARTS} parts`)
}

function readText(text: string, walk: Walk): void {
  walk.text += text.length
  if (walk.text > MAX_TEXT) throw new SchemaRefusal(`it has more than ${MAX_TEXT} characters of text`)
}

function readName(name: string, walk: Walk): void {
  readText(name, walk)
  if (name.length > MAX_NAME || !isPrintableText(name))
    throw new SchemaRefusal(`it names something ${quoted(name)}, which cannot be read or typed`)
}

function readChoice(text: string, walk: Walk): void {
  readText(text, walk)
  if (text.length > MAX_CHOICE || !isPrintableText(text))
    throw new SchemaRefusal(`one of its values is ${quoted(text)}, which cannot be read or typed`)
}

function readPattern(source: string, walk: Walk): void {
  if (++walk.patterns > MAX_PATTERNS) throw new SchemaRefusal(`it has more than ${MAX_PATTERNS} patterns`)
  const wrong = explainInvalidRegExp(source)
  if (wrong !== undefined) throw new SchemaRefusal(wrong)
}

function tooDeep(): SchemaRefusal {
  return new SchemaRefusal(`it is nested deeper than ${MAX_DEPTH} levels`)
}

/** `__proto__` is an ordinary member name in JSON. */
function fromMembers(members: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(members)
}

function quoted(value: unknown): string {
  return sanitizeLine(JSON.stringify(value) ?? 'undefined', 60)
}
