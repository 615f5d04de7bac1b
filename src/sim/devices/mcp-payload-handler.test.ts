import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.ts'
import { createSimulatedBoard } from './simulated-board.ts'
import type { McpPayloadEffect } from './mcp-payload-handler.ts'
import { encodeToolFailure, handleMcpPayload, encodeToolReturn, clampToInt32 } from './mcp-payload-handler.ts'
import type { FirmwareProfileName } from './firmware-profile.ts'
import { FIRMWARE_PROFILES } from './firmware-profile.ts'

const board = createSimulatedBoard('robot', {
  firmware: '2.4.2',
  systemInfo: () => ({}),
  reboot: () => undefined,
  hasAssets: false,
  upload: () => Promise.resolve(false),
  download: () => Promise.resolve(undefined),
  explain: () => Promise.resolve(''),
})

const ask = (payload: Json, profile: FirmwareProfileName = 'fw-2.4'): McpPayloadEffect =>
  handleMcpPayload({ profile: FIRMWARE_PROFILES[profile], board: board.name, tools: board.tools }, payload)
const request = (method: string, params?: JsonObject, id: Json = 7) => ({
  jsonrpc: '2.0',
  method,
  ...(params === undefined ? {} : { params }),
  id,
})
const reply = (payload: Json, profile?: FirmwareProfileName) => {
  const action = ask(payload, profile)
  return action.kind === 'reply' ? action.text : action.kind
}
const call = (name: string, args: Json, profile?: FirmwareProfileName) =>
  reply(request('tools/call', { name, arguments: args }), profile)

describe('simulated firmware', () => {
  it.each<[string, Json]>([
    ['a batch', [request('ping')]],
    ['no version', { method: 'ping', id: 1 }],
    ['another version', { jsonrpc: '1.0', method: 'ping', id: 1 }],
    ['an answer', { jsonrpc: '2.0', id: 1, result: {} }],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized', id: 1 }],
    ['params that are a list', { jsonrpc: '2.0', method: 'ping', params: [], id: 1 }],
    ['params that are null', { jsonrpc: '2.0', method: 'ping', params: null, id: 1 }],
    ['no id', { jsonrpc: '2.0', method: 'ping' }],
    ['an id that is a string', request('ping', {}, 'x')],
  ])('does not answer %s', (_what, payload) => {
    expect(ask(payload)).toEqual({ kind: 'silence' })
  })

  it('limits request ids to 32 bits', () => {
    expect([15.7, 99_999_999_999, -3, -1e12].map(clampToInt32)).toEqual([15, 2_147_483_647, -3, -2_147_483_648])
    expect(reply(request('ping', {}, 15.7))).toContain('"id":15,')
  })

  it('answers an unknown method with an error', () => {
    expect(reply(request('ping'))).toBe('{"jsonrpc":"2.0","id":7,"error":{"message":"Method not implemented: ping"}}')
    expect(reply(request('ping'), 'fw-next')).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not implemented: ping"}}',
    )
  })

  it('answers initialize regardless of key case, and stores the URL for photos', () => {
    const vision = { url: 'http://h:1/v', token: 'T' }
    const action = ask(request('initialize', { Capabilities: { Vision: vision } }))
    expect(action).toMatchObject({ kind: 'reply', vision })
    expect(JSON.parse(reply(request('initialize', {})))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        protocolVersion: '2024-11-05',
        capabilities: { tools: {} },
        serverInfo: { name: 'otto-robot', version: '2.4.2' },
      },
    })
  })

  it('lists tools in pages of 8,000 bytes, with the next name as cursor', () => {
    const names: string[] = []
    let cursor = ''
    let pages = 0
    do {
      const text = reply(request('tools/list', { cursor, withUserTools: true }))
      expect(Buffer.byteLength(text)).toBeLessThan(8_100)
      const { result } = JSON.parse(text) as { result: { tools: { name: string }[]; nextCursor?: string } }
      names.push(...result.tools.map(({ name }) => name))
      cursor = result.nextCursor ?? ''
      pages++
    } while (cursor !== '')
    expect(pages).toBeGreaterThan(1)
    expect(names).toEqual(board.tools.map(({ name }) => name))
    expect(names.at(-1)).toBe('self.screen.preview_image')
  })

  it('answers an unknown cursor with its payload size error', () => {
    expect(reply(request('tools/list', { cursor: 'nobody' }))).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"message":"Failed to add tool  because of payload size limit"}}',
    )
  })

  it('answers the cursor of a user-only tool without withUserTools with the same error', () => {
    expect(reply(request('tools/list', { cursor: 'self.reboot' }))).toContain('payload size limit')
  })

  it.each<[Json, string]>([
    [{ volume: 33.9 }, 'run'],
    [{ VOLUME: 5, extra: 1 }, 'run'],
    [{ volume: '50' }, 'Missing valid argument: volume'],
    [{}, 'Missing valid argument: volume'],
    [{ volume: 101 }, 'Value exceeds maximum allowed: 100'],
    [{ volume: -1 }, 'Value is below minimum allowed: 0'],
    [[], 'Invalid arguments'],
    [null, 'Invalid arguments'],
  ])('2.4 answers %j with %s', (args, outcome) => {
    expect(call('self.audio_speaker.set_volume', args)).toContain(outcome)
  })

  it.each<[Json, string]>([
    [{ volume: '50' }, '"code":-32602,"message":"Invalid type for argument: volume"'],
    [{}, '"code":-32602,"message":"Missing required argument: volume"'],
    [[], '"code":-32602,"message":"Invalid arguments: expected object"'],
  ])('newer than 2.4 answers %j with %s', (args, outcome) => {
    expect(call('self.audio_speaker.set_volume', args, 'fw-next')).toContain(outcome)
  })

  it('runs user-only tools that are not listed', () => {
    expect(call('self.reboot', {})).toBe('run')
  })

  it('sends invalid JSON for an unknown tool name with a quote', () => {
    expect(call('a"b', {})).toBe('{"jsonrpc":"2.0","id":7,"error":{"message":"Unknown tool: a"b"}}')
    expect(call('a"b', {}, 'py')).toBe(
      String.raw`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Unknown tool: a\"b"}}`,
    )
  })

  it('returns a single content item, with an image nested in a string', () => {
    expect(encodeToolReturn(3, true)).toBe(
      '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"true"}],"isError":false}}',
    )
    expect(encodeToolReturn(3, { jpeg: Uint8Array.of(0xff, 0xd8) })).toContain(
      String.raw`{"type":"image","image":"{\"type\":\"image\",\"mimeType\":\"image/jpeg\",\"data\":\"/9g=\"}"}`,
    )
  })

  it('reports a failed tool as an error, and py-xiaozhi as a result with isError', () => {
    expect(encodeToolFailure(FIRMWARE_PROFILES['fw-2.4'], 3, 'no')).toBe(
      '{"jsonrpc":"2.0","id":3,"error":{"message":"no"}}',
    )
    expect(encodeToolFailure(FIRMWARE_PROFILES.py, 3, 'no')).toBe(
      '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}',
    )
  })
})
