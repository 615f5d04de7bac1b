/**
 * Identity: the identification of a device. Service 07 04, and Vaillant's serial number in four pieces.
 */
import { toUtf8 } from '../../core/bytes.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'

export interface SimulatedBusDeviceIdentity {
  /** Five characters. */
  readonly id: string
  /** Version and revision, each two BCD digits. */
  readonly software: number
  readonly hardware: number
  /** 28 characters: year, week, plant, article number, supplier, counter, check. */
  readonly serial: string
}

const VAILLANT = 0xb5
/** Where the four pieces begin and end: 8, 9, 9 and 2 characters. */
const PIECES: readonly (readonly [number, number])[] = [
  [0, 8],
  [8, 17],
  [17, 26],
  [26, 28],
]

/** The answer to an identification request; `undefined` for any other request. */
export function answerIdentity(
  identity: SimulatedBusDeviceIdentity,
  { primary, secondary, data }: Telegram,
): Uint8Array | undefined {
  if (primary === 0x07 && secondary === 0x04) return identification(identity)
  const chunk = (data[0] ?? 0) - 0x24
  if (primary !== VAILLANT || secondary !== 0x09 || data.length !== 1 || chunk < 0 || chunk > 3) return undefined
  const [start = 0, end = 0] = PIECES[chunk] ?? []
  const text = toUtf8(identity.serial.slice(start, end))
  // Only the first piece begins with a status.
  return chunk === 0 ? Uint8Array.of(0x00, ...text) : text
}

function identification({ id, software, hardware }: SimulatedBusDeviceIdentity): Uint8Array {
  const word = (value: number): readonly number[] => [value >> 8, value & 0xff]
  return Uint8Array.from([VAILLANT, ...toUtf8(id.padEnd(5, ' ').slice(0, 5)), ...word(software), ...word(hardware)])
}
