/**
 * Text types: characters, raw bytes, and bytes to skip.
 */
import { fromHex } from '../../core/bytes.ts'
import type { Datatype } from './datatype.ts'
import { defineDatatype, throwUnencodableValue } from './datatype.ts'

/** A string that is padded with blanks. */
export function createStrDatatype(length: number): Datatype<string> {
  return textType(`STR:${length}`, length, 0x20)
}

/** A string that ends at a zero byte or at the end of its field. */
export function createNtsDatatype(length: number): Datatype<string> {
  return textType(`NTS:${length}`, length, 0x00)
}

function textType(name: string, length: number, padding: number): Datatype<string> {
  return defineDatatype<string>({
    name,
    length,
    read(bytes) {
      const end = bytes.indexOf(0)
      return Array.from(end < 0 ? bytes : bytes.subarray(0, end), printable).join('')
    },
    encode(value = '') {
      if (value.length > length || /[^\u0020-\u007e]/.test(value)) throwUnencodableValue(name, value)
      return Uint8Array.from({ length }, (_, index) => (index < value.length ? value.charCodeAt(index) : padding))
    },
  })
}

/**
 * Replaces control characters, so that none reaches a log or a model, and bytes above 7E, because no device tells its
 * code page.
 */
function printable(byte: number): string {
  if (byte < 0x20) return ' '
  return byte > 0x7e ? '?' : String.fromCharCode(byte)
}

/** The bytes as hex text: `aa bb cc`. */
export function createHexDatatype(length: number): Datatype<string> {
  const name = `HEX:${length}`
  return defineDatatype<string>({
    name,
    length,
    read: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' '),
    encode(value = '') {
      const bytes = fromHex(value)
      if (bytes.length !== length) throwUnencodableValue(name, value)
      return bytes
    },
  })
}

/** The bytes are skipped when reading and written as zeros. */
export function createIgnDatatype(length: number): Datatype<string> {
  return defineDatatype<string>({
    name: `IGN:${length}`,
    length,
    read: () => undefined,
    encode: () => new Uint8Array(length),
  })
}
