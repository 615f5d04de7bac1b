/**
 * Identity: who a device says it is.
 *
 *   07 04 ▸ MM IIIII VVRR VVRR      manufacturer, five characters, software and hardware in BCD
 *   B5 09 24…27 ▸ 00 SSSSSSSS · SSSSSSSSS · SSSSSSSSS · SS       a Vaillant device's serial number in four pieces
 */
import { toHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export interface BusDeviceIdentity {
  readonly manufacturerCode: number
  readonly manufacturer: string
  /** The product id; every rule that selects by device compares it. */
  readonly deviceId: string
  /** Software version and revision, two digits each: `0507`. */
  readonly software: string
  readonly hardware: string
}

/** The only fault is an answer that is too short; this decoder does not judge the contents of a longer one. */
export interface IdentityFault {
  readonly kind: 'too-short'
  readonly got: number
}

/**
 * The manufacturer byte of Vaillant; Vaillant's own telegrams have the same number as their primary command byte PB.
 */
export const VAILLANT_MANUFACTURER_CODE = 0xb5
const IDENTITY_LENGTH = 10

/** Manufacturers as registered with the eBUS user group; a code that is missing here is shown as its number. */
export const EBUS_MANUFACTURER_NAMES: ReadonlyMap<number, string> = new Map([
  [0x06, 'Dungs'],
  [0x0f, 'FH Ostfalia'],
  [0x10, 'TEM'],
  [0x11, 'Lamberti'],
  [0x14, 'CEB'],
  [0x15, 'Landis-Staefa'],
  [0x16, 'FERRO'],
  [0x17, 'MONDIAL'],
  [0x18, 'Wikon'],
  [0x19, 'Wolf'],
  [0x20, 'RAWE'],
  [0x30, 'Satronic'],
  [0x40, 'ENCON'],
  [0x50, 'Kromschröder'],
  [0x60, 'Eberle'],
  [0x65, 'EBV'],
  [0x75, 'Grässlin'],
  [0x85, 'ebm-papst'],
  [0x95, 'SIG'],
  [0xa5, 'Theben'],
  [0xa7, 'Thermowatt'],
  [VAILLANT_MANUFACTURER_CODE, 'Vaillant'],
  [0xc0, 'Toby'],
  [0xc5, 'Weishaupt'],
  [0xfd, 'ebusd'],
])

/** Ignores every byte after the tenth, because some devices send more. */
export function decodeIdentity(answer: Uint8Array): Result<BusDeviceIdentity, IdentityFault> {
  if (answer.length < IDENTITY_LENGTH) return fail({ kind: 'too-short', got: answer.length })
  const manufacturerCode = answer[0] ?? 0
  return ok({
    manufacturerCode,
    manufacturer: EBUS_MANUFACTURER_NAMES.get(manufacturerCode) ?? `0x${toHex(answer.subarray(0, 1))}`,
    deviceId: printable(answer.subarray(1, 6)).trim(),
    software: toHex(answer.subarray(6, 8)),
    hardware: toHex(answer.subarray(8, 10)),
  })
}

export function isSameIdentity(left: BusDeviceIdentity, right: BusDeviceIdentity): boolean {
  return (
    left.manufacturerCode === right.manufacturerCode &&
    left.deviceId === right.deviceId &&
    left.software === right.software &&
    left.hardware === right.hardware
  )
}

export const SERIAL_NUMBER_CHUNK_COUNT = 4
/** The four requests are B509 24, 25, 26 and 27. */
const FIRST_CHUNK = 0x24
/** The first piece has this length with the status byte in front of it. */
const LONGEST_CHUNK = 9

/** Returns which piece of a serial number a B509 request asks for. */
export function parseSerialChunkIndex(data: Uint8Array): number | undefined {
  const chunk = (data[0] ?? 0) - FIRST_CHUNK
  return data.length === 1 && chunk >= 0 && chunk < SERIAL_NUMBER_CHUNK_COUNT ? chunk : undefined
}

/** Returns the data of the B509 telegram that asks for one piece of the serial number. */
export function encodeSerialRequest(chunk: number): Uint8Array {
  return Uint8Array.of(FIRST_CHUNK + chunk)
}

/**
 * Decodes one piece of the serial number. Prefix, year, week, article number, supplier, counter and check digits are 28
 * characters in pieces of 8, 9, 9 and 2; only the first piece has a status byte in front. Some devices omit that byte,
 * others begin every piece with 00. Returns `undefined` when the answer holds no piece of a serial number.
 */
export function decodeSerialChunk(chunk: number, answer: Uint8Array): string | undefined {
  if (answer.length > LONGEST_CHUNK) return undefined
  const hasStatus = answer[0] === 0x00 || (chunk === 0 && answer.length === LONGEST_CHUNK)
  const text = printable(hasStatus ? answer.subarray(1) : answer)
  return text === '' ? undefined : text
}

/** Joins and trims the pieces; returns `undefined` when the result could not distinguish one device from another. */
export function joinSerialNumber(chunks: readonly string[]): string | undefined {
  const text = chunks.join('').trim()
  return /[^0 ]/.test(text) ? text : undefined
}

/** Replaces padding and every other unprintable byte by a blank. */
function printable(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ' ')).join('')
}
