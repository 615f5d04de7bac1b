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
  /** The product id, by which everything else is chosen. */
  readonly deviceId: string
  /** Version and revision, two digits each: `0507`. */
  readonly software: string
  readonly hardware: string
}

/** Whatever is long enough can be read: what is in it is for others to judge. */
export interface IdentityFault {
  readonly kind: 'too-short'
  readonly got: number
}

/** Manufacturer byte and service: Vaillant's own telegrams have the same number as PB. */
export const VAILLANT_MANUFACTURER_CODE = 0xb5
const IDENTITY_LENGTH = 10

/** As registered with the eBUS user group; a code that is not here is shown as its number. */
export const MANUFACTURERS: ReadonlyMap<number, string> = new Map([
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

/** Bytes behind the tenth are left alone: some devices say more. */
export function decodeIdentity(answer: Uint8Array): Result<BusDeviceIdentity, IdentityFault> {
  if (answer.length < IDENTITY_LENGTH) return fail({ kind: 'too-short', got: answer.length })
  const manufacturerCode = answer[0] ?? 0
  return ok({
    manufacturerCode,
    manufacturer: MANUFACTURERS.get(manufacturerCode) ?? `0x${toHex(answer.subarray(0, 1))}`,
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
/** B509 24, 25, 26 and 27. */
const FIRST_CHUNK = 0x24
/** With the status byte that the first one begins with. */
const LONGEST_CHUNK = 9

/** Which piece of a serial number a B509 request asks for. */
export function parseSerialChunkIndex(data: Uint8Array): number | undefined {
  const chunk = (data[0] ?? 0) - FIRST_CHUNK
  return data.length === 1 && chunk >= 0 && chunk < SERIAL_NUMBER_CHUNK_COUNT ? chunk : undefined
}

/** The data of a B509 telegram that asks for one piece. */
export function encodeSerialRequest(chunk: number): Uint8Array {
  return Uint8Array.of(FIRST_CHUNK + chunk)
}

/**
 * Prefix, year, week, article number, supplier, counter and check are 28 characters in pieces of 8, 9, 9 and 2: only the
 * first piece has a status byte in front. Some devices leave it out, others begin every piece with 00. `undefined`: no
 * such thing as a serial number here.
 */
export function decodeSerialChunk(chunk: number, answer: Uint8Array): string | undefined {
  if (answer.length > LONGEST_CHUNK) return undefined
  const hasStatus = answer[0] === 0x00 || (chunk === 0 && answer.length === LONGEST_CHUNK)
  const text = printable(hasStatus ? answer.subarray(1) : answer)
  return text === '' ? undefined : text
}

/** Joined and trimmed; `undefined` when nothing is left that tells one device from another. */
export function joinSerialNumber(chunks: readonly string[]): string | undefined {
  const text = chunks.join('').trim()
  return /[^0 ]/.test(text) ? text : undefined
}

/** Padding and anything else that is no character becomes a blank. */
function printable(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ' ')).join('')
}
