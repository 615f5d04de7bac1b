/**
 * Text codec: characters, bytes in hex, and bytes to skip.
 */
import { toUtf8 } from '../../core/bytes.ts'
import type { TextType } from './field-data-type.ts'
import { REMAINDER_LENGTH } from './field-data-type.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import { parseBoundedNumber } from './scan-number.ts'

const HEX_PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function decodeFieldText(type: TextType, bytes: Uint8Array): string {
  let text = ''
  if (type.isHex) {
    for (const byte of bytes) text += text === '' ? HEX_PAIRS[byte] : ` ${HEX_PAIRS[byte]}`
    return text
  }
  for (const byte of bytes) {
    if (byte === 0) break
    // The code page of characters above 7E is unknown.
    if (byte < 0x20) text += String.fromCharCode(type.fill)
    else text += byte > 0x7e ? '?' : String.fromCharCode(byte)
  }
  return text
}

/** The bytes for a text that fills `length` bytes, or as many as it has where the length is the rest of the data. */
export function encodeFieldText(type: TextType, text: string, length: number): readonly number[] | DefinitionErrorCode {
  if (type.isIgnored) return Array.from({ length: length === REMAINDER_LENGTH ? 1 : length }, () => 0)
  const bytes = type.isHex ? hexBytes(text, length) : [...toUtf8(text)].map((byte) => (byte < 0x20 ? type.fill : byte))
  if (typeof bytes === 'string') return bytes
  if (length !== REMAINDER_LENGTH) return Array.from({ length }, (_, index) => bytes[index] ?? type.fill)
  if (bytes.length === 0) return [type.fill]
  // A text that is terminated by a zero keeps it.
  return type.isHex || type.fill !== 0 ? bytes : [...bytes, 0]
}

/** Anything after the last byte that fits is ignored. */
function hexBytes(text: string, length: number): number[] | DefinitionErrorCode {
  const bytes: number[] = []
  let at = 0
  while (bytes.length < length) {
    while (text[at] === ' ') at++
    if (at >= text.length) break
    const pair = text.slice(at, at + 2)
    if (pair.length < 2) return 'invalid-number'
    const byte = parseBoundedNumber(pair, { base: 16, min: 0, max: 0xff })
    if (typeof byte === 'string') return byte
    bytes.push(byte)
    at += 2
  }
  return bytes
}
