/**
 * Contract document: generates `docs/contract.md` from the offers, so that it always agrees with them.
 */
import type { Effect, JsonSchema, Offer } from '../bus/capability.ts'
import { formatCapabilityVersion } from '../bus/capability.ts'
import { formatTableCell, formatSchemaType } from './schema-text.ts'

const EFFECTS: Readonly<Record<Effect, string>> = {
  reads: 'changes nothing',
  records: 'changes only our own records',
  writes: 'changes something in the house',
  sensitive: 'needs a person’s approval',
  admin: 'changes how the house is run',
}

/**
 * The same offers give the same bytes, because a test compares them; so the text must not contain anything that
 * changes, such as a date.
 */
export function formatToolContractDocument(offers: readonly Offer[]): string {
  const families = [...new Set(offers.map((offer) => offer.family.name))].toSorted()
  const parts = families.map((family) =>
    familyPart(
      family,
      offers.filter((offer) => offer.family.name === family),
    ),
  )
  return [
    '# Contract',
    '',
    'Generated from the offers by `npm run docs`; a test fails when it is stale. Do not edit.',
    '',
    '| Effect | What it means |',
    '| --- | --- |',
    ...Object.entries(EFFECTS).map(([effect, meaning]) => `| \`${effect}\` | ${meaning} |`),
    '',
    ...parts,
  ].join('\n')
}

function familyPart(family: string, offers: readonly Offer[]): string {
  const faces = [
    ['Tools', 'tool'],
    ['Resources', 'resource'],
    ['Prompts', 'prompt'],
    ['Services', 'service'],
  ] as const
  const sections = faces.flatMap(([heading, kind]) => {
    const ofKind = offers.filter((offer) => offer.face.kind === kind)
    return ofKind.length === 0 ? [] : [`### ${heading}`, '', ...ofKind.map(offerPart)]
  })
  return [`## ${family}`, '', ...sections].join('\n')
}

function offerPart(offer: Offer): string {
  const title = offer.face.kind === 'resource' ? offer.face.uri : offer.name
  const facts = [
    `\`${offer.effect}\``,
    `version ${formatCapabilityVersion(offer.version)}`,
    `${offer.timeoutSeconds} s`,
  ]
  const arguments_ = argumentRows(offer.requestSchema)
  return [
    `#### \`${title}\``,
    '',
    `${offer.title} (${facts.join(', ')}). ${formatTableCell(offer.description)}`,
    '',
    ...(arguments_.length === 0 ? ['No arguments.'] : ['| Argument | Type | |', '| --- | --- | --- |', ...arguments_]),
    '',
  ].join('\n')
}

/** Rows for the arguments, one level deep; the members of an object are only in the schema of tools/list. */
function argumentRows(schema: JsonSchema): readonly string[] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>
  const required = new Set((schema['required'] ?? []) as readonly string[])
  return Object.entries(properties).map(([name, property]) => {
    const notes = [
      required.has(name) && property['default'] === undefined ? 'required' : undefined,
      property['default'] === undefined ? undefined : `default \`${JSON.stringify(property['default'])}\``,
      bounds(property),
      formatTableCell(property['description']),
    ]
    return `| \`${name}\` | ${formatSchemaType(property)} | ${notes.filter((note) => note !== undefined && note !== '').join('; ')} |`
  })
}

/** Bounds that Zod adds for "a safe integer" are left out, because nobody chose them. */
function bounds(schema: JsonSchema): string | undefined {
  const texts = [
    ['minimum', '≥'],
    ['maximum', '≤'],
    ['minLength', 'at least', 'characters'],
    ['maxLength', 'at most', 'characters'],
    ['maxItems', 'at most', 'items'],
  ].flatMap(([keyword = '', sign = '', unit = '']) => {
    const value = schema[keyword]
    return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER
      ? [`${sign} ${value} ${unit}`.trim()]
      : []
  })
  return texts.length === 0 ? undefined : texts.join(', ')
}
