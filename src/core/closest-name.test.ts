import { describe, expect, it } from 'vitest'
import { findClosestName, formatNameSuggestion } from './closest-name.ts'

const NAMES = ['hs4.devices.list', 'hs4.devices.set', 'hs4.events.list', 'task_list']

describe('closest', () => {
  it('finds what a slip of the pen was meant to be, the nearest first', () => {
    expect(findClosestName('hs4.device.list', NAMES)).toEqual(['hs4.devices.list'])
    expect(findClosestName('hs4.device.lst', ['hs4.device.last', 'hs4.devices.list'])).toEqual([
      'hs4.device.last',
      'hs4.devices.list',
    ])
    expect(findClosestName('tsak_list', NAMES)).toEqual(['task_list'])
  })

  it('has nothing to say about what is like nothing', () => {
    expect(findClosestName('open_door', NAMES)).toEqual([])
    expect(findClosestName('x'.repeat(1_000), ['x'.repeat(1_000)])).toEqual([])
    expect([formatNameSuggestion([]), formatNameSuggestion(['a', 'b'])]).toEqual(['', ' Did you mean a, or b?'])
  })
})
