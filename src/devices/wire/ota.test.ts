import { describe, expect, it } from 'vitest'
import { decodeActivateRequest, decodeOtaRequest, encodeOtaAnswer } from './ota.ts'

const HEADERS = {
  'activation-version': '1',
  'device-id': 'a0:b1:c2:d3:e4:f5',
  'client-id': '7b94d69a-9808-4c59-9c9b-704333b38aff',
  'user-agent': 'bread-compact-wifi/2.4.2',
  'accept-language': 'en-US',
}
const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }
const TIME = { nowMs: 1_767_225_600_000, timezoneMinutes: 120 }

describe('OTA request', () => {
  it('is read with the identity from its headers and body', () => {
    const body = '{"version":2,"application":{"version":"2.4.2"},"board":{"type":"esp-box"}}'
    expect(decodeOtaRequest(HEADERS, body)).toEqual({
      ok: true,
      value: { ...IDENTITY, activationVersion: 1, board: 'esp-box', firmware: '2.4.2', language: 'en-US' },
    })
  })

  it('falls back to the user agent for board and firmware', () => {
    expect(decodeOtaRequest(HEADERS, '{}')).toMatchObject({ value: { board: 'bread-compact-wifi', firmware: '2.4.2' } })
  })

  it.each(['', 'x', '[]', '{"board":{"type":"esp-box","ssid":"Bob"s Wi-Fi"}}'])(
    'is accepted with an unreadable body: %s',
    (body) => {
      expect(decodeOtaRequest(HEADERS, body)).toEqual({
        ok: true,
        value: { ...IDENTITY, activationVersion: 1, board: 'bread-compact-wifi', firmware: '2.4.2', language: 'en-US' },
      })
    },
  )

  it.each([
    [{ ...HEADERS, 'device-id': 'nobody' }, '{}', 'Device-Id is not a MAC address'],
    [{ ...HEADERS, 'client-id': undefined }, '{}', 'Client-Id is not a UUID'],
  ])('refuses %j %s', (headers, body, problem) => {
    expect(decodeOtaRequest(headers, body)).toEqual({ ok: false, fault: { kind: 'bad-request', problem } })
  })
})

describe('OTA answer', () => {
  it('contains the WebSocket section, the timezone in minutes, and no firmware section', () => {
    const websocket = { url: 'ws://192.168.1.2:7421/xiaozhi/v1/', token: 'T' }
    expect(JSON.stringify(encodeOtaAnswer({ kind: 'websocket', websocket }, TIME))).toBe(
      '{"server_time":{"timestamp":1767225600000,"timezone_offset":120},"websocket":{"url":"ws://192.168.1.2:7421/xiaozhi/v1/","token":"T","version":1}}',
    )
  })

  it('contains an MQTT section with every key that a device stores', () => {
    const mqtt = {
      endpoint: '192.168.1.2:1883',
      clientId: 'c',
      username: 'u',
      password: 'p',
      publishTopic: 'device-server',
      subscribeTopic: 'devices/p2p/a0_b1_c2_d3_e4_f5',
    }
    expect(JSON.stringify(encodeOtaAnswer({ kind: 'mqtt', mqtt }, TIME))).toBe(
      '{"server_time":{"timestamp":1767225600000,"timezone_offset":120},"mqtt":{"endpoint":"192.168.1.2:1883","client_id":"c","username":"u","password":"p","publish_topic":"device-server","subscribe_topic":"devices/p2p/a0_b1_c2_d3_e4_f5","keepalive":240}}',
    )
  })

  it('contains an activation code and no credentials for an unknown device', () => {
    const activation = { code: '123456', challenge: 'c', message: 'hearthbus\n123456' }
    expect(encodeOtaAnswer({ kind: 'activation', activation, websocket: undefined }, TIME)).toEqual({
      server_time: { timestamp: 1_767_225_600_000, timezone_offset: 120 },
      activation: { message: 'hearthbus\n123456', code: '123456', challenge: 'c', timeout_ms: 30_000 },
    })
  })

  it('contains only the time for a revoked device', () => {
    expect(Object.keys(encodeOtaAnswer({ kind: 'nothing' }, TIME))).toEqual(['server_time'])
  })
})

describe('activate request', () => {
  it('has no challenge from a chip without a serial number', () => {
    expect(decodeActivateRequest(HEADERS, '{}')).toEqual({ ok: true, value: { ...IDENTITY, challenge: undefined } })
    expect(decodeActivateRequest(HEADERS, '').ok).toBe(true)
  })

  it('carries the challenge of other chips, which py-xiaozhi nests in Payload', () => {
    expect(decodeActivateRequest(HEADERS, '{"algorithm":"hmac-sha256","challenge":"c","hmac":"00"}')).toMatchObject({
      value: { challenge: 'c' },
    })
    expect(decodeActivateRequest(HEADERS, '{"Payload":{"challenge":"c"}}')).toMatchObject({ value: { challenge: 'c' } })
  })
})
