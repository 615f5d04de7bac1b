import { describe, expect, it } from 'vitest'
import { formatDeviceIdForTopic, parseClientUuid, parseDeviceId } from './device-id.ts'

describe('device id', () => {
  it('is parsed to a MAC address in lower case with colons', () => {
    expect(parseDeviceId('A0:B1:C2:D3:E4:F5')).toBe('a0:b1:c2:d3:e4:f5')
    expect(parseDeviceId('a0_b1_c2_d3_e4_f5')).toBe('a0:b1:c2:d3:e4:f5')
    expect(parseDeviceId('a0-b1-c2-d3-e4-f5')).toBe('a0:b1:c2:d3:e4:f5')
  })

  it('is undefined for text that is not a MAC address', () => {
    for (const text of [
      '',
      'a0:b1:c2:d3:e4',
      'a0:b1-c2:d3:e4:f5',
      '__proto__',
      'a0:b1:c2:d3:e4:f5\n',
      'web_test_client',
    ])
      expect(parseDeviceId(text)).toBeUndefined()
  })

  it('is written with underscores in an MQTT topic', () => {
    expect(formatDeviceIdForTopic('a0:b1:c2:d3:e4:f5')).toBe('a0_b1_c2_d3_e4_f5')
  })

  it('is not accepted as a client id, which must be a UUID', () => {
    expect(parseClientUuid('7B94D69A-9808-4C59-9C9B-704333B38AFF')).toBe('7b94d69a-9808-4c59-9c9b-704333b38aff')
    expect(parseClientUuid('a0:b1:c2:d3:e4:f5')).toBeUndefined()
  })
})
