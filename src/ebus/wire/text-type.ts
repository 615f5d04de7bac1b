/**
 * Text types: characters, raw bytes, bytes to skip, and the TEM parameter name.
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

export type TelegramPart = 'command' | 'response'

/** The TEM parameter number `GG-NNN`; the bit positions of its two parts differ between command and response. */
export function createTemParameterDatatype(part: TelegramPart): Datatype<string> {
  const groupAt = part === 'command' ? 0 : 7
  const numberAt = part === 'command' ? 8 : 0
  return defineDatatype<string>({
    name: 'TEM_P',
    length: 2,
    read([low = 0, high = 0]) {
      const raw = high * 256 + low
      if (raw === 0xffff) return undefined
      const pad = (value: number, digits: number): string => String(value).padStart(digits, '0')
      return `${pad((raw >> groupAt) & 0x1f, 2)}-${pad((raw >> numberAt) & 0x7f, 3)}`
    },
    encode(value) {
      if (value === undefined) return Uint8Array.of(0xff, 0xff)
      const [, group = Number.NaN, number = Number.NaN] = (/^(\d{2})-(\d{3})$/.exec(value) ?? []).map(Number)
      if (!(group <= 0x1f && number <= 0x7f)) throwUnencodableValue('TEM_P', value)
      const raw = (group << groupAt) | (number << numberAt)
      return Uint8Array.of(raw & 0xff, raw >> 8)
    },
  })
}
