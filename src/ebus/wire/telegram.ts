/**
 * Telegram: what an initiator says, what a target answers, and the three shapes the two make.
 *
 *   broadcast            QQ FE PB SB NN DD… CRC
 *   initiator-initiator  QQ ZZ PB SB NN DD… CRC  ACK(ZZ)
 *   initiator-target     QQ ZZ PB SB NN DD… CRC  ACK(ZZ)  NN DD… CRC  ACK(QQ)
 *
 * Everything here is logical, that is unescaped, unless it says wire.
 */
import { classifyAddress, isInitiatorAddress } from './address.ts'
import { computeCrc } from './crc.ts'
import { escapeBytes } from './symbol.ts'

export interface Telegram {
  /** QQ, an initiator. */
  readonly source: number
  /** ZZ, anything but A9 and AA. */
  readonly target: number
  /** PB and SB, which together name the service. */
  readonly primary: number
  readonly secondary: number
  readonly data: Uint8Array
}

export type TelegramForm = 'broadcast' | 'initiator-initiator' | 'initiator-target'

/** A telegram that reached its end. `response` is there exactly when the form is initiator-target; it may be empty. */
export interface TelegramExchange {
  readonly telegram: Telegram
  readonly response: Uint8Array | undefined
  /** How often the command and the response had to be said again (each 0 or 1). */
  readonly commandRepeats: number
  readonly responseRepeats: number
}

/** A telegram that nobody had to say twice; of what is only looked up, it does not count who asks. */
export function createExchange(
  telegram: Omit<Telegram, 'source'> & { readonly source?: number },
  response: Uint8Array = new Uint8Array(),
): TelegramExchange {
  return { telegram: { source: 0x00, ...telegram }, response, commandRepeats: 0, responseRepeats: 0 }
}

/** NN is one byte. The standard stops at 16; devices on real buses do not, so the wire's own limit is the one kept. */
export const MAX_TELEGRAM_DATA_BYTES = 255

export function classifyTelegramForm(target: number): TelegramForm {
  const kind = classifyAddress(target)
  if (kind === 'broadcast') return 'broadcast'
  return kind === 'initiator' ? 'initiator-initiator' : 'initiator-target'
}

/** QQ ZZ PB SB NN DD… without CRC. */
export function encodeCommandWithoutCrc(telegram: Telegram): Uint8Array {
  const { source, target, primary, secondary, data } = telegram
  if (!isInitiatorAddress(source)) throw new RangeError(`telegram from ${source}, which is no initiator`)
  if (!isByte(target) || classifyAddress(target) === 'reserved') throw new RangeError(`telegram to ${target}`)
  if (!isByte(primary) || !isByte(secondary)) throw new RangeError(`telegram service ${primary} ${secondary}`)
  return Uint8Array.from([source, target, primary, secondary, ...partBytes(data)])
}

/** The command as it goes on the wire: escaped, CRC included, no SYN. */
export function encodeTelegramCommand(telegram: Telegram): Uint8Array {
  return sealed(encodeCommandWithoutCrc(telegram))
}

/** The response as it goes on the wire: escaped, CRC included, no ACK. */
export function encodeTelegramResponse(data: Uint8Array): Uint8Array {
  return sealed(partBytes(data))
}

function partBytes(data: Uint8Array): Uint8Array {
  if (data.length > MAX_TELEGRAM_DATA_BYTES)
    throw new RangeError(`telegram data of ${data.length} bytes, ${MAX_TELEGRAM_DATA_BYTES} allowed`)
  return Uint8Array.from([data.length, ...data])
}

function sealed(logical: Uint8Array): Uint8Array {
  return escapeBytes(Uint8Array.from([...logical, computeCrc(logical)]))
}

function isByte(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xff
}
