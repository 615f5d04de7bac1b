/**
 * Skill document: a SKILL.md file, which tells a model how to do something.
 *
 *   ---
 *   name: bleed-radiators          frontmatter: YAML
 *   description: …
 *   ---
 *   Open the valve …               body: Markdown, for the model
 *
 * A skill grants no rights: its `capabilities` are only its own description.
 */
import { hash } from 'node:crypto'
import { isScalar, parseDocument } from 'yaml'
import { z } from 'zod'
import { fromUtf8 } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'

/** Both lists are those of the catalogue behind spec 5 § 1; the letters name its concepts, without omicron. */
/** The kind of the entry that says that a skill was added, changed or removed. */
export const SKILL_CHANGE_KIND = 'skill.change'

export const DECLARABLE_SKILL_CAPABILITIES = ['read', 'write', 'spawn', 'audit', 'admin'] as const
const GREEK_LETTERS = ['α', 'β', 'γ', 'δ', 'ε', 'ζ', 'η', 'θ', 'ι', 'κ', 'λ', 'μ', 'ν', 'ξ', 'π'] as const

/** Unknown keys are kept: skills are written for more readers than this one. */
const frontmatterSchema = z.looseObject({
  name: z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9-]+$/, 'lower-case letters, digits and dashes, at least two'),
  description: z.string().min(1).max(4_000),
  version: z.union([z.string(), z.number()]).nullish(),
  entrypoint: z.string().nullish(),
  capabilities: z.array(z.enum(DECLARABLE_SKILL_CAPABILITIES)).nullish(),
  greekLetter: z.enum(GREEK_LETTERS).nullish(),
})

export interface Skill {
  readonly name: string
  readonly description: string
  readonly version: string | null
  readonly entrypoint: string | null
  readonly capabilities: readonly string[]
  readonly greek_letter: string | null
  readonly frontmatter: JsonObject
  readonly body: string
  /** SHA-256 over the file's bytes, hex. */
  readonly content_hash: string
}

/** The skill, or a sentence that says why the file is not a valid one. */
export function parseSkill(bytes: Uint8Array): Result<Skill, string> {
  // Editors on Windows begin a file with a byte-order mark.
  const text = fromUtf8(bytes)?.replace(/^\uFEFF/, '')
  if (text === undefined) return fail('is not UTF-8')
  const match = /^---[ \t]*\r?\n([\s\S]*?\r?\n)?---[ \t]*(?:\r?\n([\s\S]*))?$/.exec(text)
  if (match === null) return fail('does not begin with frontmatter between two lines of three dashes')
  const frontmatter = parseYaml(match[1] ?? '')
  if (!frontmatter.ok) return frontmatter
  const { value, version } = frontmatter.value
  const parsed = frontmatterSchema.safeParse(value)
  if (!parsed.success) return fail(parsed.error.issues.map(sentence).join('; '))
  const { name, description, entrypoint, capabilities, greekLetter } = parsed.data
  return ok({
    name,
    description,
    version: version ?? parsed.data.version?.toString() ?? null,
    entrypoint: entrypoint ?? null,
    capabilities: capabilities ?? [],
    greek_letter: greekLetter ?? null,
    frontmatter: value,
    body: match[2] ?? '',
    // The hash of the bytes, not of the text, so that it equals the output of `sha256sum`.
    content_hash: hash('sha256', bytes),
  })
}

interface Frontmatter {
  readonly value: JsonObject
  /** The version as it is written, because YAML reads `1.10` as the number 1.1. */
  readonly version: string | undefined
}

function parseYaml(text: string): Result<Frontmatter, string> {
  try {
    const document = parseDocument(text, { logLevel: 'error' })
    const [error] = document.errors
    if (error !== undefined) throw error
    // Converted to JSON and back, because YAML has numbers and keys that JSON lacks. The alias limit keeps nested
    // references from growing into gigabytes.
    const value: unknown = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 20 }) ?? null))
    if (!isJsonObject(value)) return fail('has frontmatter that is not a mapping')
    // YAML's escapes can produce a lone surrogate, which no answer can contain: one such file would make the whole list
    // unreadable.
    if (!isWellFormed(value)) return fail('has half a character in its frontmatter')
    const version = document.get('version', true)
    return ok({ value, version: isScalar(version) && typeof version.value === 'number' ? version.source : undefined })
  } catch (error) {
    return fail(`has frontmatter that is not YAML: ${error instanceof Error ? firstLine(error.message) : 'unreadable'}`)
  }
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member))
}

function sentence({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}
