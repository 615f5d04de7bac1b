import { describe, expect, it } from 'vitest'
import { chooseScenePath } from './scene-path.ts'

const choose = (topEventScore: number | undefined, topDeviceScore: number | undefined, preferPath = 'auto' as const) =>
  chooseScenePath({ preferPath, eventMinScore: 0.85, topEventScore, topDeviceScore }).reason

describe('scene path by score', () => {
  it.each([
    [1, undefined, 'auto_event_only_candidate'],
    [undefined, 1, 'auto_device_only_candidate'],
    [undefined, undefined, 'auto_device_only_candidate'],
    [0.9, 0.86, 'auto_event_high_confidence'],
    [0.9, 0.87, 'auto_device_fallback'],
    [1, 1, 'auto_device_fallback'],
    [0.84, 0.2, 'auto_device_fallback'],
    [0.85, 0.2, 'auto_event_high_confidence'],
  ])('event %s, device %s: %s', (event, device, reason) => {
    expect(choose(event, device)).toBe(reason)
  })

  it('follows preferPath even if nothing was found', () => {
    const scores = { eventMinScore: 0.85, topEventScore: undefined, topDeviceScore: 1 }
    expect(chooseScenePath({ ...scores, preferPath: 'event' })).toMatchObject({
      selectedPath: 'event',
      reason: 'prefer_path_event',
      topEventScore: null,
    })
    expect(chooseScenePath({ ...scores, preferPath: 'device_fallback' }).reason).toBe('prefer_path_device_fallback')
  })
})
