import { describe, expect, it } from 'vitest'
import { findClosestNames, formatNameSuggestion } from './closest-name.ts'

const NAMES = ['hs4.devices.list', 'hs4.devices.set', 'hs4.events.list', 'task_list']

describe('closest names', () => {
  it('finds the names nearest to a misspelt one, the nearest first', () => {
    expect(findClosestNames('hs4.device.list', NAMES)).toEqual(['hs4.devices.list'])
    expect(findClosestNames('hs4.device.lst', ['hs4.device.last', 'hs4.devices.list'])).toEqual([
      'hs4.device.last',
      'hs4.devices.list',
    ])
    expect(findClosestNames('tsak_list', NAMES)).toEqual(['task_list'])
  })

  it('returns no suggestion for a name that resembles no other', () => {
    expect(findClosestNames('open_door', NAMES)).toEqual([])
    expect(findClosestNames('x'.repeat(1_000), ['x'.repeat(1_000)])).toEqual([])
    expect([formatNameSuggestion([]), formatNameSuggestion(['a', 'b'])]).toEqual(['', ' Did you mean a, or b?'])
  })
})
