/**
 * Costly schemas: more kinds of contracts that a hostile member announces, found by asking of every keyword of JSON
 * Schema 2020-12 what it makes its reader do, how often that can be repeated, and over how much data of one answer.
 */
import type { Json, JsonObject } from '../src/core/json.ts'

export interface HurtfulSchema {
  readonly kind: string
  readonly schema: JsonObject
  readonly answer: () => Json
  /** What the receiving node says when it does not take the contract. */
  readonly refused?: RegExp
}

const many = <Value>(count: number, make: (index: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, index) => make(index))

const nested = (depth: number, wrap: (inner: JsonObject) => JsonObject, end: JsonObject): JsonObject => {
  let schema = end
  for (let level = 0; level < depth; level++) schema = wrap(schema)
  return schema
}

const members = (count: number, name: (index: number) => string): JsonObject =>
  Object.fromEntries(many(count, (index) => [name(index), index]))

/** About a megabyte, which is all that one answer may have: as many members as fit into it. */
const crowd = (): Json => members(60_000, (index) => `m${index}`)
const nothing = (): Json => ({})

const NOT_TAKEN = /which is not taken from other nodes/
const LARGE = /more than \d+ (?:parts|patterns|characters of text)/
const DEEP = /nested deeper than/
const NO_SIZE = /not a valid size/

export const COSTLY_SCHEMAS: readonly HurtfulSchema[] = [
  // What lists the names of an object does so before it can stop.
  {
    kind: 'a thousand alternatives about the names of a crowd',
    schema: { anyOf: many(1_000, () => ({ propertyNames: { maxLength: 0 } })) },
    answer: crowd,
  },
  {
    kind: 'a thousand alternatives about the size of a crowd',
    schema: { anyOf: many(1_000, (index) => ({ maxProperties: index })) },
    answer: crowd,
  },
  {
    kind: 'a thousand alternatives that allow no member of a crowd',
    schema: { anyOf: many(1_000, () => ({ additionalProperties: false })) },
    answer: crowd,
  },
  {
    kind: 'a hundred alternatives with patterns for the names of a crowd',
    schema: { anyOf: many(100, () => ({ patternProperties: { m: false } })) },
    answer: crowd,
  },
  {
    kind: 'a thousand values that a crowd is not',
    schema: { anyOf: many(1_000, (index) => ({ enum: [{ a: index }] })) },
    answer: crowd,
  },
  { kind: 'a schema for every member of a crowd', schema: { additionalProperties: { type: 'null' } }, answer: crowd },
  {
    kind: 'a thousand alternatives about a long text',
    schema: { anyOf: many(1_000, (index) => ({ minLength: 10_000_000 + index })) },
    answer: () => '\u{1F600}'.repeat(200_000),
  },
  {
    kind: 'alternatives written out eight levels deep, for every item',
    schema: { items: nested(8, (inner) => ({ anyOf: [inner, inner] }), { const: 'never' }) },
    answer: () => many(50_000, (index) => index),
  },
  {
    kind: 'alternatives written out twelve levels deep',
    schema: nested(12, (inner) => ({ anyOf: [inner, inner] }), { const: 'never' }),
    answer: nothing,
    refused: LARGE,
  },
  {
    kind: 'allOf and anyOf in turns, thirty levels of them',
    schema: nested(30, (inner) => ({ allOf: [{ anyOf: [inner, { type: 'null' }] }] }), { const: 1 }),
    answer: nothing,
    refused: DEEP,
  },
  { kind: 'not, sixty times', schema: nested(60, (inner) => ({ not: inner }), {}), answer: nothing, refused: DEEP },
  {
    kind: 'a condition within a condition, three hundred deep',
    schema: nested(300, (inner) => ({ if: { type: 'object' }, else: inner }), {}),
    answer: nothing,
    refused: DEEP,
  },
  {
    kind: 'an enum of long texts for every item',
    schema: { items: { enum: many(500, (index) => `${'x'.repeat(60)}${index}`) } },
    answer: () => many(15_000, () => `${'x'.repeat(60)}y`),
  },
  {
    kind: 'contains, a billion times at least',
    schema: { contains: { pattern: '^(a|b)*c$' }, minContains: 1_000_000_000 },
    answer: () => many(20_000, () => 'ab'.repeat(20)),
  },
  {
    kind: 'contains, at most none of a hundred alternatives',
    schema: { contains: { anyOf: many(100, (index) => ({ const: `v${index}` })) }, maxContains: 0 },
    answer: () => many(50_000, () => 'w'),
  },
  {
    kind: 'a thousand required names for every item',
    schema: { items: { required: many(1_000, (index) => `n${index}`) } },
    answer: () => many(50_000, () => ({})),
  },
  {
    kind: 'required names that every object inherits',
    schema: { required: ['toString', 'constructor', '__proto__', 'hasOwnProperty'] },
    answer: nothing,
  },
  {
    kind: 'members that are called like what every object inherits',
    schema: { properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as JsonObject },
    answer: () => JSON.parse('{"__proto__":{"a":1},"constructor":1}') as Json,
  },
  {
    kind: 'a multiple of 1e-300, for every item',
    schema: { items: { multipleOf: 1e-300 } },
    answer: () => many(100_000, (index) => index + 0.5),
  },
  { kind: 'a multiple of a tenth', schema: { multipleOf: 0.1 }, answer: () => 1.7976931348623157e308 },
  {
    kind: 'long names, none of them allowed',
    schema: { additionalProperties: false },
    answer: () => members(900, (index) => `${'n'.repeat(1_000)}${index}`),
  },
  {
    kind: 'a slow pattern over long names',
    schema: { patternProperties: { '^(a+)+$': { type: 'null' } } },
    answer: () => members(400, (index) => `${'a'.repeat(2_000)}${index}!`),
  },
  {
    kind: 'a pattern with optional letters, over names',
    schema: { propertyNames: { not: { pattern: '^(?:a?){60}a{60}$' } } },
    answer: () => members(5_000, (index) => `${'a'.repeat(59)}${index}`),
  },
  {
    kind: 'a name of a hundred thousand characters',
    schema: { properties: { ['n'.repeat(100_000)]: {} } },
    answer: nothing,
    refused: LARGE,
  },
  {
    kind: 'names that depend on a thousand names',
    schema: { items: { dependentRequired: { a: many(1_000, (index) => `n${index}`) } } },
    answer: nothing,
    refused: NOT_TAKEN,
  },
  {
    kind: 'unevaluatedItems beside contains',
    schema: { contains: { type: 'null' }, unevaluatedItems: { type: 'string' } },
    answer: nothing,
    refused: NOT_TAKEN,
  },
  { kind: 'more members than there are numbers', schema: { minProperties: 1e300 }, answer: nothing, refused: NO_SIZE },
  { kind: 'half a character', schema: { maxLength: 1.5 }, answer: () => 'ab', refused: NO_SIZE },
  {
    kind: 'unique items, each of them large',
    schema: { uniqueItems: true },
    answer: () => many(150, (item) => ({ ...members(400, (index) => `k${index}`), item })),
  },
]
