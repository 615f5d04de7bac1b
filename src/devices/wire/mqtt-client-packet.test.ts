import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes, fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import {
  encodeConnack,
  encodePuback,
  encodeSuback,
  encodeUnsuback,
  MqttPacketReader,
  PINGRESP_PACKET,
} from './mqtt-client-packet.ts'
import { encodeMqttPublish } from './mqtt-broker-packet.ts'

/** Everything that the bytes hold, read in one go. */
function read(hex: string, limit = 1_000) {
  const reader = new MqttPacketReader()
  reader.append(fromHex(hex))
  return reader.next(limit)
}

/** What Mosquitto 2.0's `mosquitto_pub -V mqttv311 -i ab -u u -P p -k 60 --will-topic w --will-payload x` sent. */
const WITH_WILL = '101a00044d51545404c6003c00026162000177000178000175000170'
/** The same with `-V mqttv31`. */
const LEVEL_3 = '101600064d514973647003c2003c00026162000175000170'

describe('MQTT client packet', () => {
  it('reads a CONNECT with a will', () => {
    const connect = { kind: 'connect', keepAliveSeconds: 60, clientId: 'ab', username: 'u', password: 'p' }
    expect(read(WITH_WILL)).toEqual({ ...connect, level: 4 })
    expect(read(LEVEL_3)).toEqual({ ...connect, level: 3 })
  })

  it('reads a CONNECT without credentials', () => {
    expect(read('100e00044d5154540402003c00026162')).toMatchObject({ username: undefined, password: undefined })
  })

  it('refuses packets that are malformed under MQTT 3.1.1', () => {
    // § 3.1.2.3 the reserved flag, § 3.1.2.9 a password without a user name, § 3.1.2.1 another protocol
    for (const flags of ['03', '42']) expect(read(`100f00044d51545404${flags}003c000261620000`)).toBe('malformed')
    expect(read('100e000448545450 0402003c00026162')).toBe('malformed')
    // A client id that is longer than the packet.
    expect(read('100e00044d5154540402003cffff6162')).toBe('malformed')
    // § 2.2.2 reserved flags of SUBSCRIBE and PINGREQ, § 3.8.3.1 a QoS of 3 and no filter at all, § 3.3.1.2 QoS 3
    for (const hex of ['8006000100017401', 'c100', '8206000100017403', '82020001', '3605000174 0001'])
      expect(read(hex)).toBe('malformed')
    // Types that only a server sends, and the two that are forbidden.
    for (const hex of ['20020000', '9003000100', 'd000', '0000', 'f000']) expect(read(hex)).toBe('malformed')
    // § 2.2.3: a fifth length byte.
    expect(read('30ffffffff01')).toBe('malformed')
  })

  it('reads SUBSCRIBE, UNSUBSCRIBE, PUBLISH, PINGREQ and the other packets of a device', () => {
    expect(read('82 09 0007 0004 64 2f 70 32 01')).toEqual({
      kind: 'subscribe',
      packetId: 7,
      filters: [{ topic: 'd/p2', qos: 1 }],
    })
    expect(read('a2 05 0007 0001 74')).toEqual({ kind: 'unsubscribe', packetId: 7 })
    expect(read('32 07 0001 74 0009 7b7d')).toMatchObject({ kind: 'publish', qos: 1, packetId: 9 })
    expect(read('c000')).toEqual({ kind: 'pingreq' })
    expect(read('e000')).toEqual({ kind: 'disconnect' })
    expect(read('40020001')).toEqual({ kind: 'puback' })
  })

  it.each([
    ['a subscription with the id 0', '82 06 0000 0001 61 00'],
    ['an end of a subscription with the id 0', 'a2 05 0000 0001 61'],
    ['an end of a subscription that is cut off', 'a2 05 0001 00ff 61'],
    ['QoS 1 with the id 0', '32 07 0001 74 0000 7b7d'],
    ['a topic with a wildcard', '30 05 0001 23 7b7d'],
    ['a topic with a NUL', '30 05 0001 00 7b7d'],
  ])('refuses %s as malformed', (_what, bytes) => {
    expect(read(bytes)).toBe('malformed')
  })

  it('encodes acknowledgements as MQTT 3.1.1 specifies', () => {
    const answers = [
      encodeConnack(5),
      encodePuback(0x1234),
      encodeSuback(0x1234, [0, 1, 0x80]),
      encodeUnsuback(7),
      PINGRESP_PACKET,
    ]
    expect(answers.map(toHex)).toEqual(['20020005', '40021234', '90051234000180', 'b0020007', 'd000'])
  })

  it('finds the same packets however the stream is split', () => {
    const stream = concatBytes(
      encodeMqttPublish('a', toUtf8('x'.repeat(300))),
      fromHex('c000'),
      encodeMqttPublish('b', toUtf8('{}')),
    )
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 9 }), (cuts) => {
        const reader = new MqttPacketReader()
        const kinds: string[] = []
        const edges = [...cuts.toSorted((left, right) => left - right), stream.length]
        let from = 0
        for (const to of edges) {
          reader.append(stream.subarray(from, to))
          from = to
          for (let packet = reader.next(1_000); packet !== undefined; packet = reader.next(1_000))
            kinds.push(packet === 'malformed' ? packet : packet.kind === 'publish' ? packet.topic : packet.kind)
        }
        expect(kinds).toEqual(['a', 'pingreq', 'b'])
      }),
    )
  })

  it('refuses an excessive remaining length before the payload arrives', () => {
    expect(read('30 e9 07', 1_000)).toBe('malformed')
    expect(read('30 e8 07', 1_000)).toBeUndefined()
  })
})
