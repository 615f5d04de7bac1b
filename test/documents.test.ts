import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FamilyEnvelope, Offer } from '../src/bus/capability.ts'
import { FAULT_KINDS, HTTP_STATUS_BY_ERROR_CODE } from '../src/bus/error-code.ts'
import { generateDocuments } from '../src/cli/docs-store.ts'
import { EXIT_CODES } from '../src/cli/command-output.ts'
import { parseConfig } from '../src/config/config-file.ts'
import { isJsonObject } from '../src/core/json.ts'
import { EBUS_ERROR_CODES } from '../src/ebus/tools/ebus-envelope.ts'
import { familyEnvelopes } from '../src/main/families.ts'
import { ledgerProjections } from '../src/main/ledger-projections.ts'

function codesOf(family: FamilyEnvelope): readonly string[] {
  return FAULT_KINDS.flatMap((kind) => {
    const { structured } = family.failure({ kind, message: 'no' }, { name: 'x' } as Offer)
    const error = isJsonObject(structured) ? structured['error'] : undefined
    return isJsonObject(error) && typeof error['code'] === 'string' ? [error['code']] : []
  })
}

const entryRows = ['ledger', 'consensus']
  .flatMap((name) => readFileSync(new URL(`../docs/protocols/${name}.md`, import.meta.url), 'utf8').split('\n'))
  .filter((line) => line.startsWith('| `'))

/** Where a kind stands in full, or after another of its family: `approval.requested`, `.approved`. */
function rowsAbout(kind: string): readonly string[] {
  const at = kind.lastIndexOf('.')
  const [family, last] = [kind.slice(0, at), kind.slice(at + 1)]
  return entryRows.filter(
    (row) => row.includes(`\`${kind}\``) || (row.includes(`\`${family}.`) && RegExp(`\`\\.?${last}\``).test(row)),
  )
}

interface WrittenEntry {
  readonly kind: string
  readonly fields: readonly string[]
}

/** A kind has a point in it, which no other union's does; or it is a constant that says so. */
const LITERAL = /\{\s*kind: '([a-z]+(?:\.[a-z-]+)+)'(?:,([^{}]*)\})?/g
const CONSTANT = /_KIND\b[^=\n]*= '([a-z.-]+)'/g
/** What an approval is about: the function that records it writes its parts. */
const NO_FIELD = 'binding'

function listWrittenEntries(): readonly WrittenEntry[] {
  const folder = new URL('../src/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, folder), 'utf8')
      return [
        ...text.matchAll(LITERAL).map(([, kind = '', rest = '']) => ({ kind, fields: fieldsIn(rest) })),
        ...text.matchAll(CONSTANT).map(([, kind = '']) => ({ kind, fields: [] })),
      ]
    })
}

/** The names in an object literal, without those that are spread into it. */
function fieldsIn(literal: string): readonly string[] {
  const flat = literal
    .replaceAll(/\([^()]*\)/g, '')
    .replaceAll(/\([^()]*\)/g, '')
    .replaceAll(/\[[^[\]]*\]/g, '')
  return flat
    .split(',')
    .map((part) => /^\s*(\w+)\s*(?::|$)/.exec(part)?.[1] ?? '')
    .filter((name) => name !== '' && name !== NO_FIELD)
}

const running = readFileSync(new URL('../docs/running.md', import.meta.url), 'utf8')

describe('generated and checked documents', () => {
  it('equal what the offers and the schema yield (npm run docs renews them)', async () => {
    for (const [path, text] of await generateDocuments())
      expect([basename(path), readFileSync(path, 'utf8')]).toEqual([basename(path), text])
  })

  it('list every error code of every family', () => {
    const faults = readFileSync(new URL('../docs/faults.md', import.meta.url), 'utf8')
    const listed = new Set([...faults.matchAll(/`([\w-]+)`/g)].map(([, code]) => code))
    const codes = [
      ...new Set(familyEnvelopes.flatMap(codesOf)),
      ...EBUS_ERROR_CODES,
      ...Object.keys(HTTP_STATUS_BY_ERROR_CODE),
    ]
    expect(codes.length).toBeGreaterThan(50)
    expect(codes.filter((code) => !listed.has(code))).toEqual([])
  })

  it('contain only settings that a gateway accepts', () => {
    const examples = [...running.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => yaml)
    expect(examples).not.toEqual([])
    expect(examples.map((yaml) => parseConfig('running.md', yaml)).filter(({ ok }) => !ok)).toEqual([])
  })

  it('list exactly the exit codes of the program', () => {
    const listed = [...running.matchAll(/^\| (\d) \|/gm)].map(([, code]) => Number(code))
    expect(listed).toEqual(Object.values(EXIT_CODES))
  })

  it('describe every kind of ledger entry that a projection applies or checks', () => {
    const kinds = new Set(ledgerProjections.flatMap(({ apply, check }) => Object.keys({ ...apply, ...check })))
    expect(kinds.size).toBeGreaterThan(60)
    expect([...kinds].filter((kind) => rowsAbout(kind).length === 0)).toEqual([])
  })

  it('describe every kind of ledger entry that the source writes, with its fields', () => {
    const written = listWrittenEntries()
    expect(new Set(written.map(({ kind }) => kind)).size).toBeGreaterThan(80)
    const missing = written.flatMap(({ kind, fields }) => {
      const text = rowsAbout(kind).join(' ')
      return text === ''
        ? [kind]
        : fields.filter((field) => !RegExp(`\\b${field}\\b`).test(text)).map((field) => `${kind} ${field}`)
    })
    expect([...new Set(missing)]).toEqual([])
  })

  it('list every ADR in the index under its title', () => {
    const folder = new URL('../docs/adr/', import.meta.url)
    const index = readFileSync(new URL('README.md', folder), 'utf8')
    const records = readdirSync(folder).filter((file) => /^\d{4}-/.test(file))
    const missing = records.filter((file) => {
      const [, number, title] = /^# (\d+)\. (.*)\n/.exec(readFileSync(new URL(file, folder), 'utf8')) ?? []
      return title === undefined || !index.includes(`| ${number} | [${title}](${file}) |`)
    })
    expect(records.length).toBeGreaterThan(100)
    expect(missing).toEqual([])
  })
})
