import { describe, expect, it } from 'vitest'
import { decodeDeviceHello, encodeUdpHello, encodeWebSocketHello } from './hello.ts'

const KEYS = { keyHex: '000102030405060708090a0b0c0d0e0f', nonceHex: '01000000deadbeef0000000000000000' }

describe('device hello', () => {
  it('reads the hello of firmware 2.4', () => {
    const hello = decodeDeviceHello(
      JSON.parse(
        '{"type":"hello","version":1,"features":{"mcp":true,"glyph_push":false},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}',
      ),
    )
    expect(hello).toEqual({
      ok: true,
      value: {
        version: 1,
        transport: 'websocket',
        mcp: true,
        audio: { sampleRate: 16_000, frameMs: 60 },
        sessionId: undefined,
      },
    })
  })

  it('reads the example of spec 3, with its session id', () => {
    const hello = decodeDeviceHello({
      type: 'hello',
      version: 1,
      features: { mcp: true },
      transport: 'websocket',
      session_id: 'abc',
    })
    expect(hello).toMatchObject({ ok: true, value: { mcp: true, sessionId: 'abc' } })
  })

  it('reads MCP support from nothing but the value true', () => {
    for (const features of [undefined, null, {}, { mcp: 'true' }, { mcp: 1 }, [true]])
      expect(decodeDeviceHello({ type: 'hello', features: features ?? null })).toMatchObject({ value: { mcp: false } })
  })

  it('refuses an unknown transport', () => {
    expect(decodeDeviceHello({ type: 'hello', transport: 'carrier-pigeon' }).ok).toBe(false)
  })

  it('replaces impossible audio parameters with the defaults', () => {
    expect(decodeDeviceHello({ audio_params: { sample_rate: 1e9, frame_duration: -5 } })).toMatchObject({
      value: { audio: { sampleRate: 16_000, frameMs: 60 } },
    })
  })

  // 24 kHz and 60 ms: what every server in the captures of firmware 2.4.2 says, and what the firmware assumes.
  it('answers with transport, session id and audio over WebSocket', () => {
    expect(encodeWebSocketHello('S1')).toBe(
      '{"type":"hello","version":1,"transport":"websocket","session_id":"S1","audio_params":{"format":"opus","sample_rate":24000,"channels":1,"frame_duration":60}}',
    )
  })

  it('answers with a UDP endpoint over MQTT', () => {
    const text = encodeUdpHello('S1', { server: '192.168.1.2', port: 8884, ...KEYS })
    expect(JSON.parse(text)).toEqual({
      type: 'hello',
      version: 3,
      transport: 'udp',
      session_id: 'S1',
      audio_params: { format: 'opus', sample_rate: 24_000, channels: 1, frame_duration: 60 },
      udp: {
        server: '192.168.1.2',
        port: 8884,
        encryption: 'aes-128-ctr',
        key: '000102030405060708090a0b0c0d0e0f',
        nonce: '01000000deadbeef0000000000000000',
      },
    })
  })

  it('throws on a UDP key or port that makes devices ignore the answer', () => {
    expect(() => encodeUdpHello('S1', { server: 'h', port: 0, ...KEYS })).toThrow(RangeError)
    expect(() => encodeUdpHello('S1', { server: 'h', port: 1, ...KEYS, keyHex: 'ab' })).toThrow(RangeError)
  })
})
