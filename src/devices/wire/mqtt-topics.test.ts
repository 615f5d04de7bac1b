import { describe, expect, it } from 'vitest'
import {
  parseDeviceFromTopic,
  formatFilterForAllDevices,
  formatTopicForDevice,
  parseTopicTemplate,
} from './mqtt-topics.ts'

const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }

describe('MQTT topics', () => {
  it('with {device} contain the MAC address', () => {
    const template = parseTopicTemplate('devices/up/{device}')
    expect(formatFilterForAllDevices(template)).toBe('devices/up/+')
    expect(formatTopicForDevice(template, IDENTITY)).toBe('devices/up/a0_b1_c2_d3_e4_f5')
    expect(parseDeviceFromTopic(template, 'devices/up/a0_b1_c2_d3_e4_f5')).toBe('a0:b1:c2:d3:e4:f5')
  })

  it('with {client} contain the MQTT client id, as EMQX rules do', () => {
    const template = parseTopicTemplate('/p2p/device_public/{client}')
    const topic = '/p2p/device_public/GID_hearthbus@@@a0_b1_c2_d3_e4_f5@@@7b94d69a-9808-4c59-9c9b-704333b38aff'
    expect(formatTopicForDevice(template, IDENTITY)).toBe(topic)
    expect(parseDeviceFromTopic(template, topic)).toBe('a0:b1:c2:d3:e4:f5')
  })

  it('match no device in a topic of another form', () => {
    const template = parseTopicTemplate('devices/up/{device}')
    for (const topic of ['', 'devices/up', 'devices/down/a0_b1_c2_d3_e4_f5', 'devices/up/x', 'devices/up/a/b'])
      expect(parseDeviceFromTopic(template, topic)).toBeUndefined()
  })

  it('are refused without exactly one placeholder that fills a level', () => {
    for (const text of ['devices/up', 'devices/x{device}', '{device}/{client}', '+/{device}', '{device}/#'])
      expect(() => parseTopicTemplate(text)).toThrow(RangeError)
  })
})
