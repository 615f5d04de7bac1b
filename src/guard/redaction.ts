/**
 * Redaction: what of a call may be stored. Secrets are replaced before anything reaches ledger bodies, approvals,
 * stored outcomes or logs, and what is left is cut to a size that can be stored.
 *
 * A value is a secret because of its name, because of what stands beside it, because the offer says so, because its
 * schema is `writeOnly` or has `format: password`, or because its text has the form of a credential.
 */
import type { JsonSchema, Offer } from '../bus/capability.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject, unescapeJsonPointerToken } from '../core/json.ts'
import {
  isSecretName,
  isSecretBySibling,
  isPositionalCallSecret,
  findSiblingMemberFacts,
  truncateAndRedactText,
  REDACTED_PLACEHOLDER,
  redactTextForApprover,
  redactText,
} from './secret-detection.ts'
import type { SiblingMemberFacts } from './secret-detection.ts'

/** How deep a schema is followed. */
const MAX_DEPTH = 16
const CUT = '[cut]'
/** A device's schema can branch without end; beyond this number of steps, every value counts as a secret. */
const MAX_SCHEMA_STEPS = 5_000

/**
 * Who reads the result. Records are read for years by everybody who may. An approver reads once: passwords are hidden
 * from them as well, but code and positional arguments are not, because an approver has to know what they allow.
 */
export type RedactionAudience = 'record' | 'approver'

interface Bounds {
  readonly depth: number
  readonly entries: number
  readonly text: number
  /** Roughly the characters of JSON that come out, names and values together. */
  readonly total: number
}

const RECORD_BOUNDS: Bounds = { depth: 16, entries: 256, text: 4_096, total: 32_768 }
/** Bounds for a value that is small already and must stay complete. */
const WHOLE: Bounds = { depth: 128, entries: Infinity, text: Infinity, total: Infinity }

interface Walk {
  readonly bounds: Bounds
  readonly reader: RedactionAudience
  readonly secrets: ReadonlySet<string>
  readonly root: JsonSchema | undefined
  /** In arguments, a name that is just `code` usually opens something; in a result it is usually an error code. */
  readonly isCodeSecret: boolean
  left: number
  schemaSteps: number
}

/** The arguments of a call as they may be stored, or shown to its approver. */
export function redactArguments(
  body: JsonObject,
  offer?: Pick<Offer, 'requestSchema' | 'secrets'>,
  reader: RedactionAudience = 'record',
): JsonObject {
  const schema = offer === undefined || !marksSecrets(offer.requestSchema) ? undefined : offer.requestSchema
  const walk = newWalk({
    bounds: RECORD_BOUNDS,
    reader,
    secrets: lowerCase(offer?.secrets),
    root: schema,
    isCodeSecret: true,
  })
  return redactObject(body, schema, walk, 0)
}

/** Any other stored value: results, previews, details. A name that is secret in arguments is secret in a result. */
export function redactJson(
  data: Json,
  secretNames: readonly string[] = [],
  reader: RedactionAudience = 'record',
  bounds: Bounds = RECORD_BOUNDS,
): Json {
  const walk = newWalk({ bounds, reader, secrets: lowerCase(secretNames), root: undefined, isCodeSecret: false })
  return redactValue(data, undefined, walk, 0)
}

/** Hides secrets and shortens nothing, for answers that are replayed later. */
export function hideSecretsInJson(
  data: Json,
  secretNames: readonly string[] = [],
  reader: RedactionAudience = 'record',
): Json {
  return redactJson(data, secretNames, reader, WHOLE)
}

function lowerCase(names: readonly string[] = []): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}

function newWalk(walk: Omit<Walk, 'left' | 'schemaSteps'>): Walk {
  return { ...walk, left: walk.bounds.total, schemaSteps: MAX_SCHEMA_STEPS }
}

function redactValue(value: Json, schema: JsonSchema | undefined, walk: Walk, depth: number): Json {
  if (isSecretSchema(schema, walk, 0)) return spend(REDACTED_PLACEHOLDER, walk)
  if (typeof value === 'string') return redactString(value, walk)
  if (typeof value !== 'object' || value === null) return spend(value, walk)
  if (depth >= walk.bounds.depth || walk.left <= 0) return spend(CUT, walk)
  if (isJsonObject(value)) return redactObject(value, schema, walk, depth)
  return redactArray(value, schema, walk, depth)
}

function redactObject(object: JsonObject, schema: JsonSchema | undefined, walk: Walk, depth: number): JsonObject {
  const shownEntries: [string, Json][] = []
  const entries = Object.entries(object)
  const siblings = findSiblingMemberFacts(entries)
  for (const [name, value] of entries.slice(0, walk.bounds.entries)) {
    if (walk.left <= 0) break
    const safeName = truncateAndRedactText(name, walk.bounds.text)
    walk.left -= safeName.length
    const isHidden = isSecret(name, walk) || isHiddenBeside(name, value, { siblings, walk })
    const shown = isHidden
      ? spend(REDACTED_PLACEHOLDER, walk)
      : redactValue(value, propertySchema(schema, name, walk), walk, depth + 1)
    shownEntries.push([safeName, shown])
  }
  if (shownEntries.length < entries.length) shownEntries.push([CUT, entries.length - shownEntries.length])
  // `fromEntries` defines properties, so `__proto__` is an ordinary key here.
  return Object.fromEntries(shownEntries)
}

