/**
 * Telegram decoder: what one telegram on the wire says, as a name and fields with units, by the tables of this module.
 *
 *   F1 15 B5 24 | 02 00 03 00 0F 00 ▸ 01 03 0F 00 …     read   zone.room_temperature, instance 0: 20.5 °C
 *
 * Which table applies depends on the target: the same register number has different meanings on different products. The
 * result is `undefined` for an unknown telegram.
 */
import type { ProductRegisterTableName } from '../registry/heating-product.ts'
import type { CalendarDate, DatatypeValue, TimeOfDay } from '../wire/datatype.ts'
import { layOutFields } from '../wire/field-positions.ts'
import { VAILLANT_MANUFACTURER_CODE as VAILLANT } from '../wire/device-identity.ts'
import { BROADCAST_ADDRESS } from '../wire/symbol.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import { decodeBoilerValue, findBoilerRegister } from './boiler-register-map.ts'
import type { DecodedField, DecodedTelegram } from '../definitions/decoded-telegram.ts'
import { SECRET_VALUE_PLACEHOLDER } from '../definitions/secret-field.ts'
import { ENERGY_METER_CODES, ENERGY_PERIOD_CODES, ENERGY_USE_CODES, formatEnergyDate } from './energy-selector.ts'
import { READ_KEY_KINDS, decodeReadKeyBytes, decodeReadKeyKind } from './read-key.ts'
import { interpretTelegram } from './telegram-meaning.ts'
import { findRegisterNameAndType } from './register-name.ts'
import type { DecodedRegisterValue } from './register.ts'
import { decodeRegisterValue, extractRegisterBytes } from './register.ts'
import { decodeB524ProgramDayTelegram, decodeB555TimerTelegram } from './schedule-telegram.ts'
import type { FixedLayoutField } from './fixed-layout-blocks.ts'
import { findFixedLayoutBlock } from './fixed-layout-blocks.ts'

/** What is known about the target. */
export interface TelegramTargetInfo {
  readonly registers: ProductRegisterTableName
  /** Whether it answers B524 as regulators do. */
  readonly extended: boolean
}

export function decodeTelegram(exchange: TelegramExchange, device: TelegramTargetInfo): DecodedTelegram | undefined {
  const { telegram, response } = exchange
  const special = telegram.primary === VAILLANT ? decodeVaillant(exchange, device) : undefined
  return special ?? decodeBlock(telegram, response)
}

/**
 * Returns whether a telegram can be decoded, at a lower cost, because almost every telegram of a busy bus is about a
 * register.
 */
export function isKnownTelegram(exchange: TelegramExchange, device: TelegramTargetInfo): boolean {
  const { primary, secondary, data } = exchange.telegram
  if (primary === VAILLANT && secondary === 0x24 && device.extended && data.length === 6 && data[1] === 0x00)
    return findRegisterNameAndType(data[0] ?? 0, data[2] ?? 0, (data[5] ?? 0) * 256 + (data[4] ?? 0)) !== undefined
  if (findFixedLayoutBlock(exchange.telegram) !== undefined) return true
  return primary === VAILLANT && decodeVaillant(exchange, device) !== undefined
}

function decodeVaillant(exchange: TelegramExchange, device: TelegramTargetInfo): DecodedTelegram | undefined {
  const { telegram, response } = exchange
  const { secondary, data } = telegram
  switch (secondary) {
    case 0x09:
      return device.registers === 'bai' && response !== undefined ? decodeBoilerRegister(data, response) : undefined
    case 0x16:
      return decodeEnergy(exchange)
    case 0x24:
      return device.extended && response !== undefined ? decodeExtended(data, response) : undefined
    case 0x55:
      return response === undefined ? undefined : decodeB555TimerTelegram(data, response)
    default:
      return undefined
  }
}

function decodeExtended(data: Uint8Array, response: Uint8Array): DecodedTelegram | undefined {
  const [opcode = 0, verb = 0, group = 0, instance = 0, low = 0, high = 0] = data
  if (opcode === 0x03 || opcode === 0x04) return decodeB524ProgramDayTelegram(data, response)
  if ((opcode !== 0x02 && opcode !== 0x06) || data.length < 6 || verb > 1) return undefined
  const register = findRegisterNameAndType(opcode, group, high * 256 + low)
  if (register === undefined) return undefined
  const writes = verb === 0x01
  const bytes = writes ? data.subarray(6) : extractRegisterBytes(response)
  const { name, type, unit, secret } = register
  if (secret) return secretTelegram(name, writes)
  return {
    name,
    act: writes ? 'write' : 'read',
    instance,
    fields: [{ name: lastWord(name), value: bytes.length === 0 ? undefined : decodeRegisterValue(type, bytes), unit }],
  }
}

