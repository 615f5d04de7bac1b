import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { answering, echo, ME, node, offered, reply, streaming } from '../../test/bus-village.ts'
import type { JsonObject } from '../core/json.ts'
import type { JsonSchema, Offer } from './capability.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { computeSchemaHash } from './schema-hash.ts'
import {
  checkFrameSchema,
  checkOfferSchemas,
  checkReplySchema,
  validateRequest,
  validateWithoutNullArguments,
} from './schema-validation.ts'
import { defineTool } from './capability-definition.ts'

const ADD: JsonSchema = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' }, note: { type: 'string', pattern: '^[a-z]+$' } },
  required: ['a', 'b'],
  additionalProperties: false,
}

const INSIDE = { path: ['inside', 'x'], message: 'must be number', code: 'type' }

function refusalOf(requestSchema: JsonSchema): string | undefined {
  const checked = checkOfferSchemas(offered({ name: 'x.y', requestSchema }))
  if (checked.ok) return undefined
  expect(checked.fault.code).toBe('schema_invalid')
  return checked.fault.message
}

describe('schemas at registration', () => {
  // test_register_local_validates_descriptor
  it.each<[string, Partial<Offer>]>([
    ['an invalid request schema', { requestSchema: { type: 'objekt' } }],
    ['an invalid response schema', { responseSchema: { required: 'a' } }],
    ['an invalid stream schema', { streamSchema: { properties: [] } }],
    ['a name with a space in it', { name: 'echo say' }],
    ['a version below zero', { version: [-1, 0] }],
    ['a limit of no calls', { maxConcurrent: 0 }],
    ['a time-out of zero', { timeoutSeconds: 0 }],
    ['params beyond measure', { params: { blob: 'x'.repeat(20_000) } }],
  ])('register local validates descriptor: %s', (_, facts) => {
    const result = node('a').registerCapability(answering({ name: 'echo.say', ...facts }, echo))
    expect(result).toMatchObject({ ok: false, fault: { code: 'schema_invalid' } })
  })

  it.each<[string, JsonSchema, RegExp]>([
    ['nested too deeply', nested(60), /nested deeper/],
    ['with too many parts', { enum: Array.from({ length: 5_000 }, (_, index) => index) }, /more than 4000 parts/],
    ['with too much text', { description: 'x'.repeat(200_000) }, /characters of text/],
    ['in an unknown dialect', { $schema: 'http://json-schema.org/draft-03/schema#' }, /dialect/],
    ['with a reference to a URL', { $ref: 'https://example.org/schema.json' }, /leads nowhere/],
    ['with a reference to a missing definition', { $ref: '#/$defs/nothing' }, /leads nowhere/],
    ['with a reference that is a broken pointer', { $ref: '#/%E0%A4%A' }, /leads nowhere/],
    ['with a second $id inside', { $defs: { a: { $id: 'https://example.org/a' } } }, /\$id of its own/],
    ['with an invalid pattern', { pattern: '(' }, /not a regular expression/],
    ['with an invalid property pattern', { patternProperties: { '[': {} } }, /not a regular expression/],
  ])('refuses a schema %s', (_, schema, why) => {
    expect(refusalOf(schema)).toMatch(why)
  })

  it.each<[string, JsonSchema]>([
    ['draft-07, as older firmware says', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }],
    ['2020-12 with a name', { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://x/y' }],
    ['with local references', { $ref: '#/$defs/a', $defs: { a: { $anchor: 'here' }, b: { $ref: '#here' } } }],
    ['that refers to itself', { properties: { child: { $ref: '#' } } }],
    ['with data that looks like keywords', { const: { $ref: 'anything', pattern: '(' } }],
    ['with properties named like keywords', { properties: { pattern: { type: 'string' }, $ref: { type: 'string' } } }],
    ['with words of its own', { 'x-device': { unit: '°C' } }],
  ])('accepts a schema %s', (_, schema) => {
    expect(refusalOf(schema)).toBeUndefined()
  })

  it('accepts or refuses any JSON without throwing', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('type', '$ref', '$id', 'properties', 'items', 'pattern', 'allOf'),
          fc.jsonValue(),
        ),
        (schema) => {
          // `refusalOf` itself expects the code of a refusal; a second look must come to the same verdict.
          expect(refusalOf(schema)).toBe(refusalOf(schema))
        },
      ),
    )
  })

  it('are not checked again if they come from another node and were rebuilt on arrival', () => {
    const unbounded = offered({ name: 'x.y', requestSchema: { type: 'objekt' } })
    expect([checkOfferSchemas(unbounded).ok, checkOfferSchemas({ ...unbounded, isFromPeer: true }).ok]).toEqual([
      false,
      true,
    ])
  })

  it('may have the same $id for two devices', () => {
    const bus = node('a')
    for (const name of ['x.one', 'x.two']) {
      const requestSchema = { $id: 'https://example.org/same', type: 'object', required: [name] }
      expect(bus.registerCapability(answering({ name, requestSchema }, echo)).ok).toBe(true)
    }
    expect(validateRequest(bus.offer('x.one') as Offer, { 'x.one': 1 }).ok).toBe(true)
    expect(validateRequest(bus.offer('x.two') as Offer, { 'x.one': 1 }).ok).toBe(false)
  })
})

