import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeDeviceFrame,
  encodeAnnouncementMessage,
  encodeKeepAliveTextFrame,
  encodeMcpMessage,
} from './device-frame.ts'
import { createRpcRequest } from './rpc.ts'

describe('device frame', () => {
  it('writes a request with its members in the order of spec 3', () => {
    const request = createRpcRequest({ id: 1, method: 'tools/list', params: { cursor: '', withUserTools: false } })
    expect(encodeMcpMessage('S1', request)).toBe(
      '{"session_id":"S1","type":"mcp","payload":{"jsonrpc":"2.0","method":"tools/list","params":{"cursor":"","withUserTools":false},"id":1}}',
    )
  })

  it('reads a result', () => {
    expect(
      decodeDeviceFrame(
        '{"session_id":"S1","type":"mcp","payload":{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"true"}],"isError":false}}}',
      ),
    ).toEqual({
      ok: true,
      value: {
        kind: 'mcp',
        salvaged: false,
        message: { kind: 'result', id: 3, result: { content: [{ type: 'text', text: 'true' }], isError: false } },
      },
    })
  })

  it('reads the notification of spec 3', () => {
    expect(
      decodeDeviceFrame(
        '{"session_id":"S1","type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/state_changed","params":{"newState":"idle","oldState":"connecting"}}}',
      ),
    ).toMatchObject({
      value: {
        message: {
          kind: 'notification',
          method: 'notifications/state_changed',
          params: { newState: 'idle', oldState: 'connecting' },
        },
      },
    })
  })

  it('reads a listen message, and treats an unknown mode or state as an open microphone', () => {
    const listen = (fields: string) => decodeDeviceFrame(`{"session_id":"S1","type":"listen",${fields}}`)
    expect(listen('"state":"start","mode":"auto"')).toMatchObject({ value: { state: 'start', mode: 'auto' } })
    expect(listen('"state":"detect","text":"你好小智"')).toMatchObject({ value: { state: 'detect' } })
    expect(listen('"state":"go","mode":"always"')).toMatchObject({ value: { state: 'start', mode: 'realtime' } })
  })

  it('reports the type of an unknown message', () => {
    expect(decodeDeviceFrame('{"session_id":"S1","type":"iot","states":[]}')).toEqual({
      ok: true,
      value: { kind: 'other', type: 'iot' },
    })
    expect(decodeDeviceFrame('{"session_id":"S1","type":"goodbye"}')).toEqual({ ok: true, value: { kind: 'goodbye' } })
  })

  it.each([
    ['', 'not-json'],
    ['{', 'not-json'],
    ['[]', 'no-type'],
    ['null', 'no-type'],
    ['{"type":7}', 'no-type'],
    ['{"type":"mcp"}', 'bad-rpc'],
    ['{"type":"mcp","payload":[]}', 'bad-rpc'],
    ['{"type":"mcp","payload":{"jsonrpc":"2.0","id":"7","result":{}}}', 'bad-rpc'],
    ['{"type":"mcp","payload":{"jsonrpc":"2.0","id":7.5,"result":{}}}', 'bad-rpc'],
    ['{"type":"mcp","payload":{"jsonrpc":"1.0","id":7,"result":{}}}', 'bad-rpc'],
    ['{"type":"mcp","payload":{"jsonrpc":"2.0","id":7}}', 'bad-rpc'],
  ])('refuses %s as %s', (text, kind) => {
    expect(decodeDeviceFrame(text)).toMatchObject({ ok: false, fault: { kind } })
  })

  it('refuses deeply nested JSON instead of overflowing the stack', () => {
    const deep = `{"type":"mcp","payload":${'['.repeat(60_000)}${']'.repeat(60_000)}}`
    expect(decodeDeviceFrame(deep).ok).toBe(false)
  })

  it('never throws on any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(decodeDeviceFrame(text)).toHaveProperty('ok')
      }),
    )
  })

  it('writes a keep-alive message that devices ignore', () => {
    expect(encodeKeepAliveTextFrame('S1')).toBe('{"session_id":"S1","type":"pong"}')
  })

  it('writes announcements with every field that the firmware requires', () => {
    expect(encodeAnnouncementMessage('', { kind: 'alert', status: 'Door', message: 'Bell', emotion: 'happy' })).toBe(
      '{"session_id":"","type":"alert","status":"Door","message":"Bell","emotion":"happy"}',
    )
    expect(
      encodeAnnouncementMessage('S', {
        kind: 'notify',
        audioUrl: 'http://h:1/a.ogg',
        subtitles: [{ startMs: 0, text: 'Hi' }],
      }),
    ).toBe('{"session_id":"S","type":"notify","audio_url":"http://h:1/a.ogg","subtitles":[{"start_ms":0,"text":"Hi"}]}')
  })
})
