import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import { decodeWebSocketFrame, encodeWebSocketFrame } from './websocket-frame.ts'

describe('WebSocket frame', () => {
  it('is masked as in RFC 6455 § 5.7', () => {
    expect(toHex(encodeWebSocketFrame('text', toUtf8('Hello'), fromHex('37fa213d')))).toBe('818537fa213d7f9f4d5158')
  })

  it('is read as servers send it, without a mask', () => {
    expect(decodeWebSocketFrame(fromHex('810548656c6c6f ff'))).toEqual({
      frame: { opcode: 'text', final: true, payload: toUtf8('Hello') },
      size: 7,
    })
    expect(decodeWebSocketFrame(fromHex('010348656c'))).toMatchObject({ frame: { opcode: 'text', final: false } })
    expect(decodeWebSocketFrame(fromHex('8900'))).toMatchObject({ frame: { opcode: 'ping' } })
  })

  it('is awaited while incomplete, and refused if masked or compressed', () => {
    expect(decodeWebSocketFrame(fromHex('81'))).toBeUndefined()
    expect(decodeWebSocketFrame(fromHex('817e01'))).toBeUndefined()
    expect(decodeWebSocketFrame(fromHex('8185'))).toBe('malformed')
    expect(decodeWebSocketFrame(fromHex('c100'))).toBe('malformed')
  })

  it('is encoded for every payload length so that it decodes again', () => {
    for (const size of [0, 125, 126, 65_535, 65_536]) {
      const bytes = encodeWebSocketFrame('binary', new Uint8Array(size).fill(7), new Uint8Array(4))
      const unmasked = Uint8Array.from(bytes)
      unmasked[1] = (unmasked[1] ?? 0) & 0x7f
      const header = bytes.length - size - 4
      const server = new Uint8Array([...unmasked.subarray(0, header), ...unmasked.subarray(header + 4)])
      expect(decodeWebSocketFrame(server)).toMatchObject({ size: size + header, frame: { opcode: 'binary' } })
    }
  })

  it('never makes the decoder throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(['object', 'string', 'undefined']).toContain(typeof decodeWebSocketFrame(bytes))
      }),
    )
  })
})
