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

describe('the effect of a device tool', () => {
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
    // The same doors in other spellings and languages: dictionary words, imperatives, compounds, accents, full width.
    ...[
      'door1.open',
      'FRONT_DOOR_OPEN',
      'frontdoor.set',
      'opendoor',
      'HTTPDoorOpen',
      'smartlock.release',
      'ｄｏｏｒ.open',
      'porta.apri',
      'apriCancello',
      'portone.sblocca',
      'serratura.sblocca',
      'valvola.apri',
      'déverrouiller',
      'portão.abrir',
      'válvula.abrir',
      'schließfach.aufschließen',
      'voordeur.openen',
      'kapı.aç',
      'дверь.открыть',
      '현관.열기',
      'πόρτα.άνοιξε',
      'باب.فتح',
    ].map((name) => [`self.${name}`, 'sensitive'] as const),
    ...['doorbell.ring', 'clock.set', 'outdoor.set_light', 'поворот', '专门模式', 'block.move'].map(
      (name) => [`self.${name}`, 'writes'] as const,
    ),
    // Restarting and flashing, wherever the word stands.
    ...[
      'rebootNow',
      'system.restart_device',
      'factoryReset',
      'upgradeFirmware',
      'ota.start',
      'wifi.forget',
      '重启设备',
      'riavvia',
    ].map((name) => [`self.${name}`, 'sensitive'] as const),
    ['self.get_firmware_version', 'reads'],
    ['self.getRebootReason', 'reads'],
    ['self.battery.getLevel', 'reads'],
    ['self.door.getState', 'reads'],
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
  ] as const)('of the name %s is %s', (name, effect) => {
    expect(classifyToolEffect(tool(name), rules)).toBe(effect)
  })

  it('is sensitive for every user-only tool, even one that reads', () => {
    expect(classifyToolEffect(tool('self.get_system_info', { userOnly: true }), rules)).toBe('sensitive')
  })

  it('is not reads for a getter that takes arguments', () => {
    const inputSchema = { type: 'object', properties: { reset: { type: 'boolean' } } }
    expect(classifyToolEffect(tool('self.get_device_status', { inputSchema }), rules)).toBe('writes')
  })

  it.each([
    ['self.get_door', 'Opens the front door.'],
    ['self.door.get_state', 'Apre la porta di casa.'],
    ['self.door.get_state', '打开大门'],
    ['self.relay.set', 'Switches the relay of the garage door.'],
    ['self.relay.set', 'Schaltet den Öffner der Haustür.'],
    ['self.gpio.write', '控制门锁'],
    ['self.helper.go', 'Takes a photo of the room.'],
  ])('is sensitive for %s with the description: %s', (name, description) => {
    expect(classifyToolEffect(tool(name, { description }), rules)).toBe('sensitive')
  })

  it.each([
    ['self.get_counter', 'Resets the counter and returns what it was.', 'writes'],
    ['self.door.get_state', 'Returns whether the door is open.', 'reads'],
    ['self.lamp.set', '专门用于控制灯', 'writes'],
    // It mentions a camera and takes no picture.
    ['self.camera.set_camera_flipped', '翻转摄像头图像', 'writes'],
  ] as const)('of %s with the description "%s" is %s', (name, description, effect) => {
    expect(classifyToolEffect(tool(name, { description }), rules)).toBe(effect)
  })

  it.each([
    { door: { type: 'boolean' } },
    { target: { type: 'string', enum: ['lamp', 'front_door'] } },
    { pin: { type: 'integer', description: '1 is the lamp, 2 the gate' } },
  ])('is sensitive when an argument mentions a door or gate: %j', (properties) => {
    const inputSchema = { type: 'object', properties }
    expect(classifyToolEffect(tool('self.relay.set', { inputSchema }), rules)).toBe('sensitive')
  })
})
