import { describe, expect, it } from 'vitest'
import { parseUpgradeRequest } from './upgrade-request.ts'

const ENDPOINT = { path: '/xiaozhi/v1/', allowedOrigins: ['https://console.example'] }
const HEADERS = {
  'device-id': 'A0:B1:C2:D3:E4:F5',
  'client-id': '7b94d69a-9808-4c59-9c9b-704333b38aff',
  authorization: 'Bearer T',
}
const CLAIM = {
  kind: 'token',
  deviceId: 'a0:b1:c2:d3:e4:f5',
  clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff',
  token: 'T',
}

describe('WebSocket upgrade request', () => {
  it('reads the device identity from headers', () => {
    expect(parseUpgradeRequest(ENDPOINT, '/xiaozhi/v1/', HEADERS)).toEqual({ ok: true, value: CLAIM })
    expect(parseUpgradeRequest(ENDPOINT, '/xiaozhi/v1', HEADERS).ok).toBe(true)
  })

  it('reads the device identity from the query, for clients that cannot set headers', () => {
    const query = `device-id=${HEADERS['device-id']}&client-id=${HEADERS['client-id']}&authorization=Bearer%20T`
    expect(parseUpgradeRequest(ENDPOINT, `/xiaozhi/v1/?${query}`, {})).toEqual({ ok: true, value: CLAIM })
  })

  it('accepts a token with or without the Bearer scheme', () => {
    expect(parseUpgradeRequest(ENDPOINT, '/xiaozhi/v1/', { ...HEADERS, authorization: 'T' })).toEqual({
      ok: true,
      value: CLAIM,
    })
  })

  it('accepts web pages from the allowed origins only', () => {
    const from = (origin: string) => parseUpgradeRequest(ENDPOINT, '/xiaozhi/v1/', { ...HEADERS, origin })
    expect(from('https://console.example').ok).toBe(true)
    for (const origin of ['https://evil.example', 'null', ''])
      expect(from(origin)).toEqual({ ok: false, fault: { kind: 'foreign-origin', deviceId: 'a0:b1:c2:d3:e4:f5' } })
  })

  it('reports the claimed identity of a request without credentials', () => {
    expect(parseUpgradeRequest(ENDPOINT, '/xiaozhi/v1/', { ...HEADERS, authorization: undefined })).toEqual({
      ok: false,
      fault: { kind: 'no-token', deviceId: 'a0:b1:c2:d3:e4:f5' },
    })
  })

  it.each([
    ['/other/', HEADERS, 'wrong-path'],
    ['', HEADERS, 'wrong-path'],
    ['/xiaozhi/v1/', { ...HEADERS, 'device-id': 'x' }, 'no-identity'],
    ['/xiaozhi/v1/', { ...HEADERS, 'client-id': HEADERS['device-id'] }, 'no-identity'],
    ['/xiaozhi/v1/', { ...HEADERS, authorization: undefined }, 'no-token'],
    ['/xiaozhi/v1/', { ...HEADERS, authorization: 'Bearer ' }, 'no-token'],
    ['/xiaozhi/v1/', { ...HEADERS, authorization: 'x'.repeat(600) }, 'no-token'],
  ])('refuses %s %j: %s', (target, headers, kind) => {
    expect(parseUpgradeRequest(ENDPOINT, target, headers)).toMatchObject({ ok: false, fault: { kind } })
  })
})
