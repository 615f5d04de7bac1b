import { describe, expect, it } from 'vitest'

import {
  INITIATOR_ADDRESSES,
  classifyAddress,
  toCompanionInitiator,
  toCompanionTarget,
  isInitiatorAddress,
  computePriorityClass,
} from './address.ts'
import { arbitrate, computeLockSynCountAfterLoss } from './arbitration.ts'

describe('address', () => {
  it('knows 25 initiators, 228 targets, one broadcast and two reserved', () => {
    const kinds = Array.from({ length: 256 }, (_, address) => classifyAddress(address))
    const count = (kind: string) => kinds.filter((each) => each === kind).length
    expect([count('initiator'), count('target'), count('broadcast'), count('reserved')]).toEqual([25, 228, 1, 2])
  })

  it('lists initiators in order of importance', () => {
    expect([1, 8, 21, 25].map((place) => INITIATOR_ADDRESSES[place - 1])).toEqual([0x00, 0x31, 0x0f, 0xff])
    expect([0x10, 0x31, 0x73, 0x07, 0xff].map(computePriorityClass)).toEqual([0, 1, 2, 3, 4])
  })

  it('puts the target face five above the initiator, around the end of the byte', () => {
    expect([0x10, 0x03, 0x31, 0xff].map(toCompanionTarget)).toEqual([0x15, 0x08, 0x36, 0x04])
    for (const initiator of INITIATOR_ADDRESSES)
      expect(toCompanionInitiator(toCompanionTarget(initiator))).toBe(initiator)
    expect(toCompanionInitiator(0x26)).toBeUndefined()
  })

  it('refuses to rank an address that cannot speak first', () => {
    expect(() => computePriorityClass(0x15)).toThrow(RangeError)
  })
})

describe('arbitration', () => {
  it('never gives an address that is not an initiator’s, whoever takes part', () => {
    for (const left of INITIATOR_ADDRESSES)
      for (const right of INITIATOR_ADDRESSES) expect(isInitiatorAddress(left & right)).toBe(true)
  })

  it('is won by reading oneself back, goes to a second round within a class, and is lost otherwise', () => {
    expect(arbitrate(0x31, 0x31)).toBe('won')
    expect(arbitrate(0x31, 0x11)).toBe('second-round')
    expect(arbitrate(0x31, 0x10)).toBe('lost')
    expect(arbitrate(0x31, 0xb5)).toBe('lost')
  })

  it('lets 10 go on and 03 give up when together they show a third one', () => {
    // Both at once read 03 & 10.
    expect(arbitrate(0x10, 0x00)).toBe('second-round')
    expect(arbitrate(0x03, 0x00)).toBe('lost')
  })

  it('locks a loser for one SYN after noise, two within its class, at least three otherwise', () => {
    expect(computeLockSynCountAfterLoss(0x31, 0xb5, 5)).toBe(1)
    expect(computeLockSynCountAfterLoss(0x31, 0x11, 5)).toBe(2)
    expect(computeLockSynCountAfterLoss(0x31, 0x10, 2)).toBe(3)
    expect(computeLockSynCountAfterLoss(0x31, 0x10, 5)).toBe(5)
  })
})
