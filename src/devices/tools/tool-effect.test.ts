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
    // Getters that are none.
    ...[
      'get_and_increment',
      'get_then_clear',
      'get_next',
      'read_once',
      'queue.get_pop',
      'getAndReset',
      'get_new_token',
    ].map((name) => [`self.${name}`, 'writes'] as const),
    // What a house relies on to stay shut; looking at it is reading.
    ...[
      'lock.open',
      'front_door.toggle',
      'openGarage',
      'garage.press',
      'gate.set_position',
      'alarm.disarm',
      'water_valve.set',
      'haustuer.oeffnen',
      'tür.auf',
      'porte.ouvrir',
      'puerta.abrir',
      '开门',
      '门锁.打开',
      'ドア.開ける',
    ].map((name) => [`self.${name}`, 'sensitive'] as const),
    ['self.door.get_state', 'reads'],
    ['self.door.state', 'writes'],
    ['self.lamp.set_brightness', 'writes'],
    ['self.otto.arm_wave', 'writes'],
    // Looking and listening under names that nobody here chose, in several languages.
    ...[
      'camera.stream',
      'camera.get_image',
      'cam.snap',
      'screen.grab',
      'room.hear',
      'display.get_frame',
      'audio.monitor',
      'eye.look',
    ].map((name) => [`self.${name}`, 'sensitive'] as const),
    ...[
      'foto_machen',
      'mikrofon.aufnahme',
      'raum.mithören',
      'paizhao',
      '相机.拍照',
      'self.录音',
      '屏幕截图',
      '写真を撮る',
    ].map((name) => [name, 'sensitive'] as const),
    // And what only sounds like it: names of boards in the firmware's repository.
    ...[
      'camera.enable_ir_filter',
      'screen.set_theme',
      'screen.set_brightness',
      'led_strip.scroll',
      'disp.network',
      'screen.show_image',
    ].map((name) => [`self.${name}`, 'writes'] as const),
    ['self.camera.get_ir_filter_state', 'reads'],
    ['self.screen.get_info', 'reads'],
    ['self.battery.get_level', 'reads'],
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
