import { describe, expect, it } from 'vitest'
import { fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import {
  decodeMqttBrokerPacket,
  encodeMqttConnect,
  encodeMqttPublish,
  encodeMqttSubscribe,
} from './mqtt-broker-packet.ts'

describe('MQTT packet', () => {
  it('encodes CONNECT with the flags of a stock device', () => {
    const bytes = encodeMqttConnect({ clientId: 'ab', username: 'u', password: 'p', keepAliveSeconds: 240 })
    expect(toHex(bytes)).toBe('101400044d51545404c200f000026162000175000170')
  })

  it('encodes PUBLISH and SUBSCRIBE', () => {
    expect(toHex(encodeMqttPublish('t', toUtf8('{}')))).toBe('30050001747b7d')
    expect(toHex(encodeMqttSubscribe(1, 't', 1))).toBe('8206000100017401')
  })

  it('encodes a remaining length beyond one byte', () => {
    expect(toHex(encodeMqttPublish('t', new Uint8Array(200)).subarray(0, 3))).toBe('30cb01')
  })

  it('decodes CONNACK, PUBLISH and the other packets of a broker', () => {
    expect(decodeMqttBrokerPacket(fromHex('20 02 00 05'))).toEqual({
      packet: { kind: 'connack', returnCode: 5 },
      size: 4,
    })
    expect(decodeMqttBrokerPacket(fromHex('30 05 0001 74 7b7d ff'))).toEqual({
      packet: { kind: 'publish', topic: 't', qos: 0, payload: toUtf8('{}') },
      size: 7,
    })
    expect(decodeMqttBrokerPacket(fromHex('32 05 0001 74 0007'))).toMatchObject({
      packet: { qos: 1, payload: toUtf8('') },
    })
    expect(decodeMqttBrokerPacket(fromHex('90 03 0001 80'))).toMatchObject({ packet: { returnCodes: [0x80] } })
    expect(decodeMqttBrokerPacket(fromHex('d0 00'))).toMatchObject({ packet: { kind: 'pingresp' } })
  })

  it('waits for an incomplete packet, and refuses one that can never be complete', () => {
    expect(decodeMqttBrokerPacket(fromHex('30'))).toBeUndefined()
    expect(decodeMqttBrokerPacket(fromHex('30 05 00'))).toBeUndefined()
    expect(decodeMqttBrokerPacket(fromHex('30 ff ff ff ff'))).toBe('malformed')
    expect(decodeMqttBrokerPacket(fromHex('30 02 0009'))).toBe('malformed')
  })
})
