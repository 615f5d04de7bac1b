import { describe, expect, it } from 'vitest'
import { devicesConfigSchema } from './devices.ts'

const complaints = (section: unknown): readonly string[] =>
  devicesConfigSchema.safeParse(section).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []

describe('the devices section', () => {
  it('disables devices and allows no URL by default', () => {
    expect(devicesConfigSchema.parse({})).toMatchObject({
      enabled: false,
      urls: [],
      userTools: false,
      whenAsleep: 'fail',
    })
  })

  it('refuses a transport that is not configured, and MQTT port 8883', () => {
    expect(complaints({ transport: 'mqtt', mqtt: { enabled: false } })).toEqual([
      'transport: mqtt needs devices.mqtt.enabled',
    ])
    expect(complaints({ transport: 'mqtt-broker' })).toEqual(['transport: mqtt-broker needs devices.broker'])
    expect(complaints({ mqtt: { port: 8_883 } })).toEqual([
      'mqtt.port: not 8883: on that port devices insist on TLS with a public certificate',
    ])
  })

  it('refuses URL rules that are ambiguous or whose wildcard is too wide', () => {
    expect(
      complaints({ urls: ['https://files.example.org/', 'http://192.168.1.9:80/x', 'https://*.example.org/'] }),
    ).toEqual([])
    for (const url of [
      '*',
      'https://*/',
      'https://*.org/',
      'files.example.org',
      'https://a@b.example/',
      'ftp://x.example/',
    ])
      expect(complaints({ urls: [url] })).toHaveLength(1)
  })

  it('accepts broker topics with exactly one device placeholder', () => {
    const broker = { url: 'mqtt://broker:1883', endpoint: '192.168.1.2:1883' }
    expect(complaints({ broker })).toEqual([])
    expect(complaints({ broker: { ...broker, uplink: 'devices/up/#' } })).toHaveLength(1)
    expect(complaints({ broker: { ...broker, endpoint: 'broker' } })).toEqual(['broker.endpoint: host:port'])
  })
})
