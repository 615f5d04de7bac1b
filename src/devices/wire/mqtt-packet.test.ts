import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes, fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import {
  decodeMqttPacket,
  encodeConnect,
  encodePublish,
  encodeSubscribe,
  trackPacketLengths,
  INITIAL_PACKET_LENGTHS,
} from './mqtt-packet.ts'

describe('MQTT packet', () => {
  it('connects with the flags of a stock device', () => {
    const bytes = encodeConnect({ clientId: 'ab', username: 'u', password: 'p', keepAliveSeconds: 240 })
    expect(toHex(bytes)).toBe('101400044d51545404c200f000026162000175000170')
  })

  it('publishes and subscribes', () => {
    expect(toHex(encodePublish('t', toUtf8('{}')))).toBe('30050001747b7d')
    expect(toHex(encodeSubscribe(1, 't', 1))).toBe('8206000100017401')
  })

  it('writes lengths beyond one byte', () => {
    expect(toHex(encodePublish('t', new Uint8Array(200)).subarray(0, 3))).toBe('30cb01')
  })

  it('reads what a broker sends', () => {
    expect(decodeMqttPacket(fromHex('20 02 00 05'))).toEqual({ packet: { kind: 'connack', returnCode: 5 }, size: 4 })
    expect(decodeMqttPacket(fromHex('30 05 0001 74 7b7d ff'))).toEqual({
      packet: { kind: 'publish', topic: 't', qos: 0, payload: toUtf8('{}') },
      size: 7,
    })
    expect(decodeMqttPacket(fromHex('32 05 0001 74 0007'))).toMatchObject({ packet: { qos: 1, payload: toUtf8('') } })
    expect(decodeMqttPacket(fromHex('90 03 0001 80'))).toMatchObject({ packet: { returnCodes: [0x80] } })
    expect(decodeMqttPacket(fromHex('d0 00'))).toMatchObject({ packet: { kind: 'pingresp' } })
  })

  it('waits for the rest and refuses what can never be whole', () => {
    expect(decodeMqttPacket(fromHex('30'))).toBeUndefined()
    expect(decodeMqttPacket(fromHex('30 05 00'))).toBeUndefined()
    expect(decodeMqttPacket(fromHex('30 ff ff ff ff'))).toBe('malformed')
    expect(decodeMqttPacket(fromHex('30 02 0009'))).toBe('malformed')
  })

  it('follows lengths over any cut and stops at one that is too long', () => {
    const stream = concatBytes(
      encodePublish('a', new Uint8Array(300)),
      fromHex('c000'),
      encodePublish('b', new Uint8Array(9)),
    )
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 9 }), (cuts) => {
        let state = trackPacketLengths(INITIAL_PACKET_LENGTHS, new Uint8Array(0), 1_000)
        const edges = [...cuts.toSorted((left, right) => left - right), stream.length]
        let from = 0
        for (const to of edges) {
          if (state !== undefined) state = trackPacketLengths(state, stream.subarray(from, to), 1_000)
          from = to
        }
        expect(state).toEqual({ ...INITIAL_PACKET_LENGTHS, signals: 1 })
      }),
    )
    expect(trackPacketLengths(INITIAL_PACKET_LENGTHS, stream, 100)).toBeUndefined()
    expect(trackPacketLengths(INITIAL_PACKET_LENGTHS, fromHex('30 ff ff ff ff'), 1_000)).toBeUndefined()
  })
})
