/**
 * Bytes: hex, base64 and joining, on plain Uint8Arrays.
 */
// Imported, because the global is a getter and this is called for every packet.
import { Buffer, isUtf8 } from 'node:buffer'

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/**
 * Accepts spaces between pairs, as traces are written. Throws on anything else that is not hex: only our own code calls
 * it.
 */
export function fromHex(text: string): Uint8Array {
  const compact = text.replaceAll(/\s+/g, '')
  if (compact.length % 2 !== 0 || /[^0-9a-f]/i.test(compact)) throw new RangeError(`not hex: ${text}`)
  return new Uint8Array(Buffer.from(compact, 'hex'))
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

export function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}

/** Strict standard base64: `undefined` for anything whose re-encoding differs, so that one value has one spelling. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}

export function fromBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? new Uint8Array(bytes) : undefined
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

export function areBytesEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0
}

const encoder = new TextEncoder()

export function toUtf8(text: string): Uint8Array {
  return encoder.encode(text)
}

const REPLACEMENT = '\uFFFD'

/** `undefined` for bytes that are not UTF-8; replacement characters would hide what was sent. */
export function fromUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string | undefined {
  const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8', start, end)
  // The replacement character may also have been sent as such.
  return text.includes(REPLACEMENT) && !isUtf8(buffer.subarray(start, end)) ? undefined : text
}

/** One character per byte, so that bytes can be searched as text. */
export function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}
