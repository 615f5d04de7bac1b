/**
 * MQTT client packet: what a server of MQTT 3.1.1 (OASIS, 2014) reads from a device, and the few packets with which it
 * answers. In the parts that are read here, MQTT 3.1 differs only in the name of the protocol.
 */
import { decodeMqttFixedHeader, decodeMqttPublish, prependMqttFixedHeader } from './mqtt-broker-packet.ts'
import type { MqttBrokerPacket } from './mqtt-broker-packet.ts'

export type MqttClientPacket =
  | {
      readonly kind: 'connect'
      /** 4 is MQTT 3.1.1, 3 is MQTT 3.1. */
      readonly level: number
      readonly keepAliveSeconds: number
      readonly clientId: string
      readonly username: string | undefined
      readonly password: string | undefined
    }
  | Extract<MqttBrokerPacket, { kind: 'publish' }>
  | { readonly kind: 'subscribe'; readonly packetId: number; readonly filters: readonly TopicFilter[] }
  | { readonly kind: 'unsubscribe'; readonly packetId: number }
  | { readonly kind: 'pingreq' | 'disconnect' | 'puback' }

export interface TopicFilter {
  readonly topic: string
  readonly qos: number
}

export const PINGRESP_PACKET = Uint8Array.of(0xd0, 0)
/** § 3.9.3: the subscription to this filter was refused. */
export const SUBACK_FAILURE_RETURN_CODE = 0x80

/** § 3.2.2.3. */
export const CONNECT_RETURN_CODE = { accepted: 0, wrongLevel: 1, unavailable: 3, notAuthorized: 5 } as const

export function encodeConnack(returnCode: number): Uint8Array {
  return Uint8Array.of(0x20, 2, 0, returnCode)
}

export function encodePuback(packetId: number): Uint8Array {
  return Uint8Array.of(0x40, 2, packetId >> 8, packetId & 0xff)
}

export function encodeSuback(packetId: number, returnCodes: readonly number[]): Uint8Array {
  return prependMqttFixedHeader(0x90, Uint8Array.of(packetId >> 8, packetId & 0xff, ...returnCodes))
}

export function encodeUnsuback(packetId: number): Uint8Array {
  return Uint8Array.of(0xb0, 2, packetId >> 8, packetId & 0xff)
}

/**
 * The complete packets in a stream of bytes. An incomplete packet is kept in a buffer that grows with the bytes that
 * arrived, never with the announced length, so a false length does not cost memory here.
 */
export class MqttPacketReader {
  #bytes: Uint8Array | undefined
  #isOwn = false
  #start = 0
  #end = 0

