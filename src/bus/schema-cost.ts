/**
 * Schema cost: an upper bound of how often a validator visits values because of one schema, computed before it is used.
 *
 *   in place    what looks at the same value again: allOf, anyOf, oneOf, not, if, $ref       adds up
 *   below       what looks at a member or an item of it                                      once per level of the data
 *
 * Sixty definitions that each refer twice to the next one look at one value 2⁶⁰ times. The check itself counts its steps
 * as well (bounded-validator.ts); this is for saying so when the capability is announced, and not when it is called.
 */
import { isJsonObject, unescapeJsonPointerToken } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { JsonSchema } from './capability.ts'

const MAX_LOOKS = 100_000
/** Levels of data that are counted: deeper answers are rare and reach the validator's own limit. */
const LEVELS = 12
/** A longer chain of references on one value than any schema that was written by hand has. */
const MAX_CHAIN = 128

const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const
const IN_PLACE = ['not', 'if', 'then', 'else'] as const
const NOTHING: readonly Part[] = []
/** Marks a part whose visits are being counted: meeting it again means a cycle. */
const OPEN = -1

/** One object of a schema, with the parts that it applies to the same value, to items and to members. */
interface Part {
  readonly inPlace: readonly Part[]
  /** For an item: the most expensive of the first list, and all of the second. */
  readonly items: readonly Part[]
  readonly everyItem: readonly Part[]
  /** For a member, likewise. */
  readonly members: readonly Part[]
  readonly everyMember: readonly Part[]
  /** Visits of an array or an object with so many levels below it, where that is known. */
  readonly array: (number | undefined)[]
  readonly object: (number | undefined)[]
}

class CostRefusal extends Error {}

/** A sentence about why it is too costly, or `undefined`. */
export function explainSchemaCostViolation(schema: JsonSchema): string | undefined {
  const root = schema as JsonObject
  try {
    const part = partOf(root, root, new Map())
    countLooks(part, LEVELS, 0)
    return looksAt(part, LEVELS) > MAX_LOOKS
      ? `one answer could have to be checked more than ${MAX_LOOKS} times`
      : undefined
  } catch (error) {
    if (error instanceof CostRefusal) return error.message
    throw error
  }
}

function looksAt(part: Part, levels: number): number {
  return Math.max(part.array[levels] ?? 0, part.object[levels] ?? 0)
}

function countLooks(part: Part, levels: number, chain: number): void {
  if (part.array[levels] === OPEN) throw new CostRefusal('it refers to itself without end')
  if (part.array[levels] !== undefined) return
  if (chain > MAX_CHAIN) throw new CostRefusal(`it follows references more than ${MAX_CHAIN} times in a row`)
  part.array[levels] = OPEN
  let [array, object] = [1, 1]
  for (const each of part.inPlace) {
    countLooks(each, levels, chain + 1)
    array += each.array[levels] ?? 0
    object += each.object[levels] ?? 0
  }
  if (levels > 0) {
    array += dearest(part.items, levels - 1) + total(part.everyItem, levels - 1)
    object += dearest(part.members, levels - 1) + total(part.everyMember, levels - 1)
  }
  part.array[levels] = array
  part.object[levels] = object
}

/**
 * Items are different values, so only the most expensive one counts here; their number is bounded by the size of the
 * data.
 */
function dearest(parts: readonly Part[], levels: number): number {
  let most = 0
  for (const part of parts) {
    countLooks(part, levels, 0)
    most = Math.max(most, looksAt(part, levels))
  }
  return most
}

function total(parts: readonly Part[], levels: number): number {
  let all = 0
  for (const part of parts) {
    countLooks(part, levels, 0)
    all += looksAt(part, levels)
  }
  return all
}

/** A part is created before those that it refers to: a schema may refer to itself. */
function partOf(schema: JsonObject, root: JsonObject, known: Map<JsonObject, Part>): Part {
  const made = known.get(schema)
  if (made !== undefined) return made
  const lists = { inPlace: NOTHING, items: NOTHING, everyItem: NOTHING, members: NOTHING, everyMember: NOTHING }
  const part: { -readonly [Key in keyof Part]: Part[Key] } = { ...lists, array: [], object: [] }
  known.set(schema, part)
  const parts = (values: readonly (Json | undefined)[]): readonly Part[] => {
    const objects = values.filter(isJsonObject)
    return objects.length === 0 ? NOTHING : objects.map((each) => partOf(each, root, known))
  }
  part.inPlace = parts([
    ...IN_PLACE_LISTS.flatMap((keyword) => listOrNothing(schema[keyword])),
    ...IN_PLACE.map((keyword) => schema[keyword]),
    resolveSchemaReference(root, schema['$ref']),
  ])
  part.items = parts([...listOrNothing(schema['prefixItems']), schema['items']])
  part.everyItem = parts([schema['contains']])
  part.members = parts([...valuesIn(schema['properties']), schema['additionalProperties']])
  // A member's name may match every one of the patterns.
  part.everyMember = parts([...valuesIn(schema['patternProperties']), schema['propertyNames']])
  return part
}

/** The definition that `#`, `#/$defs/name` or `#/definitions/name` names. */
export function resolveSchemaReference(root: JsonObject, reference: Json | undefined): Json | undefined {
  if (typeof reference !== 'string') return undefined
  if (reference === '#') return root
  const [, keyword = '', step = ''] = reference.split('/')
  const definitions = root[keyword]
  const name = definitionName(step)
  if (!isJsonObject(definitions) || name === undefined || !Object.hasOwn(definitions, name)) return undefined
  return definitions[name]
}

/** One token of a JSON Pointer in a URI fragment (RFC 6901 § 6). */
function definitionName(step: string): string | undefined {
  try {
    return unescapeJsonPointerToken(decodeURIComponent(step))
  } catch {
    return undefined
  }
}

export function listOrNothing(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function valuesIn(value: Json | undefined): readonly Json[] {
  return isJsonObject(value) ? Object.values(value) : []
}
