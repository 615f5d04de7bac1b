import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toUtf8 } from '../../core/bytes.ts'
import { decodeIdentity, decodeSerialChunk } from './device-identity.ts'

const BAI = fromHex('b5 4241493030 0603 9602')

describe('device identification', () => {
  it('is read with manufacturer, device id and versions', () => {
    expect(decodeIdentity(BAI)).toEqual({
      ok: true,
      value: {
        manufacturerCode: 0xb5,
        manufacturer: 'Vaillant',
        deviceId: 'BAI00',
        software: '0603',
        hardware: '9602',
      },
    })
    expect(decodeIdentity(fromHex('42 2020202000 0100 0000'))).toMatchObject({
      value: { manufacturer: '0x42', deviceId: '' },
    })
  })

  it('is refused if the answer is too short', () => {
    expect(decodeIdentity(fromHex('b5 4241'))).toEqual({ ok: false, fault: { kind: 'too-short', got: 3 } })
  })

  it('includes parts of the serial number with and without a status byte', () => {
    expect(decodeSerialChunk(0, Uint8Array.of(0, ...toUtf8('21160900')))).toBe('21160900')
    expect(decodeSerialChunk(0, toUtf8('21160900'))).toBe('21160900')
    expect(decodeSerialChunk(2, Uint8Array.of(0, ...toUtf8('09380063')))).toBe('09380063')
    expect(decodeSerialChunk(1, fromHex('00'))).toBeUndefined()
    expect(decodeSerialChunk(1, new Uint8Array())).toBeUndefined()
  })

  it('never throws on any answer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (answer) => {
        expect(decodeIdentity(answer).ok).toBe(answer.length >= 10)
        expect(decodeSerialChunk(1, answer)?.length ?? 1).toBeLessThan(10)
      }),
    )
  })
})