describe('request validation', () => {
  const offer = offered({ name: 'math.add', requestSchema: ADD })

  it('returns a valid body unchanged', () => {
    const body = { a: 1, b: 2 }
    const result = validateRequest(offer, body)
    expect(result.ok && result.value).toBe(body)
  })

  it('lists all issues at once, with the expected schema hash', () => {
    expect(validateRequest(offer, { a: 'one', c: 1 })).toEqual({
      ok: false,
      fault: {
        kind: 'invalid-arguments',
        code: 'schema_mismatch',
        message: expect.stringContaining('math.add') as string,
        details: {
          schema_hash_expected: computeSchemaHash(offer),
          issues: [
            { path: ['b'], message: "must have required property 'b'", code: 'required' },
            { path: ['c'], message: 'must NOT have additional properties', code: 'additionalProperties' },
            { path: ['a'], message: 'must be number', code: 'type' },
          ],
        },
      },
    })
  })

  it('lists at most twenty issues', () => {
    const list = offered({ name: 'x', requestSchema: { properties: { list: { items: { type: 'number' } } } } })
    const result = validateRequest(list, { list: Array.from({ length: 100 }, () => 'x') })
    expect(result.ok ? [] : result.fault.details?.['issues']).toHaveLength(20)
  })

  it('lists only the first issue of a large body', () => {
    const list = offered({ name: 'y', requestSchema: { properties: { list: { items: { type: 'number' } } } } })
    const result = validateRequest(list, { list: Array.from({ length: 30_000 }, () => 'x') })
    expect(result.ok ? [] : result.fault.details?.['issues']).toHaveLength(1)
  })

  it('refuses a body nested too deeply for a recursive schema', () => {
    const tree = offered({ name: 'tree', requestSchema: { type: 'object', properties: { child: { $ref: '#' } } } })
    let body = {}
    for (let depth = 0; depth < 200_000; depth++) body = { child: body }
    expect(validateRequest(tree, body)).toMatchObject({ ok: false, fault: { code: 'schema_mismatch' } })
  })

  it('does not hang on a pattern with exponential run time', () => {
    const trap = offered({ name: 'trap', requestSchema: { properties: { text: { pattern: '^(a+)+$' } } } })
    expect(validateRequest(trap, { text: `${'a'.repeat(60)}!` }).ok).toBe(true)
  })

  it('keeps the patterns of different offers apart', () => {
    const letters = offered({ name: 'letters', requestSchema: { properties: { text: { pattern: '^[a-z]+$' } } } })
    const digits = offered({ name: 'digits', requestSchema: { properties: { text: { pattern: '^[0-9]+$' } } } })
    expect([letters, digits].map((offer) => validateRequest(offer, { text: 'abc' }).ok)).toEqual([true, false])
    expect([letters, digits].map((offer) => validateRequest(offer, { text: '123' }).ok)).toEqual([false, true])
  })

  it('treats null as omitted for an optional argument that does not allow null', () => {
    expect(validateRequest(offer, { a: 1, b: 2, note: null })).toEqual({ ok: true, value: { a: 1, b: 2 } })
    const { offer: own } = defineTool({
      name: 'own.nulls',
      title: 'Own',
      description: 'Ours.',
      input: z.strictObject({
        level: z.int().default(3),
        note: z.string().exactOptional(),
        owner: z.string().nullable().exactOptional(),
        way: z.union([z.string(), z.int()]).exactOptional(),
      }),
      output: z.object({}),
      effect: 'reads',
      family: defaultFamilyEnvelope,
    })
    const nulls = { level: null, note: null, owner: null, way: null }
    expect(validateRequest(own, nulls)).toEqual({ ok: true, value: { level: 3, owner: null } })
  })

  it.each<[string, JsonObject, readonly JsonObject[]]>([
    ['what must be given', { a: 1, b: null }, [{ path: ['b'], message: 'must be number', code: 'type' }]],
    [
      'what the contract does not know',
      { a: 1, b: 2, c: null },
      [{ path: ['c'], message: 'must NOT have additional properties', code: 'additionalProperties' }],
    ],
    ['a place inside of an argument', { a: 1, b: 2, inside: { x: null } }, [INSIDE]],
    [
      'what stands beside another mistake, which is all told',
      { a: 'one', b: 2, note: null },
      [
        { path: ['a'], message: 'must be number', code: 'type' },
        { path: ['note'], message: 'must be string', code: 'type' },
      ],
    ],
  ])('refuses null for %s', (_, body, issues) => {
    const properties = { ...(ADD['properties'] as object), inside: { properties: { x: { type: 'number' } } } }
    const strict = offered({ name: 'math.add.more', requestSchema: { ...ADD, properties } })
    expect(validateRequest(strict, body)).toMatchObject({ ok: false, fault: { details: { issues } } })
  })

  it('keeps an allowed null when the error is inside another argument', () => {
    const missed = { path: ['slot', 'from'], message: 'is missed in this mode', code: 'custom' }
    const accept = (body: JsonObject) =>
      'slot' in body ? ({ ok: false, fault: [missed] } as const) : ({ ok: true, value: body } as const)
    expect(validateWithoutNullArguments(accept, { mode: 'day', slot: null })).toEqual({ ok: false, fault: [missed] })
  })

  it('uses the own parser of a local tool, which fills in defaults', () => {
    const { offer: own } = defineTool({
      name: 'own.tool',
      title: 'Own',
      description: 'Ours.',
      input: z.strictObject({ level: z.int().default(3) }),
      output: z.object({}),
      effect: 'reads',
      family: defaultFamilyEnvelope,
    })
    expect(validateRequest(own, {})).toEqual({ ok: true, value: { level: 3 } })
    expect(validateRequest(own, { level: 'x' })).toMatchObject({
      fault: {
        code: 'schema_mismatch',
        details: { issues: [{ path: ['level'] }], schema_hash_expected: computeSchemaHash(own) },
      },
    })
  })
})

