import { describe, expect, it } from 'vitest'
import { DEFAULT_TOOL_TIMES, toolTimeMs } from './tool-time.ts'

describe('tool time', () => {
  it('is longer for photos and what the configuration says', () => {
    expect(toolTimeMs('self.lamp.turn_on', DEFAULT_TOOL_TIMES)).toBe(30_000)
    for (const tool of ['self.camera.take_photo', 'take_photo', 'self_camera_take_photo'])
      expect(toolTimeMs(tool, DEFAULT_TOOL_TIMES)).toBe(75_000)
    expect(toolTimeMs('constructor', DEFAULT_TOOL_TIMES)).toBe(30_000)
    expect(toolTimeMs('t', { ...DEFAULT_TOOL_TIMES, byTool: { t: 5 } })).toBe(5)
  })
})
