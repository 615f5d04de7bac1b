import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../core/json.ts'
import { hashArgumentLeaves, listArgumentLeaves } from './call-binding.ts'
import { explainGrantRequestFlaw, isCallCoveredByGrant, omitLoosenedArguments, toJsonPointer } from './grant.ts'
import type { GrantRequest } from './grant.ts'

const KEY = new Uint8Array(32)

const value = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom('a', 'b', true, null), fc.constant([1, 2]))
const body: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.constantFrom('celsius', 'zone', 'mode', 'reason', 'a/b'),
  fc.oneof(value, fc.dictionary(fc.constantFrom('x', 'y~'), value, { maxKeys: 2 })),
  { maxKeys: 4 },
)

describe('grant', () => {
  it('covers no call that differs in an argument that was not loosened', () => {
    const loosened = fc.subarray(['/celsius', '/zone', '/a~1b/x'])
    const found = fc.check(
      fc.property(body, body, loosened, loosened, (approved, made, free, bounded) => {
        const leaves = hashArgumentLeaves(KEY, approved) ?? {}
        const bounds = Object.fromEntries(bounded.map((pointer) => [pointer, { min: -1, max: 2 }]))
        const grant = { target: undefined, bounds, free, frame: omitLoosenedArguments(leaves, [...bounded, ...free]) }
        if (!isCallCoveredByGrant(grant, { target: 'any', body: made, leaves: hashArgumentLeaves(KEY, made) }))
          return true
        const strict = (given: JsonObject) =>
          listArgumentLeaves(given).filter(([pointer]) => ![...free, ...bounded, '/reason'].includes(pointer))
        const sorted = (given: JsonObject) => JSON.stringify(strict(given).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        const values = new Map(listArgumentLeaves(made))
        const within = bounded.every((pointer) => {
          const number = values.get(pointer)
          return typeof number === 'number' && number >= -1 && number <= 2
        })
        return within && sorted(approved) === sorted(made)
      }),
      { numRuns: 3_000 },
    )
    expect(found.counterexample).toBeNull()
  })

  it('covers the approved call itself, for the same device and complete arguments', () => {
    const made = { zone: 1, celsius: 20, nested: { deep: [1, { x: 2 }] } }
    const leaves = hashArgumentLeaves(KEY, made) ?? {}
    const bounds = { '/celsius': { min: 18, max: 22 } }
    const grant = { target: 'zone:1', bounds, free: [], frame: omitLoosenedArguments(leaves, ['/celsius']) }
    expect(isCallCoveredByGrant(grant, { target: 'zone:1', body: made, leaves })).toBe(true)
    expect(isCallCoveredByGrant(grant, { target: 'zone:2', body: made, leaves })).toBe(false)
    expect(isCallCoveredByGrant(grant, { target: undefined, body: made, leaves })).toBe(false)
    expect(isCallCoveredByGrant(grant, { target: 'zone:1', body: made, leaves: undefined })).toBe(false)
  })

  it('treats a plain argument name as a pointer to a top-level argument', () => {
    expect([toJsonPointer('celsius'), toJsonPointer('/params/value'), toJsonPointer('a~b')]).toEqual([
      '/celsius',
      '/params/value',
      '/a~0b',
    ])
  })

  const leaves =
    hashArgumentLeaves(KEY, Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`a${at}`, at]))) ?? {}
  const names = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`)
  it.each<[Partial<GrantRequest>, boolean]>([
    [{}, true],
    [{ maxUses: 0 }, false],
    [{ maxUses: 1_000 }, true],
    [{ maxUses: 1_001 }, false],
    [{ maxUses: 1.5 }, false],
    [{ durationMs: 0 }, false],
    [{ durationMs: NaN }, false],
    [{ durationMs: 30 * 86_400_000 }, true],
    [{ durationMs: 30 * 86_400_000 + 1 }, false],
    [{ free: names(64) }, true],
    [{ free: names(65) }, false],
    [{ free: names(60), bounds: Object.fromEntries(names(5).map((name) => [name, { min: 0, max: 9 }])) }, false],
    [{ free: ['b'] }, false],
    [{ bounds: { a1: { min: 3, max: 2 } } }, false],
    [{ caller: 'anybody' as never }, false],
    [{ target: 'all' as never }, false],
  ])('with the terms %j is allowed: %s', (request, can) => {
    const plain: GrantRequest = { maxUses: 5, durationMs: 60_000, bounds: {}, free: [], target: 'same' }
    expect(explainGrantRequestFlaw({ ...plain, ...request }, leaves) === undefined).toBe(can)
  })
})
