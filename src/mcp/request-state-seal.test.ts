import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../test/manual-clock.ts'
import { createRequestStateSeal } from './request-state-seal.ts'

describe('request state seal', () => {
  it('opens once, and only for the call it was made for', () => {
    const seal = createRequestStateSeal(manualClock())
    const sealed = seal.seal('round 2', 'alice tools/call lock')
    expect(seal.open(sealed, 'bob tools/call lock')).toBeUndefined()
    expect(seal.open(sealed, 'alice tools/call lock')).toBe('round 2')
    expect(seal.open(sealed, 'alice tools/call lock')).toBeUndefined()
  })

  it('does not open after ten minutes', () => {
    const clock = manualClock()
    const seal = createRequestStateSeal(clock)
    const [early, late] = [seal.seal('a', 'x'), seal.seal('b', 'x')]
    clock.advance(599_999)
    expect(seal.open(early, 'x')).toBe('a')
    clock.advance(1)
    expect(seal.open(late, 'x')).toBeUndefined()
  })

  it('does not open with the key of another process', () => {
    const clock = manualClock()
    expect(createRequestStateSeal(clock).open(createRequestStateSeal(clock).seal('a', 'x'), 'x')).toBeUndefined()
  })

  it('does not open when any character was changed', () => {
    const seal = createRequestStateSeal(manualClock())
    const sealed = seal.seal('a', 'x')
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom('A', 'b', '.', '-', '='), (at, character) => {
        fc.pre(sealed[at] !== character)
        expect(seal.open(sealed.slice(0, at) + character + sealed.slice(at + 1), 'x')).toBeUndefined()
      }),
    )
    expect(seal.open(sealed, 'x')).toBe('a')
  })

  it('does not open for arbitrary text', () => {
    const seal = createRequestStateSeal(manualClock())
    fc.assert(fc.property(fc.string(), (text) => seal.open(text, 'x') === undefined))
    expect(['', 'v1', 'v1..', 'v1.e30.', 'v2.e30.AAAA'].map((text) => seal.open(text, 'x'))).toEqual(
      Array.from({ length: 5 }, () => undefined),
    )
  })
})
