import { describe, expect, it } from 'vitest'
import { callOf, offerOf, openHouse, around } from '../../test/guard-house.ts'
import {
  computeArgumentsHash,
  computeOfferDefinitionHash,
  hashArgumentLeaves,
  listArgumentLeaves,
  computePreviewHash,
} from './call-binding.ts'

const KEY = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)

describe('call binding', () => {
  it('hashes arguments under a key of the node, so that hashes cannot be looked up in a table', async () => {
    expect(computeArgumentsHash(KEY, { code: '1234' })).toBe(
      'f8a19b6eaf54ff69e6d7240e329a0fa2706fe15d03a12c6032ffd1b9146b4cde',
    )
    expect(computeArgumentsHash(KEY, { code: '1234' })).not.toBe(computeArgumentsHash(OTHER, { code: '1234' }))
    expect(hashArgumentLeaves(KEY, { a: 1 })).not.toEqual(hashArgumentLeaves(OTHER, { a: 1 }))
    expect(computePreviewHash(KEY, { after: 1 })).not.toBe(computePreviewHash(OTHER, { after: 1 }))
    const published = async () => {
      using house = openHouse()
      const offer = offerOf('sensitive')
      await around(house.guard, callOf(offer, { code: '1234' }), offer, () => Promise.reject(new Error('it acted')))
      return house.events('approval.requested')[0]?.['args_hash']
    }
    expect(await published()).not.toBe(await published())
  })

  it('is equal for arguments in another order, and undefined for invalid Unicode', () => {
    expect(computeArgumentsHash(KEY, { a: 1, b: [2] })).toBe(computeArgumentsHash(KEY, { b: [2], a: 1 }))
    expect(computeArgumentsHash(KEY, { a: 1, b: [2, 3] })).not.toBe(computeArgumentsHash(KEY, { a: 1, b: [3, 2] }))
    expect(computeArgumentsHash(KEY, { a: '\ud800' })).toBeUndefined()
  })

  it('includes everything about a tool that a model or an approver sees in the definition hash', () => {
    const offer = offerOf('sensitive')
    const changed = [
      { description: 'other' },
      { title: 'other' },
      { effect: 'writes' },
      { version: [1, 1] },
      { requestSchema: { type: 'object', additionalProperties: false } },
      { responseSchema: undefined },
      { params: { model: 'x' } },
    ] as const
    const hashes = [offer, { ...offer }, ...changed.map((change) => ({ ...offer, ...change }))].map(
      computeOfferDefinitionHash,
    )
    expect(hashes[0]).toBe(hashes[1])
    expect(new Set(hashes).size).toBe(changed.length + 1)
  })

  it('excludes the present state from the preview hash', () => {
    expect(computePreviewHash(KEY, { before: 1, after: 2 })).toBe(computePreviewHash(KEY, { before: 7, after: 2 }))
    expect(computePreviewHash(KEY, { before: 1, after: 2 })).not.toBe(computePreviewHash(KEY, { before: 1, after: 3 }))
    expect(computePreviewHash(KEY, undefined)).toBe(computePreviewHash(KEY, {}))
  })

  it('covers at most 256 arguments with pointers of at most 256 characters', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]))
    expect(Object.keys(hashArgumentLeaves(KEY, many(256)) ?? {})).toHaveLength(256)
    expect(hashArgumentLeaves(KEY, many(257))).toBeUndefined()
    expect(hashArgumentLeaves(KEY, { ['a'.repeat(255)]: 1 })).toBeDefined()
    expect(hashArgumentLeaves(KEY, { ['a'.repeat(256)]: 1 })).toBeUndefined()
  })

  it('names arguments by JSON pointer and hashes lists as a whole', () => {
    expect(listArgumentLeaves({ a: { 'b/c': 1, 'd~': {} }, e: [{ f: 1 }] })).toEqual([
      ['/a/b~1c', 1],
      ['/a/d~0', {}],
      ['/e', [{ f: 1 }]],
    ])
  })
})
