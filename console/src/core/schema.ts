/**
 * Schema: what a form needs to know about a JSON Schema. Schemas come from our own tools, from devices and from other
 * nodes; what cannot be shown as fields is edited as JSON.
 */
import { at, isObject, listAt, numberAt, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly required: boolean
  readonly description: string
  readonly choices: readonly Json[]
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  readonly byDefault: Json | undefined
  readonly secret: boolean
  readonly long: boolean
}

const MAX_FIELDS = 60
const MAX_CHOICES = 200
const LONG_TEXT = 300

export function fieldsOf(schema: JsonObject): readonly Field[] {
  const required = new Set(listAt(schema, 'required'))
  const properties = at(schema, 'properties')
  if (!isObject(properties)) return []
  return Object.entries(properties)
    .slice(0, MAX_FIELDS)
    .map(([name, property]) => fieldOf(name, isObject(property) ? property : {}, schema, required.has(name)))
}

function fieldOf(name: string, given: JsonObject, root: JsonObject, required: boolean): Field {
  const property = resolved(given, root)
  const choices = choicesOf(property)
  const byDefault = at(given, 'default') ?? at(property, 'default')
  return {
    name,
    kind: choices.length > 0 ? 'choice' : kindOf(property),
    // What has a default need not be said.
    required: required && byDefault === undefined,
    description: stringAt(given, 'description') ?? stringAt(property, 'description') ?? '',
    choices,
    minimum: bound(numberAt(property, 'minimum')),
    maximum: bound(numberAt(property, 'maximum')),
    byDefault,
    secret: property['writeOnly'] === true || property['format'] === 'password',
    long: (numberAt(property, 'maxLength') ?? 0) > LONG_TEXT,
  }
}

/** References within the document, one step; `anyOf [X, null]` is X. */
function resolved(property: JsonObject, root: JsonObject): JsonObject {
  const reference = stringAt(property, '$ref')
  if (reference !== undefined && reference.startsWith('#/')) {
    const target = at(root, ...reference.slice(2).split('/'))
    if (isObject(target)) return target
  }
  const branches = [...listAt(property, 'anyOf'), ...listAt(property, 'oneOf')].filter(
    (branch) => isObject(branch) && branch['type'] !== 'null',
  )
  const [only] = branches
  return branches.length === 1 && isObject(only) ? only : property
}

function choicesOf(property: JsonObject): readonly Json[] {
  if (Object.hasOwn(property, 'const')) return [property['const'] ?? null]
  const choices = listAt(property, 'enum')
  if (choices.length > 0) return choices.slice(0, MAX_CHOICES)
  const constants = listAt(property, 'anyOf').flatMap((branch) =>
    isObject(branch) && Object.hasOwn(branch, 'const') ? [branch['const'] ?? null] : [],
  )
  return constants.length > 1 && constants.length === listAt(property, 'anyOf').length ? constants : []
}

function kindOf(property: JsonObject): FieldKind {
  const type = property['type']
  const name = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  switch (name) {
    case 'string':
      return 'text'
    case 'number':
    case 'integer':
    case 'boolean':
      return name
    default:
      return 'json'
  }
}

function bound(value: number | undefined): number | undefined {
  return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value
}

/** What is typed into fields, by name; `undefined` is left out. */
export type Draft = Readonly<Record<string, string | boolean | undefined>>

export function draftOf(fields: readonly Field[], given: JsonObject): Draft {
  return Object.fromEntries(
    fields.map((field) => {
      const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined
      if (value === undefined || value === null) return [field.name, undefined]
      if (field.kind === 'boolean') return [field.name, value === true]
      if (field.kind === 'json' || field.kind === 'choice') return [field.name, JSON.stringify(value)]
      return [field.name, typeof value === 'string' ? value : JSON.stringify(value)]
    }),
  )
}

export type Read = { readonly ok: true; readonly body: JsonObject } | { readonly ok: false; readonly flaw: string }

/** The arguments that a draft stands for, or what is wrong with it. The gateway checks all of it again. */
export function readDraft(fields: readonly Field[], draft: Draft): Read {
  const body: [string, Json][] = []
  for (const field of fields) {
    const typed = draft[field.name]
    if (typed === undefined || typed === '') {
      if (field.required) return { ok: false, flaw: `${field.name} is needed.` }
      continue
    }
    const value = readField(field, typed)
    if (value === undefined) return { ok: false, flaw: `${field.name} is not ${KIND_WORDS[field.kind]}.` }
    body.push([field.name, value])
  }
  return { ok: true, body: Object.fromEntries(body) }
}

const KIND_WORDS: Readonly<Record<FieldKind, string>> = {
  text: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'yes or no',
  choice: 'one of the choices',
  json: 'JSON',
}

function readField(field: Field, typed: string | boolean): Json | undefined {
  if (typeof typed === 'boolean' || field.kind === 'text') return typed
  if (field.kind === 'number' || field.kind === 'integer') {
    const value = Number(typed)
    if (!Number.isFinite(value) || (field.kind === 'integer' && !Number.isInteger(value))) return undefined
    return value
  }
  try {
    return JSON.parse(typed) as Json
  } catch {
    return undefined
  }
}