describe('schema validators', () => {
  /** A schema that counts how often it is read, which compiling it does once. */
  function countedSchema(required: readonly string[]) {
    let reads = 0
    const schema: JsonSchema = Object.defineProperty({ required }, 'type', {
      enumerable: true,
      get: () => {
        reads++
        return 'object'
      },
    })
    return { schema, reads: () => reads }
  }

  /** How often the schema is compiled for these bodies, beside being hashed. */
  function countCompiles(
    offer: Offer,
    counted: ReturnType<typeof countedSchema>,
    bodies: readonly JsonObject[],
  ): number {
    computeSchemaHash(offer)
    const before = counted.reads()
    for (const body of bodies) expect(validateRequest(offer, body).ok).toBe(true)
    return counted.reads() - before
  }

  const fits = { once: 1 }

  it('are compiled once for all offers of one contract', () => {
    const [one, same] = [countedSchema(['once']), countedSchema(['once'])]
    const [first, second] = [one, same].map(({ schema }) => offered({ name: 'once.hash', requestSchema: schema }))
    if (first === undefined || second === undefined) throw new Error('two offers')
    expect([countCompiles(first, one, [fits, fits]), countCompiles(second, same, [fits, fits])]).toEqual([1, 0])
  })

  it('are compiled once for all contracts that share a schema', () => {
    const shared = countedSchema(['once'])
    const compiles = ['share.one', 'share.two'].map((name) =>
      countCompiles(offered({ name, requestSchema: shared.schema }), shared, [fits]),
    )
    expect(compiles).toEqual([1, 0])
  })

  it('are kept for the 2,048 contracts used last', () => {
    const compilesAnew = (): number => {
      const counted = countedSchema(['once'])
      return countCompiles(offered({ name: 'kept.contract', requestSchema: counted.schema }), counted, [fits])
    }
    const meetOthers = (label: string, count: number): void => {
      for (let at = 0; at < count; at++)
        // Nothing is compiled for a frame without a schema; its contract is met all the same.
        checkFrameSchema(offered({ name: `${label}.n${at}` }), { event: 'token', data: 1 })
    }
    expect(compilesAnew()).toBe(1)
    meetOthers('few', 2_047)
    expect(compilesAnew()).toBe(0)
    meetOthers('many', 2_048)
    expect(compilesAnew()).toBe(1)
  })

  it('that list all issues are cached apart from those that stop at the first', () => {
    const requestSchema = { properties: { list: { items: { type: 'number' } } } }
    const issuesFor = (name: string, length: number): unknown => {
      const result = validateRequest(offered({ name, requestSchema }), { list: Array.from({ length }, () => 'x') })
      return result.ok ? [] : result.fault.details?.['issues']
    }
    expect(issuesFor('explained.small', 3)).toHaveLength(3)
    expect(issuesFor('explained.large', 30_000)).toHaveLength(1)
  })
})

