/**
 * Config file: YAML text to a checked configuration, or sentences that name file, line, key and what would be right.
 */
import { LineCounter, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import type { z } from 'zod'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isJsonObject } from '../core/json.ts'
import { findListenPortConflicts } from './listeners.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'

/** `line` is absent for a problem that is not in the file, such as one with an environment variable. */
export interface ConfigProblem {
  readonly file: string
  readonly line: number | undefined
  readonly key: string
  readonly message: string
}

/** `name` is only used in the messages. An empty file is valid: everything has a default. */
export function parseConfig(name: string, text: string): Result<Config, readonly ConfigProblem[]> {
  const lines = new LineCounter()
  // Parsed as a document, because only the document knows the line of each key.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  if (document.errors.length > 0) {
    return fail(
      document.errors.map((error) => ({
        file: name,
        line: lines.linePos(error.pos[0]).line,
        key: '',
        message: error.message.split('\n')[0] ?? 'not YAML',
      })),
    )
  }
  // The alias limit keeps nested references from growing into gigabytes. The schema is not compiled: it is used once,
  // and compiling it would take longer than parsing.
  const parsed = configSchema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {}, { jitless: true })
  const where = (path: readonly PropertyKey[]): number | undefined => lineOf(document, lines, path)
  if (parsed.success) {
    const shared = findListenPortConflicts(parsed.data)
    if (shared.length === 0) return ok(parsed.data)
    return fail(
      shared.map(({ portKey, message }) => ({ file: name, line: where(portKey.split('.')), key: portKey, message })),
    )
  }
  return fail(parsed.error.issues.flatMap((issue) => toProblems(name, issue, where)))
}

/** The value of `ledger.pins`, also in a file with mistakes elsewhere. */
export function parseLedgerPinsKey(text: string): string | undefined {
  try {
    const value: unknown = parseDocument(text).toJS({ maxAliasCount: 100 })
    const ledger = isJsonObject(value) ? value['ledger'] : undefined
    const pins = isJsonObject(ledger) ? ledger['pins'] : undefined
    return typeof pins === 'string' && pins !== '' ? pins : undefined
  } catch {
    // An alias that leads nowhere, or to too much: no gateway starts with that file either.
    return undefined
  }
}

export function formatConfigProblem(problem: ConfigProblem): string {
  const place = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`
  return problem.key === '' ? `${place}: ${problem.message}` : `${place}: ${problem.key}: ${problem.message}`
}

function toProblems(
  file: string,
  issue: z.core.$ZodIssue,
  where: (path: readonly PropertyKey[]) => number | undefined,
): ConfigProblem[] {
  // One sentence per unknown key, each with its own line, rather than one for all of them.
  const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
  return paths.map((path) => {
    const line = where(path)
    const message = issue.code === 'unrecognized_keys' ? `no such key; ${knownKeys(issue.path)}` : sentence(issue)
    return { file, key: path.map(String).join('.'), message, line }
  })
}

/** Zod's own message for an invalid key says only that; the issue one level down says what would be valid. */
function sentence(issue: z.core.$ZodIssue): string {
  const reason = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined
  return reason ?? issue.message
}

/** Reads Zod's own description of the schema, so that no list of keys has to be maintained here. */
function knownKeys(path: readonly PropertyKey[]): string {
  let schema: unknown = configSchema
  for (const step of path) schema = inner(schema, step)
  const shape = shapeOf(schema)
  return shape === undefined ? 'see docs/running.md' : `known here: ${Object.keys(shape).join(', ')}`
}

/** One step into the schema: a member of an object, an element of a list, a value of a record. */
function inner(schema: unknown, step: PropertyKey): unknown {
  const shape = shapeOf(schema)
  if (shape !== undefined) return shape[String(step)]
  return (
    definition(schema)?.['element'] ??
    definition(unwrap(schema))?.['element'] ??
    definition(unwrap(schema))?.['valueType']
  )
}

function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  const shape = definition(unwrap(schema))?.['shape']
  return typeof shape === 'object' && shape !== null ? (shape as Record<string, unknown>) : undefined
}

/** Removes the wrappers of defaults, optionals and prefaults. */
function unwrap(schema: unknown): unknown {
  let current = schema
  while (definition(current)?.['innerType'] !== undefined) current = definition(current)?.['innerType']
  return current
}

function definition(schema: unknown): Record<string, unknown> | undefined {
  return (schema as { def?: Record<string, unknown> } | undefined)?.def
}

/** The line of the deepest part of the path that the file really has. */
function lineOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true)
    const range = (node as { range?: readonly number[] } | undefined)?.range
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line
  }
  return undefined
}
