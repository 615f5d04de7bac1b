import { describe, expect, it } from 'vitest'
import { DEFAULT_TOOL_TIMEOUTS, resolveToolTimeoutMs } from './tool-timeout.ts'

describe('the timeout of a tool call', () => {
  it('is 30 s, 75 s for photos, or as configured for the tool', () => {
    expect(resolveToolTimeoutMs('self.lamp.turn_on', DEFAULT_TOOL_TIMEOUTS)).toBe(30_000)
    for (const tool of ['self.camera.take_photo', 'take_photo', 'self_camera_take_photo'])
      expect(resolveToolTimeoutMs(tool, DEFAULT_TOOL_TIMEOUTS)).toBe(75_000)
    expect(resolveToolTimeoutMs('constructor', DEFAULT_TOOL_TIMEOUTS)).toBe(30_000)
    expect(resolveToolTimeoutMs('t', { ...DEFAULT_TOOL_TIMEOUTS, byTool: { t: 5 } })).toBe(5)
  })
})