function decodeBoilerRegister(data: Uint8Array, response: Uint8Array): DecodedTelegram | undefined {
  const [verb, high = 0, low = 0] = data
  if (data.length < 3 || (verb !== 0x0d && verb !== 0x0e)) return undefined
  const found = findBoilerRegister(high * 256 + low)
  if (found === undefined) return undefined
  const writes = verb === 0x0e
  if (found.secret) return secretTelegram(`boiler.${found.name}`, writes)
  const value = decodeBoilerValue(found.register, writes ? data.subarray(3) : response)
  return {
    name: `boiler.${found.name}`,
    act: writes ? 'write' : 'read',
    fields: [{ name: found.name, value, unit: found.unit }],
  }
}

function secretTelegram(name: string, writes: boolean): DecodedTelegram {
  return {
    name,
    act: writes ? 'write' : 'read',
    fields: [{ name: lastWord(name), value: SECRET_VALUE_PLACEHOLDER }],
    secret: true,
  }
}

function decodeEnergy(exchange: TelegramExchange): DecodedTelegram | undefined {
  const meaning = interpretTelegram(exchange)
  if (meaning?.kind !== 'value' || decodeReadKeyKind(meaning.key) !== READ_KEY_KINDS.energy) return undefined
  const [period, meter, use, low, high] = decodeReadKeyBytes(meaning.key)
  const date = formatEnergyDate(period, low, high)
  return {
    name: 'energy',
    act: exchange.telegram.target === BROADCAST_ADDRESS ? 'broadcast' : 'read',
    fields: [
      { name: 'period', value: wordFor(ENERGY_PERIOD_CODES, period) },
      ...(date === undefined ? [] : [{ name: 'date', value: date }]),
      { name: 'meter', value: wordFor(ENERGY_METER_CODES, meter) },
      { name: 'use', value: wordFor(ENERGY_USE_CODES, use) },
      { name: 'energy', value: decodeRegisterValue('f32', meaning.payload), unit: 'Wh' },
    ],
  }
}

function wordFor(words: Readonly<Record<string, number>>, number: number): DecodedRegisterValue {
  return Object.keys(words).find((word) => words[word] === number) ?? number
}

function decodeBlock(telegram: Telegram, response: Uint8Array | undefined): DecodedTelegram | undefined {
  const { target, data } = telegram
  const found = findFixedLayoutBlock(telegram)
  if (found === undefined) return undefined
  const { block, chosenBy } = found
  const broadcast = target === BROADCAST_ADDRESS
  // A device also broadcasts what it answers to a request; it is in the command then.
  const bytes = block.part === 'command' || broadcast ? data.subarray(chosenBy) : (response ?? new Uint8Array())
  return {
    name: block.name,
    act: broadcast ? 'broadcast' : block.writes ? 'write' : 'read',
    fields: decodeFields(block.fields, bytes),
  }
}

/** Field by field, so that a short answer still gives the fields that it has. */
function decodeFields(fields: readonly FixedLayoutField[], bytes: Uint8Array): readonly DecodedField[] {
  if (bytes.length === 0) return []
  const decoded: DecodedField[] = []
  for (const { field, offset } of layOutFields(fields)) {
    const { name, type, unit, words } = field
    if (name === 'reserved') continue
    const result = type.decode(bytes.subarray(offset))
    const value = result.ok && result.value !== undefined ? plainValue(result.value) : undefined
    decoded.push({ name, value: typeof value === 'number' ? (words?.[value] ?? value) : value, unit })
  }
  return decoded
}

/** Dates and times in the usual form: `2026-01-31`, `07:30:00`; missing parts are dashes. */
function plainValue(value: DatatypeValue): DecodedRegisterValue | undefined {
  if (typeof value === 'number') return Number(value.toFixed(4))
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
  return 'hour' in value ? timeText(value) : dateText(value)
}

function dateText({ year, month, day }: CalendarDate): string {
  return [year ?? '----', twoDigits(month), twoDigits(day)].join('-')
}

function timeText({ hour, minute, second }: TimeOfDay): string {
  return [hour, minute, second].map(twoDigits).join(':')
}

function twoDigits(part: number | undefined): string {
  return part === undefined ? '--' : String(part).padStart(2, '0')
}

function lastWord(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}
