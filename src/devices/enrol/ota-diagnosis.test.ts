import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import { diagnoseOtaAnswer } from './ota-diagnosis.ts'

const TIME = { timestamp: 1, timezone_offset: 60 }
const MQTT = { endpoint: '192.168.1.2:1883', client_id: 'c', username: 'u', password: 'p', publish_topic: 't' }
const problems = (answer: JsonObject) =>
  diagnoseOtaAnswer({ server_time: TIME, ...answer })
    .findings.filter(({ level }) => level === 'fail')
    .map(({ sentence }) => sentence)
const webSocket = (url: string) => ({ websocket: { url, token: '' } })

describe('diagnosing an OTA answer', () => {
  it('finds nothing wrong with a correct answer', () => {
    const answer = { server_time: TIME, ...webSocket('ws://192.168.1.2:7421/xiaozhi/v1/') }
    expect(diagnoseOtaAnswer(answer)).toEqual({
      target: { kind: 'websocket', url: 'ws://192.168.1.2:7421/xiaozhi/v1/', host: '192.168.1.2', port: 7421 },
      findings: [{ level: 'ok', about: 'device', sentence: 'The device is sent to 192.168.1.2.' }],
    })
    expect(diagnoseOtaAnswer({ server_time: TIME, mqtt: MQTT }).target).toEqual({
      kind: 'mqtt',
      host: '192.168.1.2',
      port: 1883,
    })
  })

  it.each([
    ['ws://192.168.1.2/xiaozhi/v1/', 'with the port'],
    ['http://192.168.1.2:1/x', 'with the port'],
    ['ws://[fe80::1]:7421/', 'with the port'],
    ['', 'An empty address'],
    ['ws://127.0.0.1:7421/', 'no device can reach it'],
    ['ws://localhost:7421/', 'no device can reach it'],
    ['ws://0.0.0.0:7421/', 'not an address to connect to'],
    ['wss://192.168.1.2:443/', 'trusts no other'],
  ])('reports a problem with the address %s', (url, sentence) => {
    expect(problems(webSocket(url)).join()).toContain(sentence)
  })

  it('warns about an address of a Docker network', () => {
    expect(
      diagnoseOtaAnswer(webSocket('ws://172.18.0.3:7421/'))
        .findings.map(({ sentence }) => sentence)
        .join(),
    ).toContain('Docker')
  })

  it('reports MQTT settings that devices cannot use or misread', () => {
    expect(problems({ mqtt: { ...MQTT, endpoint: '192.168.1.2' } }).join()).toContain('TLS')
    expect(problems({ mqtt: { endpoint: 'h.example:1883' } })).toHaveLength(4)
    expect(problems({ mqtt: { ...MQTT, endpoint: '' } })).toEqual(['mqtt.endpoint is empty.'])
    const both = diagnoseOtaAnswer({ mqtt: MQTT, ...webSocket('ws://192.168.1.2:1/') })
    expect(both.target.kind).toBe('mqtt')
    expect(both.findings.map(({ sentence }) => sentence).join()).toContain('Both sections')
  })

  it('names known mistakes of other OTA servers', () => {
    expect(problems({ mqtt: MQTT, firmware: { version: 'v2.0', url: '' } }).join()).toContain('dotted numbers')
    expect(problems({ mqtt: MQTT, server_time: { timezone_offset: 28_800_000 } }).join()).toContain('in minutes')
    expect(problems({}).join()).toContain('falls back')
    expect(diagnoseOtaAnswer({ activation: { code: '123456' } }).target).toEqual({ kind: 'activation', code: '123456' })
  })
})
