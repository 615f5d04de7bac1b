/**
 * Schema bounds: limits that a device's JSON Schema must keep before any of it is compiled.
 *
 * Ajv turns a schema into code. Size and depth bound that code; references stay inside the schema, so that no schema
 * can fetch or be confused with another one's parts; patterns must at least be regular expressions (length-limited-regexp.ts bounds
 * how long they run).
 */
import { isJsonObject, unescapeJsonPointerToken } from '../core/json.ts'
import type { JsonSchema } from './capability.ts'
import { explainInvalidRegExp } from './length-limited-regexp.ts'

const MAX_NODES = 4_000
const MAX_DEPTH = 48
const MAX_TEXT = 128 * 1_024

/** 2020-12 is MCP's default. Older firmware names Draft-07, of which only what it shares with 2020-12 is accepted. */
const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft-07)\/schema#?$/

/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

interface Walk {
  readonly root: JsonSchema
  nodes: number
  text: number
  anchors?: ReadonlySet<string>
}

/** A sentence about the first violation, or `undefined`. */
export function explainSchemaBoundsViolation(schema: JsonSchema): string | undefined {
  const dialect = schema['$schema']
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect)))
    return `its dialect ${JSON.stringify(dialect)} is neither 2020-12 nor draft-07`
  return visit(schema, { root: schema, nodes: 0, text: 0 }, { depth: 0, asData: false })
}

function visit(value: unknown, walk: Walk, at: { depth: number; asData: boolean }): string | undefined {
  if (++walk.nodes > MAX_NODES) return `it has more than ${MAX_NODES} parts`
  if (at.depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`
  if (typeof value === 'string') walk.text += value.length
  if (walk.text > MAX_TEXT) return `it has more than ${MAX_TEXT} characters of text`
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, part] of Object.entries(value)) {
    walk.text += key.length
    const wrong = at.asData || Array.isArray(value) ? undefined : wrongKeyword(key, part, { walk, depth: at.depth })
    if (wrong !== undefined) return wrong
    const below = visit(part, walk, { depth: at.depth + 1, asData: at.asData || DATA_KEYWORDS.has(key) })
    if (below !== undefined) return below
  }
  return undefined
}

function wrongKeyword(key: string, part: unknown, { walk, depth }: { walk: Walk; depth: number }): string | undefined {
  if (key === '$async') return 'it asks for checks that are answered later ($async)'
  if (key === '$id' && depth > 0 && typeof part === 'string') return 'a part of it has an $id of its own'
  if ((key === '$ref' || key === '$dynamicRef') && typeof part === 'string')
    return resolves(walk, part) ? undefined : `its reference ${JSON.stringify(part)} leads nowhere inside it`
  if (key === 'pattern' && typeof part === 'string') return explainInvalidRegExp(part)
  if (key === 'patternProperties' && isJsonObject(part))
    return Object.keys(part)
      .map(explainInvalidRegExp)
      .find((wrong) => wrong !== undefined)
  return undefined
}

/** A JSON Pointer into the schema, or the name of an anchor in it. */
function resolves(walk: Walk, reference: string): boolean {
  const pointer = reference.startsWith('#') ? decode(reference.slice(1)) : undefined
  if (pointer === undefined) return false
  if (pointer !== '' && !pointer.startsWith('/'))
    return (walk.anchors ??= new Set(anchorsIn(walk.root, 0))).has(pointer)
  let target: unknown = walk.root
  for (const step of pointer.split('/').slice(1)) {
    const key = unescapeJsonPointerToken(step)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return false
    target = (target as Readonly<Record<string, unknown>>)[key]
  }
  return isJsonObject(target) || typeof target === 'boolean'
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function* anchorsIn(value: unknown, depth: number): Generator<string> {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return
  for (const [key, part] of Object.entries(value)) {
    if ((key === '$anchor' || key === '$dynamicAnchor') && typeof part === 'string') yield part
    yield* anchorsIn(part, depth + 1)
  }
}