  append(chunk: Uint8Array): void {
    if (this.#bytes === undefined) {
      this.#bytes = chunk
      this.#isOwn = false
      this.#start = 0
      this.#end = chunk.length
      return
    }
    const held = this.#end - this.#start
    if (this.#end + chunk.length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(2 * held, held + chunk.length))
      grown.set(this.#bytes.subarray(this.#start, this.#end))
      this.#bytes = grown
      this.#isOwn = true
      this.#start = 0
      this.#end = held
    }
    this.#bytes.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /**
   * Returns `undefined` until the next packet is complete; `'malformed'` if it never can be, or is longer than `limit`
   * bytes.
   */
  next(limit: number): MqttClientPacket | 'malformed' | undefined {
    if (this.#bytes === undefined) return undefined
    const bytes = this.#bytes.subarray(this.#start, this.#end)
    const head = decodeMqttFixedHeader(bytes)
    if (head === 'malformed' || (head !== undefined && head.remaining > limit)) return 'malformed'
    const size = head === undefined ? Infinity : head.headerSize + head.remaining
    if (head === undefined || bytes.length < size) {
      this.#copy(bytes)
      return undefined
    }
    const packet = decodeClientPacket(head.type, head.flags, bytes.subarray(head.headerSize, size)) ?? 'malformed'
    this.#start += size
    if (this.#start === this.#end) this.#bytes = undefined
    return packet
  }

  /** Copies, because the bytes from the network may be a small part of a large buffer. */
  #copy(bytes: Uint8Array): void {
    if (this.#isOwn) return
    this.#bytes = bytes.slice()
    this.#isOwn = true
    this.#start = 0
    this.#end = bytes.length
  }
}

function decodeClientPacket(type: number, flags: number, body: Uint8Array): MqttClientPacket | undefined {
  if (type === 3) return decodeMqttPublish(flags, body)
  // § 2.2.2: all other flags are reserved and have one valid value.
  if (flags !== (type === 8 || type === 10 ? 2 : 0)) return undefined
  switch (type) {
    case 1:
      return decodeConnect(body)
    case 4:
      return { kind: 'puback' }
    case 8:
      return decodeSubscribe(body)
    case 10:
      return decodeUnsubscribe(body)
    case 12:
      return body.length === 0 ? { kind: 'pingreq' } : undefined
    case 14:
      return { kind: 'disconnect' }
    default:
      return undefined
  }
}

/** § 3.1. A will is skipped: it would only be published to us, and we notice ourselves when a device disconnects. */
function decodeConnect(body: Uint8Array): MqttClientPacket | undefined {
  const fields = new FieldReader(body)
  const protocol = fields.text()
  const [level, flags] = [fields.byte(), fields.byte()]
  const keepAliveSeconds = fields.uint16()
  if (protocol !== 'MQTT' && protocol !== 'MQIsdp') return undefined
  // The rest of a packet of another protocol version is unknown here; the server refuses it because of its level.
  if (level !== 3 && level !== 4)
    return { kind: 'connect', level, keepAliveSeconds, clientId: '', username: undefined, password: undefined }
  // § 3.1.2.3: the reserved bit must be zero; § 3.1.2.9: no password without a user name.
  if ((flags & 1) !== 0 || (flags & 0xc0) === 0x40) return undefined
  const clientId = fields.text()
  if ((flags & 4) !== 0) {
    fields.text()
    fields.text()
  }
  const username = (flags & 0x80) === 0 ? undefined : fields.text()
  const password = (flags & 0x40) === 0 ? undefined : fields.text()
  return fields.isShort ? undefined : { kind: 'connect', level, keepAliveSeconds, clientId, username, password }
}

/** § 3.8: at least one filter; § 2.3.1: an id is not zero, and a packet with id zero could not be answered. */
function decodeSubscribe(body: Uint8Array): MqttClientPacket | undefined {
  const fields = new FieldReader(body)
  const packetId = fields.uint16()
  const filters: TopicFilter[] = []
  while (!fields.isAtEnd && !fields.isShort) filters.push({ topic: fields.text(), qos: fields.byte() })
  if (fields.isShort || packetId === 0 || filters.length === 0 || filters.some(({ qos }) => qos > 2)) return undefined
  return { kind: 'subscribe', packetId, filters }
}

/** § 3.10: at least one filter. Its content does not matter, since the server keeps no subscriptions. */
function decodeUnsubscribe(body: Uint8Array): MqttClientPacket | undefined {
  const fields = new FieldReader(body)
  const packetId = fields.uint16()
  let filters = 0
  for (; !fields.isAtEnd && !fields.isShort; filters++) fields.text()
  return fields.isShort || packetId === 0 || filters === 0 ? undefined : { kind: 'unsubscribe', packetId }
}

function uint16At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

/** Reads fields one after the other; beyond the end they are empty, and `isShort` is set. */
class FieldReader {
  readonly #bytes: Uint8Array
  #at = 0
  isShort = false

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  byte(): number {
    return this.#take(1)[0] ?? 0
  }

  uint16(): number {
    return uint16At(this.#take(2), 0)
  }

  text(): string {
    return Buffer.from(this.#take(this.uint16())).toString('utf8')
  }

  #take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) this.isShort = true
    const taken = this.#bytes.subarray(this.#at, this.#at + count)
    this.#at += count
    return taken
  }
}
