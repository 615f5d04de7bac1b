import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../core/bytes.ts'
import { decodeAudioFrame, encodeAudioFrame } from './audio-frame.ts'

const OPUS = fromHex('01 02 03 04')

describe('audio frame', () => {
  it('has no header in version 1', () => {
    expect(toHex(encodeAudioFrame(1, { timestampMs: 1234, opus: OPUS }))).toBe('01020304')
  })

  it('has sixteen bytes of header in version 2', () => {
    const bytes = fromHex('0002 0000 00000000 000004d2 00000004 01020304')
    expect(encodeAudioFrame(2, { timestampMs: 1234, opus: OPUS })).toEqual(bytes)
    expect(decodeAudioFrame(2, bytes)).toEqual({ ok: true, value: { timestampMs: 1234, opus: OPUS } })
  })

  it('has four bytes of header in version 3', () => {
    const bytes = fromHex('00 00 0004 01020304')
    expect(encodeAudioFrame(3, { timestampMs: 0, opus: OPUS })).toEqual(bytes)
    expect(decodeAudioFrame(3, bytes)).toEqual({ ok: true, value: { timestampMs: 0, opus: OPUS } })
  })

  it('accepts version 2 frames with version and type zero', () => {
    expect(decodeAudioFrame(2, fromHex('0000 0000 00000000 00000000 00000001 ff')).ok).toBe(true)
  })

  it('refuses a frame whose size field differs from its length', () => {
    expect(decodeAudioFrame(3, fromHex('00 00 0005 01020304'))).toEqual({
      ok: false,
      fault: { kind: 'size-differs', declared: 5, got: 4 },
    })
    expect(decodeAudioFrame(2, fromHex('0002 0001 00000000 00000000 00000000')).ok).toBe(false)
    expect(decodeAudioFrame(2, fromHex('0002')).ok).toBe(false)
    expect(decodeAudioFrame(1, new Uint8Array(0)).ok).toBe(false)
  })

  it('decodes what it encoded, in every version', () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 2, 3), fc.uint8Array({ minLength: 1, maxLength: 400 }), (version, opus) => {
        const decoded = decodeAudioFrame(version, encodeAudioFrame(version, { timestampMs: 9, opus }))
        expect(decoded).toMatchObject({ ok: true, value: { opus } })
      }),
    )
  })
})
