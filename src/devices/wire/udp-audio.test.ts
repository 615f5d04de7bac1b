import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../core/bytes.ts'
import { decodeUdpAudio, encodeUdpAudio } from './udp-audio.ts'

const OPUS = fromHex('01 02 03 04')

describe('UDP audio', () => {
  const keys = { keyHex: '000102030405060708090a0b0c0d0e0f', nonceHex: '01000000deadbeef0000000000000000' }

  it('writes size, timestamp and sequence into the header that serves as nonce', () => {
    const bytes = encodeUdpAudio(keys, { timestampMs: 60, sequence: 1, opus: OPUS })
    expect(toHex(bytes.subarray(0, 16))).toBe('01000004deadbeef0000003c00000001')
    expect(bytes.length).toBe(20)
    expect(toHex(bytes.subarray(16))).not.toBe('01020304')
  })

  it('decrypts with the same key what was encrypted', () => {
    const bytes = encodeUdpAudio(keys, { timestampMs: 60, sequence: 7, opus: OPUS })
    expect(decodeUdpAudio(keys.keyHex, bytes)).toEqual({
      ok: true,
      value: { ssrc: 0xde_ad_be_ef, timestampMs: 60, sequence: 7, opus: OPUS },
    })
  })

  it('refuses truncated packets and packets that are not audio', () => {
    expect(decodeUdpAudio(keys.keyHex, fromHex('0100'))).toEqual({ ok: false, fault: { kind: 'not-audio' } })
    expect(decodeUdpAudio(keys.keyHex, fromHex('01000004deadbeef0000003c00000001 00'))).toEqual({
      ok: false,
      fault: { kind: 'size-differs' },
    })
  })
})
