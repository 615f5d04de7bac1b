import { describe, expect, it } from 'vitest'

import { INITIATORS, addressKind, companionInitiator, companionTarget, isInitiator, priorityClass } from './address.ts'
import { arbitrate, lockAfterLoss } from './arbitration.ts'

describe('address', () => {
  it('knows 25 initiators, 228 targets, one broadcast and two reserved', () => {
    const kinds = Array.from({ length: 256 }, (_, address) => addressKind(address))
    const count = (kind: string) => kinds.filter((each) => each === kind).length
    expect([count('initiator'), count('target'), count('broadcast'), count('reserved')]).toEqual([25, 228, 1, 2])
  })

  it('lists initiators in order of importance', () => {
    expect([1, 8, 21, 25].map((place) => INITIATORS[place - 1])).toEqual([0x00, 0x31, 0x0f, 0xff])
    expect([0x10, 0x31, 0x73, 0x07, 0xff].map(priorityClass)).toEqual([0, 1, 2, 3, 4])
  })

  it('puts the target face five above the initiator, around the end of the byte', () => {
    expect([0x10, 0x03, 0x31, 0xff].map(companionTarget)).toEqual([0x15, 0x08, 0x36, 0x04])
    for (const initiator of INITIATORS) expect(companionInitiator(companionTarget(initiator))).toBe(initiator)
    expect(companionInitiator(0x26)).toBeUndefined()
  })

  it('refuses to rank an address that cannot speak first', () => {
    expect(() => priorityClass(0x15)).toThrow(RangeError)
  })
})

describe('arbitration', () => {
  it('never puts anything on the wire that is no initiator, whoever takes part', () => {
    for (const left of INITIATORS) for (const right of INITIATORS) expect(isInitiator(left & right)).toBe(true)
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
    expect(lockAfterLoss(0x31, 0xb5, 5)).toBe(1)
    expect(lockAfterLoss(0x31, 0x11, 5)).toBe(2)
    expect(lockAfterLoss(0x31, 0x10, 2)).toBe(3)
    expect(lockAfterLoss(0x31, 0x10, 5)).toBe(5)
  })
})
