import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromUtf8 } from '../core/bytes.ts'
import { encodeRandomDrawInput, computeDrawnOrder, computeDrawnIndices } from './random-draw.ts'

const bytes = fc.uint8Array({ minLength: 64, maxLength: 64 })

describe('random draw', () => {
  it('has an input of fixed fields: node, epoch, purpose and number', () => {
    const alpha = encodeRandomDrawInput({ house: 'ed25519:x', epoch: 3, purpose: 'witness', number: 9 })
    expect(fromUtf8(alpha)).toBe(
      '{"draw":"hearthbus/vrf/v1","epoch":3,"house":"ed25519:x","number":9,"purpose":"witness"}',
    )
  })

  it('orders members by their hashes, whatever order they are given in', () => {
    fc.assert(
      fc.property(bytes, fc.uniqueArray(fc.string(), { minLength: 1 }), (beta, members) => {
        const rank = (member: string): string => createHash('sha256').update(beta).update(member).digest('hex')
        const sorted = members.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1))
        fc.pre(members.every((member) => member.isWellFormed()))
        expect(computeDrawnOrder(beta, members)).toEqual(sorted)
        expect(computeDrawnOrder(beta, [...members.toReversed(), ...members])).toEqual(sorted)
      }),
    )
    expect(computeDrawnOrder(new Uint8Array(64), [])).toEqual([])
  })

  it('draws distinct entries within the log, and all entries of a small log', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 1, max: 16 }), (beta, size, count) => {
        const drawn = computeDrawnIndices(beta, size, count)
        expect(drawn).toHaveLength(Math.min(size, count))
        expect(new Set(drawn).size).toBe(drawn.length)
        expect(drawn.every((index) => index >= 0 && index < size)).toBe(true)
        expect(computeDrawnIndices(beta, size, count)).toEqual(drawn)
      }),
    )
  })
})
