import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { encodeRunningGatewayNote, parseRunningGatewayNote } from './running-gateway-note.ts'

const NOTE = { url: 'http://127.0.0.1:8123', pid: 7, version: '1.0.0' }

describe('note of a running gateway', () => {
  it('has a MAC under the owner token', () => {
    const text = '{"pid":7,"url":"http://127.0.0.1:8123","version":"1.0.0"}'
    const mac = createHmac('sha256', 'hb_owner').update(`hearthbus gateway note v1\n${text}`).digest('hex')
    expect(JSON.parse(encodeRunningGatewayNote(NOTE, 'hb_owner'))).toEqual({ ...NOTE, mac })
    expect(parseRunningGatewayNote(encodeRunningGatewayNote(NOTE, 'hb_owner'), 'hb_owner')).toEqual(NOTE)
  })

  it.each([
    ['another address', { url: 'http://127.0.0.1:9' }],
    ['another process', { pid: 8 }],
    ['no authenticator', { mac: undefined }],
    ['an authenticator that is not a text', { mac: 7 }],
  ])('with %s is refused by a reader that has the owner token', (_, change) => {
    const text = JSON.stringify({ ...JSON.parse(encodeRunningGatewayNote(NOTE, 'hb_owner')), ...change })
    expect(parseRunningGatewayNote(text, 'hb_owner')).toBeUndefined()
  })

  it('is read without its MAC by a caller that has no owner token', () => {
    expect(parseRunningGatewayNote(JSON.stringify(NOTE), undefined)).toEqual(NOTE)
    expect(parseRunningGatewayNote('{"url":', undefined)).toBeUndefined()
  })
})
