/**
 * Telegram: what an initiator sends, what a target answers, and the three forms of an exchange.
 *
 *   broadcast            QQ FE PB SB NN DD… CRC
 *   initiator-initiator  QQ ZZ PB SB NN DD… CRC  ACK(ZZ)
 *   initiator-target     QQ ZZ PB SB NN DD… CRC  ACK(ZZ)  NN DD… CRC  ACK(QQ)
 *
 * Every byte here is logical, that is unescaped, unless the name contains `wire`.
 */
import { classifyAddress, isInitiatorAddress } from './address.ts'
import { computeCrc } from './crc.ts'
import { escapeBytes } from './symbol.ts'

export interface Telegram {
  /** QQ, the address of the initiator. */
  readonly source: number
  /** ZZ, the address of the target: any byte except A9 and AA. */
  readonly target: number
  /** PB and SB, which together identify the service. */
  readonly primary: number
  readonly secondary: number
  readonly data: Uint8Array
}

export type TelegramForm = 'broadcast' | 'initiator-initiator' | 'initiator-target'

/**
 * A telegram whose exchange is complete. `response` is set exactly when the form is initiator-target; it may be empty.
 */
export interface TelegramExchange {
  readonly telegram: Telegram
  readonly response: Uint8Array | undefined
  /** How often the initiator repeated the command and the target repeated the response (each 0 or 1). */
  readonly commandRepeats: number
  readonly responseRepeats: number
}

/**
 * Builds an exchange without repeats. `source` may be omitted where the caller only looks up a response, because the
 * lookup ignores the initiator.
 */
export function createTelegramExchange(
  telegram: Omit<Telegram, 'source'> & { readonly source?: number },
  response: Uint8Array = new Uint8Array(),
): TelegramExchange {
  return { telegram: { source: 0x00, ...telegram }, response, commandRepeats: 0, responseRepeats: 0 }
}

/**
 * NN is one byte. The standard allows at most 16 data bytes, but real devices send more, so only the limit of that byte
 * applies.
 */
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

/** Returns the command as the bus carries it: escaped, with CRC, without SYN. */
export function encodeTelegramCommand(telegram: Telegram): Uint8Array {
  return sealed(encodeCommandWithoutCrc(telegram))
}

/** Returns the response as the bus carries it: escaped, with CRC, without ACK. */
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
