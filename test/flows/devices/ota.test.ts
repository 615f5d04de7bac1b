import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenLocally } from '../../local-port.ts'
import { examineOta } from '../../../src/devices/enrol/ota-doctor-client.ts'
import type { DoctorFinding } from '../../../src/core/doctor-finding.ts'
import { startDeviceSimulator } from '../../../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../../../src/sim/devices/identity.ts'
import type { House } from './house.ts'
import { openHouse, QUICK } from './house.ts'

let house: House
beforeAll(async () => {
  house = await openHouse({ server: { timezoneMinutes: () => 120 } })
})
afterAll(() => house.stop())

const url = (path: string) => `http://127.0.0.1:${house.httpPort}${path}`
const HEADERS = {
  'Device-Id': 'a0:b1:c2:d3:e4:f5',
  'Client-Id': '7b94d69a-9808-4c59-9c9b-704333b38aff',
}
const status = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(url(path), init)
  await response.arrayBuffer()
  return response.status
}

describe('the OTA endpoint', () => {
  it('answers a browser’s GET with a sentence', async () => {
    const response = await fetch(url('/xiaozhi/ota/'))
    expect([response.status, await response.text()]).toEqual([
      200,
      'Hearthbus: the OTA endpoint works. Devices ask it with POST.\n',
    ])
  })

  it('answers with or without a trailing slash, with the timezone in minutes', async () => {
    const response = await fetch(url('/xiaozhi/ota'), { method: 'POST', headers: HEADERS, body: '{}' })
    expect(await response.json()).toMatchObject({ server_time: { timezone_offset: 120 }, activation: {} })
  })

  it.each([
    ['/xiaozhi/ota/', { method: 'POST', body: '{}' }, 400],
    ['/xiaozhi/ota/', { method: 'POST', headers: HEADERS, body: 'x'.repeat(40_000) }, 413],
    ['/xiaozhi/ota/', { method: 'PUT', headers: HEADERS, body: '{}' }, 405],
    ['/xiaozhi/ota/activate', { method: 'POST', body: '{}' }, 400],
    ['/xiaozhi/ota/activate', {}, 405],
    ['/xiaozhi/vision/explain', { method: 'POST', body: 'x' }, 401],
    ['/xiaozhi/vision/explain', {}, 405],
    ['/', {}, 404],
    ['/mcp', { method: 'POST', body: '{}' }, 404],
  ])('answers %s %j with %i', async (path, init, expected) => {
    expect(await status(path, init)).toBe(expected)
  })

  it.each([
    ['a quote', Buffer.from('{"board":{"type":"esp-box","ssid":"Bob"s Wi-Fi"}}')],
    ['GBK', Buffer.from('{"board":{"type":"esp-box","ssid":"\xBC\xD2"}}', 'latin1')],
  ])('shows a code on a Wi-Fi with %s in its name', async (_what, body) => {
    const { deviceId, clientId } = createNumberedIdentity(4_000)
    const headers = { 'Device-Id': deviceId, 'Client-Id': clientId, 'User-Agent': 'esp-box/2.4.2' }
    const response = await fetch(url('/xiaozhi/ota/'), { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ activation: { code: expect.stringMatching(/^\d{6}$/) } })
    expect(house.registrar.pending().find((each) => each.deviceId === deviceId)?.board).toBe('esp-box')
  })

  it('repeats the same code until a person approves it, and then returns credentials', async () => {
    const codes: string[] = []
    const device = await startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'speaker',
      identity: { ...createNumberedIdentity(8_001), serialNumber: '0'.repeat(32) },
      ota: house.ota,
      timing: QUICK,
      onCode: (code) => {
        codes.push(code)
        setTimeout(() => void house.registrar.approve(code, { by: 'the test' }), 60)
      },
    })
    expect(new Set(codes).size).toBe(1)
    expect(device.otaAnswer()).toHaveProperty('websocket.token')
    device.stop()
  })
})

describe('the OTA endpoint without a working database', () => {
  it('answers 429 without credentials, because a 5xx makes devices fall back to default settings', async () => {
    const broken = await openHouse()
    const device = await broken.enrol('websocket')
    const { deviceId, clientId } = device.identity
    device.stop()
    broken.database.close()
    const headers = { 'Device-Id': deviceId, 'Client-Id': clientId }
    const response = await fetch(broken.ota, { method: 'POST', headers, body: '{}' })
    expect([response.status, await response.json()]).toEqual([429, { error: 'try again' }])
    await broken.close()
  })
})

const sentences = (findings: readonly DoctorFinding[], level: DoctorFinding['level']) =>
  findings.filter((finding) => finding.level === level).map(({ sentence }) => sentence)

describe('doctor for OTA answers', () => {
  it.each(['websocket', 'mqtt'] as const)(
    'reports what a %s device receives, and that connections need credentials',
    async (transport) => {
      const device = await house.enrol(transport)
      const pending = house.registrar.pending().length
      const { answer: told, findings } = await examineOta({ otaUrl: house.ota, identity: device.identity })
      expect(JSON.stringify(told)).not.toContain('"token":"ey')
      expect(told).toMatchObject(transport === 'mqtt' ? { mqtt: { password: '' } } : { websocket: { token: '' } })
      expect(sentences(findings, 'ok')).toEqual([expect.stringContaining('lets nobody in without credentials')])
      // The house of this test is on the loopback, where no real device could reach it: the doctor says so.
      expect(sentences(findings, 'fail')).toEqual([
        '127.0.0.1 is this machine: no device can reach it. Ask at the address that devices use.',
      ])
      expect(house.registrar.pending()).toHaveLength(pending)
      expect(device.connected()).toBe(true)
    },
  )

  it('reports that an unknown device would be shown a code, without adding it to the pending list', async () => {
    const identity = { deviceId: '02:00:00:00:00:99', clientId: '00000099-0000-4000-8000-000000000000' }
    const pending = house.registrar.pending().length
    const { findings, healthy } = await examineOta({ otaUrl: house.ota, identity })
    expect(findings.map(({ sentence }) => sentence)).toEqual([
      'A stranger: it shows a code and waits until somebody approves it.',
    ])
    expect(healthy).toBe(true)
    expect(house.registrar.pending()).toHaveLength(pending)
  })

  it('names known mistakes of other OTA servers', async () => {
    let answer = '{}'
    const server = createServer((_request, response) => response.end(answer))
    const port = await listenLocally(server)
    const otaUrl = `http://127.0.0.1:${port}/`
    const identity = { deviceId: '02:00:00:00:00:99', clientId: '00000099-0000-4000-8000-000000000000' }
    const visit = async (body: string) => {
      answer = body
      return sentences((await examineOta({ otaUrl, identity, timeoutMs: 20_000 })).findings, 'fail').join(' ')
    }
    expect(await visit('nonsense')).toContain('not JSON')
    expect(await visit('{}')).toContain('Neither websocket nor mqtt')
    expect(await visit(`{"websocket":{"url":"ws://127.0.0.1:${port}/x","token":""}}`)).toContain('not as a backend')
    expect(await visit('{"websocket":{"url":"ws://127.0.0.1:1/x","token":""}}')).toContain('cannot be reached')
    server.close()
    expect(await visit('')).toContain('did not answer')
  })
})