function redactArray(list: readonly Json[], schema: JsonSchema | undefined, walk: Walk, depth: number): Json {
  const shownItems: Json[] = []
  for (const item of list.slice(0, walk.bounds.entries)) {
    if (walk.left <= 0) break
    shownItems.push(redactValue(item, itemSchema(schema, walk), walk, depth + 1))
  }
  return shownItems.length < list.length ? [...shownItems, `${CUT} ${list.length - shownItems.length}`] : shownItems
}

function redactString(text: string, walk: Walk): Json {
  const maxLength = Math.max(0, Math.min(walk.bounds.text, walk.left))
  const shown = truncateAndRedactText(text, maxLength, walk.reader === 'approver' ? redactTextForApprover : redactText)
  return spend(text.length > maxLength ? `${shown}${CUT}` : shown, walk)
}

function spend(value: string | number | boolean | null, walk: Walk): Json {
  walk.left -= typeof value === 'string' ? value.length + 3 : 8
  return value
}

function isSecret(name: string, walk: Walk): boolean {
  return (
    walk.secrets.has(name.toLowerCase()) || (walk.isCodeSecret && name.toLowerCase() === 'code') || isSecretName(name)
  )
}

function isHiddenBeside(
  name: string,
  value: Json,
  { siblings, walk }: { readonly siblings: SiblingMemberFacts; readonly walk: Walk },
): boolean {
  return (
    isSecretBySibling(name, value, siblings) ||
    (walk.reader === 'record' && isPositionalCallSecret(name, value, siblings))
  )
}

const SECRET_SCHEMA: JsonSchema = { writeOnly: true }
const marked = new WeakMap<JsonSchema, boolean>()

/** Most schemas mark no secrets. This is found out once per schema, not per call. */
function marksSecrets(schema: JsonSchema): boolean {
  const known = marked.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema)
  const marks = /"writeOnly":true|"format":"password"/.test(text)
  marked.set(schema, marks)
  return marks
}

/** One branch that marks the value as a secret is enough, because the branch that applies is not determined here. */
function isSecretSchema(schema: JsonSchema | undefined, walk: Walk, depth: number): boolean {
  if (schema === undefined || depth > MAX_DEPTH) return false
  if (walk.schemaSteps-- <= 0) return true
  if (schema['writeOnly'] === true || schema['format'] === 'password') return true
  return branchesOf(schema, walk).some((branch) => isSecretSchema(branch, walk, depth + 1))
}

function propertySchema(schema: JsonSchema | undefined, name: string, walk: Walk, depth = 0): JsonSchema | undefined {
  if (schema === undefined || depth > MAX_DEPTH) return undefined
  if (walk.schemaSteps-- <= 0) return SECRET_SCHEMA
  const properties = asSchema(schema['properties'])
  const own = properties !== undefined && Object.hasOwn(properties, name) ? asSchema(properties[name]) : undefined
  const found = [
    own ?? asSchema(schema['additionalProperties']),
    ...branchesOf(schema, walk).map((branch) => propertySchema(branch, name, walk, depth + 1)),
  ].filter((candidate) => candidate !== undefined)
  return found.length > 1 ? { anyOf: found } : found[0]
}

function itemSchema(schema: JsonSchema | undefined, walk: Walk, depth = 0): JsonSchema | undefined {
  if (schema === undefined || depth > MAX_DEPTH) return undefined
  if (walk.schemaSteps-- <= 0) return SECRET_SCHEMA
  const found = [
    asSchema(schema['items']),
    ...asSchemas(schema['prefixItems']),
    ...branchesOf(schema, walk).map((branch) => itemSchema(branch, walk, depth + 1)),
  ].filter((candidate) => candidate !== undefined)
  return found.length > 1 ? { anyOf: found } : found[0]
}

function branchesOf(schema: JsonSchema, walk: Walk): readonly JsonSchema[] {
  const referenced = typeof schema['$ref'] === 'string' ? resolve(schema['$ref'], walk.root) : undefined
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => asSchemas(schema[keyword]))
  return referenced === undefined ? branches : [...branches, referenced]
}

/** References within the document, e.g. `#/$defs/Slot`; others are not followed. */
function resolve(reference: string, root: JsonSchema | undefined): JsonSchema | undefined {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const key = unescapeJsonPointerToken(step)
    if (!isJsonObject(found) || !Object.hasOwn(found, key)) return undefined
    found = found[key]
  }
  return asSchema(found)
}

function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : undefined
}

function asSchemas(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.map(asSchema).filter((schema) => schema !== undefined) : []
}