describe('answer validation', () => {
  it('does not check a frame without a stream schema', () => {
    expect(checkFrameSchema(offered({ name: 'x.y' }), { event: 'token', data: 1 })).toBeUndefined()
  })

  it('counts an invalid answer of another handler as its failure', async () => {
    const bus = node('a')
    bus.registerCapability(
      answering({ name: 'x.y', responseSchema: { type: 'number' } }, () => Promise.resolve(reply('seven'))),
    )
    expect(await bus.call('x.y', undefined, {}, ME)).toMatchObject({
      fault: { kind: 'failed', code: 'internal_error', details: { issues: [{ code: 'type' }] } },
    })
    expect(bus.registry.named('x.y')[0]?.health.successRate).toBe(0)
  })

  it('treats an invalid answer of a local tool as an internal error', () => {
    const { offer } = defineTool({
      name: 'own.wrong',
      title: 'Own',
      description: 'Ours.',
      input: z.strictObject({}),
      output: z.object({ celsius: z.number() }),
      effect: 'reads',
      family: defaultFamilyEnvelope,
    })
    expect(checkReplySchema(offer, { data: { celsius: 20.5 } })).toBeUndefined()
    expect(checkReplySchema(offer, { data: { celsius: '20.5' } })).toMatchObject({
      kind: 'internal',
      code: 'internal_error',
    })
  })

  it('does not check a request for input as an answer', () => {
    const offer = offered({ name: 'x.y', responseSchema: { type: 'number' } })
    expect(checkReplySchema(offer, { data: null, inputRequired: { requests: {} } })).toBeUndefined()
  })

  it('ends the stream and its generator at an invalid frame', async () => {
    const bus = node('a')
    let cleanedUp = false
    const streamSchema = { properties: { event: { const: 'token' }, data: { type: 'string' } } }
    bus.registerCapability(
      streaming({ name: 'llm.chat', streamSchema }, async function* () {
        try {
          yield { event: 'token', data: 'fine' }
          yield { event: 'token', data: 7 }
          yield { event: 'token', data: 'never' }
          return reply(null)
        } finally {
          cleanedUp = true
        }
      }),
    )
    const stream = bus.stream('llm.chat', [1, 0], {}, ME)
    const frames = []
    for await (const frame of stream) frames.push(frame.data)
    expect(frames).toEqual(['fine'])
    expect(await stream.outcome).toMatchObject({ fault: { kind: 'failed', code: 'internal_error' } })
    expect(cleanedUp).toBe(true)
    expect(bus.registry.named('llm.chat')[0]).toMatchObject({ inFlight: 0, health: { successRate: 0 } })
  })
})

function nested(depth: number): JsonSchema {
  let schema: JsonSchema = {}
  for (let level = 0; level < depth; level++) schema = { items: schema }
  return schema
}
