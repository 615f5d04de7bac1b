import { describe, expect, it } from 'vitest'

import {
  INITIATOR_ADDRESSES,
  classifyAddress,
  toCompanionInitiator,
  toCompanionTarget,
  isInitiatorAddress,
  computePriorityClass,
} from './address.ts'
import { computeArbitrationVerdict, computeLockSynCountAfterLoss } from './arbitration.ts'

describe('eBUS address', () => {
  it('is one of 25 initiators, 228 targets, one broadcast or two reserved addresses', () => {
    const kinds = Array.from({ length: 256 }, (_, address) => classifyAddress(address))
    const count = (kind: string) => kinds.filter((each) => each === kind).length
    expect([count('initiator'), count('target'), count('broadcast'), count('reserved')]).toEqual([25, 228, 1, 2])
  })

  it('is listed by priority if it is an initiator', () => {
    expect([1, 8, 21, 25].map((place) => INITIATOR_ADDRESSES[place - 1])).toEqual([0x00, 0x31, 0x0f, 0xff])
    expect([0x10, 0x31, 0x73, 0x07, 0xff].map(computePriorityClass)).toEqual([0, 1, 2, 3, 4])
  })

  it('of a target is five above its initiator’s, modulo 256', () => {
    expect([0x10, 0x03, 0x31, 0xff].map(toCompanionTarget)).toEqual([0x15, 0x08, 0x36, 0x04])
    for (const initiator of INITIATOR_ADDRESSES)
      expect(toCompanionInitiator(toCompanionTarget(initiator))).toBe(initiator)
    expect(toCompanionInitiator(0x26)).toBeUndefined()
  })

  it('has a priority class only if it is an initiator', () => {
    expect(() => computePriorityClass(0x15)).toThrow(RangeError)
  })
})

describe('eBUS arbitration', () => {
  it('of two initiators always yields an initiator address', () => {
    for (const left of INITIATOR_ADDRESSES)
      for (const right of INITIATOR_ADDRESSES) expect(isInitiatorAddress(left & right)).toBe(true)
  })

  it('is won by reading the own address, goes to a second round within a class, and is lost otherwise', () => {
    expect(computeArbitrationVerdict(0x31, 0x31)).toBe('won')
    expect(computeArbitrationVerdict(0x31, 0x11)).toBe('second-round')
    expect(computeArbitrationVerdict(0x31, 0x10)).toBe('lost')
    expect(computeArbitrationVerdict(0x31, 0xb5)).toBe('lost')
  })

  it('sends 10 to the second round and lets 03 lose when both together read 00', () => {
    // Both at once read 03 & 10.
    expect(computeArbitrationVerdict(0x10, 0x00)).toBe('second-round')
    expect(computeArbitrationVerdict(0x03, 0x00)).toBe('lost')
  })

  it('locks a loser for one SYN after noise, two within its class, and at least three otherwise', () => {
    expect(computeLockSynCountAfterLoss(0x31, 0xb5, 5)).toBe(1)
    expect(computeLockSynCountAfterLoss(0x31, 0x11, 5)).toBe(2)
    expect(computeLockSynCountAfterLoss(0x31, 0x10, 2)).toBe(3)
    expect(computeLockSynCountAfterLoss(0x31, 0x10, 5)).toBe(5)
  })
})
