import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../core/bytes.ts'
import { formatDownlinkTopic, signMqttIdentity, verifyMqttIdentity } from './mqtt-identity.ts'

const KEY = toUtf8('a key of this node')
const IDENTITY = {
  deviceId: 'a0:b1:c2:d3:e4:f5',
  clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff',
  generation: 3,
}
const SIGNED = signMqttIdentity(KEY, IDENTITY)

describe('MQTT identity', () => {
  it('has a three-part client id, base64 JSON as user name and a signature as password', () => {
    expect(SIGNED).toEqual({
      clientId: 'GID_hearthbus@@@a0_b1_c2_d3_e4_f5@@@7b94d69a-9808-4c59-9c9b-704333b38aff',
      username: 'eyJnIjozfQ==',
      password: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    })
    expect(verifyMqttIdentity(KEY, SIGNED)).toEqual({ ok: true, value: IDENTITY })
  })

  it('is refused after any change to client id, user name or password', () => {
    const other = signMqttIdentity(KEY, { ...IDENTITY, deviceId: 'a0:b1:c2:d3:e4:f6' })
    expect(verifyMqttIdentity(KEY, { ...SIGNED, clientId: other.clientId })).toEqual({
      ok: false,
      fault: { kind: 'bad-signature' },
    })
    expect(verifyMqttIdentity(KEY, { ...SIGNED, username: 'eyJnIjo0fQ==' }).ok).toBe(false)
    expect(verifyMqttIdentity(KEY, { ...SIGNED, password: '' }).ok).toBe(false)
    expect(verifyMqttIdentity(toUtf8('another key'), SIGNED).ok).toBe(false)
  })

  it('refuses the unsigned two-part client id of older servers', () => {
    expect(verifyMqttIdentity(KEY, { ...SIGNED, clientId: 'GID_test@@@a0_b1_c2_d3_e4_f5' })).toEqual({
      ok: false,
      fault: { kind: 'bad-client-id' },
    })
  })

  it('has a downlink topic of its own', () => {
    expect(formatDownlinkTopic('a0:b1:c2:d3:e4:f5')).toBe('devices/p2p/a0_b1_c2_d3_e4_f5')
  })
})
