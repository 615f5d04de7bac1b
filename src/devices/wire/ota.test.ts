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
  it('contains the device’s identity', () => {
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
    'is good without its body: %s',
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
  it('writes a WebSocket section whole, with the zone in minutes and no firmware', () => {
    const websocket = { url: 'ws://192.168.1.2:7421/xiaozhi/v1/', token: 'T' }
    expect(JSON.stringify(encodeOtaAnswer({ kind: 'websocket', websocket }, TIME))).toBe(
      '{"server_time":{"timestamp":1767225600000,"timezone_offset":120},"websocket":{"url":"ws://192.168.1.2:7421/xiaozhi/v1/","token":"T","version":1}}',
    )
  })

  it('writes an MQTT section with every key a device stores', () => {
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

  it('writes a code and no credentials for a stranger', () => {
    const activation = { code: '123456', challenge: 'c', message: 'hearthbus\n123456' }
    expect(encodeOtaAnswer({ kind: 'activation', activation, websocket: undefined }, TIME)).toEqual({
      server_time: { timestamp: 1_767_225_600_000, timezone_offset: 120 },
      activation: { message: 'hearthbus\n123456', code: '123456', challenge: 'c', timeout_ms: 30_000 },
    })
  })

  it('writes the time alone for a device that is turned away', () => {
    expect(Object.keys(encodeOtaAnswer({ kind: 'nothing' }, TIME))).toEqual(['server_time'])
  })
})

describe('activate request', () => {
  it('is empty from chips without a serial number', () => {
    expect(decodeActivateRequest(HEADERS, '{}')).toEqual({ ok: true, value: { ...IDENTITY, challenge: undefined } })
    expect(decodeActivateRequest(HEADERS, '').ok).toBe(true)
  })

  it('repeats the challenge from the others, wrapped once more by py-xiaozhi', () => {
    expect(decodeActivateRequest(HEADERS, '{"algorithm":"hmac-sha256","challenge":"c","hmac":"00"}')).toMatchObject({
      value: { challenge: 'c' },
    })
    expect(decodeActivateRequest(HEADERS, '{"Payload":{"challenge":"c"}}')).toMatchObject({ value: { challenge: 'c' } })
  })
})
