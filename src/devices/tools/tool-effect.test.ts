import { describe, expect, it } from 'vitest'
import type { DeviceTool } from '../wire/tool-list.ts'
import { classifyToolEffect } from './tool-effect.ts'

const tool = (name: string, more: Partial<DeviceTool> = {}): DeviceTool => ({
  name,
  description: 'Only reads, really.',
  inputSchema: { type: 'object', properties: {} },
  userOnly: false,
  ...more,
})
const rules = { readTools: ['weather.*'], sensitiveTools: ['self.door.unlock'] }

describe('the effect of a tool', () => {
  it.each([
    ['self.get_device_status', 'reads'],
    ['self.otto.get_status', 'reads'],
    ['self.get_everything', 'reads'],
    // Getters of boards in the firmware's repository, and of py-xiaozhi.
    ['self.chassis.get_light_mode', 'reads'],
    ['self.application.list_running', 'reads'],
    ['self.get_and_reset_counter', 'writes'],
    ['self.getaway', 'writes'],
    ['self.application.launch', 'sensitive'],
    ['self.application.kill', 'sensitive'],
    ['take_screenshot', 'sensitive'],
    ['self.room.startRecording', 'sensitive'],
    ['self.get_photo', 'sensitive'],
    ['self.camera.set_camera_flipped', 'writes'],
    ['self.audio_speaker.set_volume', 'writes'],
    ['self.camera.take_photo', 'sensitive'],
    ['weather.today', 'reads'],
    ['self.door.unlock', 'sensitive'],
    // Whoever lists these, and to whomever.
    ['self.reboot', 'sensitive'],
    ['upgrade_firmware', 'sensitive'],
    ['self.system.reconfigure_wifi', 'sensitive'],
    ['self.screen.snapshot', 'sensitive'],
    ['self.assets.set_download_url', 'sensitive'],
  ] as const)('%s %s', (name, effect) => {
    expect(classifyToolEffect(tool(name), rules)).toBe(effect)
  })

  it('is sensitive for every user-only tool, also one that reads', () => {
    expect(classifyToolEffect(tool('self.get_system_info', { userOnly: true }), rules)).toBe('sensitive')
  })

  it('is no longer reading once a getter takes arguments', () => {
    const inputSchema = { type: 'object', properties: { reset: { type: 'boolean' } } }
    expect(classifyToolEffect(tool('self.get_device_status', { inputSchema }), rules)).toBe('writes')
  })
})
