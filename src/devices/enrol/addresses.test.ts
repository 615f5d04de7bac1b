import { describe, expect, it } from 'vitest'
import type { AdvertisedAddresses } from './addresses.ts'
import { mqttEndpoint, VISION_PATH, visionUrl, WEBSOCKET_PATH, webSocketUrl } from './addresses.ts'

const BASE: AdvertisedAddresses = {
  publicUrl: undefined,
  httpPort: 7421,
  mqttPort: 1883,
  webSocketPath: WEBSOCKET_PATH,
  visionPath: VISION_PATH,
}

describe('addresses', () => {
  it('send a device to where it reached us', () => {
    expect(webSocketUrl(BASE, '::ffff:192.168.1.2')).toBe('ws://192.168.1.2:7421/xiaozhi/v1/')
    expect(visionUrl(BASE, '192.168.1.2')).toBe('http://192.168.1.2:7421/xiaozhi/vision/explain')
    expect(mqttEndpoint(BASE, '192.168.1.2')).toBe('192.168.1.2:1883')
  })

  it('send nobody to an IPv6 address, which devices cannot read', () => {
    expect(webSocketUrl(BASE, 'fe80::1')).toBeUndefined()
    expect(mqttEndpoint(BASE, undefined)).toBeUndefined()
  })

  it('say what the configuration says, always with a port', () => {
    const configured = { ...BASE, publicUrl: 'https://hearth.example/devices/' }
    expect(webSocketUrl(configured, '10.0.0.1')).toBe('wss://hearth.example:443/devices/xiaozhi/v1/')
    expect(mqttEndpoint(configured, '10.0.0.1')).toBe('hearth.example:1883')
    expect(mqttEndpoint({ ...BASE, mqttPort: undefined }, '10.0.0.1')).toBeUndefined()
  })
})
