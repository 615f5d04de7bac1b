/**
 * MQTT broker packet: the part of MQTT 3.1.1 (OASIS, 2014) that a device uses. The packets that its server reads are in
 * mqtt-client-packet.ts.
 *
 *   type·flags(1)  remaining length(1…4, 7 bits each, low first)  variable header  payload
 */
import { concatBytes, toUtf8 } from '../../core/bytes.ts'

export type MqttBrokerPacket =
  | { readonly kind: 'connack'; readonly returnCode: number }
  | {
      readonly kind: 'publish'
      readonly topic: string
      readonly qos: number
      /** The id for the acknowledgement; only for QoS 1 and 2. */
      readonly packetId: number | undefined
      readonly payload: Uint8Array
    }
  | { readonly kind: 'suback'; readonly returnCodes: readonly number[] }
  | { readonly kind: 'pingresp' }
  | { readonly kind: 'other'; readonly type: number }

export interface MqttConnectOptions {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: string | undefined
  readonly keepAliveSeconds: number
}

/** § 3.1; a stock device with credentials sends flags 0xC2: user name, password, clean session. */
export function encodeMqttConnect({ clientId, username, password, keepAliveSeconds }: MqttConnectOptions): Uint8Array {
  const flags = (username === undefined ? 0 : 0x80) | (password === undefined ? 0 : 0x40) | 0x02
  const payload = [clientId, username, password].filter((text) => text !== undefined).map(string)
  return prependMqttFixedHeader(
    0x10,
    concatBytes(string('MQTT'), Uint8Array.of(4, flags), uint16(keepAliveSeconds), ...payload),
  )
}

/** § 3.3, QoS 0, not retained. */
export function encodeMqttPublish(topic: string, payload: Uint8Array): Uint8Array {
  return prependMqttFixedHeader(0x30, concatBytes(string(topic), payload))
}

/** § 3.8; only py-xiaozhi sends it. */
export function encodeMqttSubscribe(packetId: number, topic: string, qos: 0 | 1): Uint8Array {
  return prependMqttFixedHeader(0x82, concatBytes(uint16(packetId), string(topic), Uint8Array.of(qos)))
}

/** § 2.2.1. */
const PUBLISH = 3

export const PINGREQ_PACKET = Uint8Array.of(0xc0, 0)

/**
 * The first complete packet of `bytes` and its length; `undefined` while it is incomplete, `'malformed'` if it never
 * can be complete.
 */
export function decodeMqttBrokerPacket(
  bytes: Uint8Array,
): { readonly packet: MqttBrokerPacket; readonly size: number } | 'malformed' | undefined {
  const head = decodeMqttFixedHeader(bytes)
  if (head === 'malformed' || head === undefined) return head
  const size = head.headerSize + head.remaining
  if (bytes.length < size) return undefined
  const body = bytes.subarray(head.headerSize, size)
  const decoded = decodeBody(head.type, head.flags, body)
  return decoded === undefined ? 'malformed' : { packet: decoded, size }
}

function decodeBody(type: number, flags: number, body: Uint8Array): MqttBrokerPacket | undefined {
  switch (type) {
    case 2:
      return body.length === 2 ? { kind: 'connack', returnCode: body[1] ?? 0 } : undefined
    case PUBLISH:
      return decodeMqttPublish(flags, body)
    case 9:
      return { kind: 'suback', returnCodes: [...body.subarray(2)] }
    case 13:
      return { kind: 'pingresp' }
    default:
      return { kind: 'other', type }
  }
}

export function decodeMqttPublish(
  flags: number,
  body: Uint8Array,
): Extract<MqttBrokerPacket, { kind: 'publish' }> | undefined {
  const topicSize = ((body[0] ?? 0) << 8) | (body[1] ?? 0)
  const qos = (flags >> 1) & 3
  const start = 2 + topicSize + (qos > 0 ? 2 : 0)
  if (body.length < start || qos === 3) return undefined
  const topic = Buffer.from(body.subarray(2, 2 + topicSize)).toString('utf8')
  const packetId = qos > 0 ? ((body[start - 2] ?? 0) << 8) | (body[start - 1] ?? 0) : undefined
  // § 2.3.1: an id is not zero; § 1.5.3, 3.3.2.1: a topic has no NUL and no wildcards.
  if (packetId === 0 || /[\0#+]/.test(topic)) return undefined
  return { kind: 'publish', topic, qos, packetId, payload: body.slice(start) }
}

interface FixedHeader {
  readonly type: number
  readonly flags: number
  readonly headerSize: number
  readonly remaining: number
}

/** § 2.2.3: at most four length bytes. */
export function decodeMqttFixedHeader(bytes: Uint8Array): FixedHeader | 'malformed' | undefined {
  let remaining = 0
  for (let index = 1; index <= 4; index++) {
    const digit = bytes[index]
    if (digit === undefined) return undefined
    remaining += (digit & 0x7f) * 128 ** (index - 1)
    if ((digit & 0x80) === 0) {
      const first = bytes[0] ?? 0
      return { type: first >> 4, flags: first & 0x0f, headerSize: index + 1, remaining }
    }
  }
  return 'malformed'
}

export function prependMqttFixedHeader(first: number, body: Uint8Array): Uint8Array {
  const length: number[] = []
  for (let left = body.length; ; left = left >> 7) {
    length.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0))
    if (left <= 0x7f) break
  }
  if (length.length > 4) throw new RangeError(`an MQTT packet of ${body.length} bytes`)
  return concatBytes(Uint8Array.of(first, ...length), body)
}

function string(text: string): Uint8Array {
  const bytes = toUtf8(text)
  return concatBytes(uint16(bytes.length), bytes)
}

function uint16(value: number): Uint8Array {
  if (value > 0xff_ff) throw new RangeError(`${value} does not fit 16 bits`)
  return Uint8Array.of(value >> 8, value & 0xff)
}
