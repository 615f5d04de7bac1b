import { describe, expect, it } from 'vitest'
import type { AdvertisedAddressSettings } from './advertised-addresses.ts'
import {
  formatMqttEndpoint,
  VISION_PATH,
  formatVisionUrl,
  WEBSOCKET_PATH,
  formatWebSocketUrl,
} from './advertised-addresses.ts'

const BASE: AdvertisedAddressSettings = {
  publicUrl: undefined,
  httpPort: 7421,
  mqttPort: 1883,
  webSocketPath: WEBSOCKET_PATH,
  visionPath: VISION_PATH,
}

describe('advertised addresses', () => {
  it('name the address under which the device reached the gateway', () => {
    expect(formatWebSocketUrl(BASE, '::ffff:192.168.1.2')).toBe('ws://192.168.1.2:7421/xiaozhi/v1/')
    expect(formatVisionUrl(BASE, '192.168.1.2')).toBe('http://192.168.1.2:7421/xiaozhi/vision/explain')
    expect(formatMqttEndpoint(BASE, '192.168.1.2')).toBe('192.168.1.2:1883')
  })

  it('are never IPv6, which devices cannot parse', () => {
    expect(formatWebSocketUrl(BASE, 'fe80::1')).toBeUndefined()
    expect(formatMqttEndpoint(BASE, undefined)).toBeUndefined()
  })

  it('use the configured public URL, and always contain a port', () => {
    const configured = { ...BASE, publicUrl: 'https://hearth.example/devices/' }
    expect(formatWebSocketUrl(configured, '10.0.0.1')).toBe('wss://hearth.example:443/devices/xiaozhi/v1/')
    expect(formatMqttEndpoint(configured, '10.0.0.1')).toBe('hearth.example:1883')
    expect(formatMqttEndpoint({ ...BASE, mqttPort: undefined }, '10.0.0.1')).toBeUndefined()
  })
})
