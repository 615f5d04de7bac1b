/**
 * Telegram meaning: which value a telegram tells or changes, whoever asked.
 */
import { VAILLANT_MANUFACTURER_CODE as VAILLANT } from '../wire/device-identity.ts'
import { BROADCAST_ADDRESS } from '../wire/symbol.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import type { RegulatorRegister } from './register.ts'
import { HOT_WATER_REGISTERS, ZONE_REGISTERS } from './regulator-register-map.ts'
import { TIMER_PROGRAM_CHANNELS, NO_ZONE_NUMBER, WEEKDAYS, decodeTimerSlot } from './timer-program.ts'
import type { RegisterReadKey } from './read-key.ts'
import {
  toIdentityReadKey,
  toHeatPumpReadKey,
  HEAT_PUMP_VALUES_SECONDARY,
  toStatusReadKey,
  toOperationalDataReadKey,
  toRegisterReadKey,
  toB524TimerReadKey,
  toBoilerReadKey,
  TIMER_PROGRAM_LIMITS_OPCODE,
  TIMER_SLOT_COUNTS_OPCODE,
  TIMER_SLOT_READ_OPCODE,
  toB555TimerReadKey,
  TIMER_SLOT_WRITE_OPCODE,
  decodeReadKeyBytes,
  ERROR_KIND_SELECTORS,
  CURRENT_ERRORS_SELECTOR,
  PAST_ERRORS_SELECTOR,
  toErrorsReadKey,
  toEnergyReadKey,
  decodeReadKeyKind,
  READ_KEY_KINDS,
  CLOCK_READ_KEY,
} from './read-key.ts'

const MAX_DAY_SLOTS = 12

export type TelegramMeaning =
  | { readonly kind: 'value'; readonly key: RegisterReadKey; readonly payload: Uint8Array }
  /** Somebody changed these: what is known about them is no longer true. */
  | { readonly kind: 'write'; readonly keys: readonly RegisterReadKey[] }

/** What a telegram says about values; `undefined` for most of them. */
export function interpretTelegram({ telegram, response }: TelegramExchange): TelegramMeaning | undefined {
  const { primary, secondary, target } = telegram
  if (target === BROADCAST_ADDRESS) return broadcastMeaning(telegram)
  if (primary === 0x07 && secondary === 0x04 && response !== undefined)
    return value(toIdentityReadKey(target), response)
  if (primary !== VAILLANT || response === undefined) return undefined
  switch (secondary) {
    case 0x24:
      return extendedMeaning(telegram, response)
    case 0x09:
      return boilerMeaning(telegram, response)
    case 0x55:
      return timerMeaning(telegram, response)
    case 0x16:
      return telegram.data.length === 2 && telegram.data[0] === 0x18
        ? value(toHeatPumpReadKey(target, { secondary, question: telegram.data }), response)
        : energyAnswer(telegram.data, response)
    case HEAT_PUMP_VALUES_SECONDARY:
      return telegram.data.length === 4 && telegram.data[0] === 0x05 && telegram.data[1] === 0xff
        ? value(toHeatPumpReadKey(target, { secondary, question: telegram.data }), response)
        : undefined
    case 0x11:
      return telegram.data.length === 1 ? value(toStatusReadKey(target, telegram.data[0] ?? 0), response) : undefined
    case 0x03:
      return errorsMeaning(telegram, response)
    case 0x04:
      return telegram.data.length === 1
        ? value(toOperationalDataReadKey(target, telegram.data[0] ?? 0), response)
        : undefined
    default:
      return undefined
  }
}

function value(key: RegisterReadKey, payload: Uint8Array): TelegramMeaning {
  return { kind: 'value', key, payload }
}

function extendedMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const opcode = data[0] ?? 0
  if ((opcode === 0x02 || opcode === 0x06) && data.length >= 6) {
    // One by one: taking a typed array apart in one go costs several times as much, and this is the commonest telegram.
    const [verb, group, instance, low, high] = [data[1] ?? 0, data[2] ?? 0, data[3] ?? 0, data[4] ?? 0, data[5] ?? 0]
    const key = toRegisterReadKey(target, { opcode, group, number: high * 256 + low }, instance)
    if (verb === 0x01) return { kind: 'write', keys: [...new Set([key, ...changedWith(key, target)])] }
    if (verb !== 0x00 || data.length > 6) return undefined
    // An answer that names another register answers another question.
    if (response.length >= 4 && (response[1] !== group || response[2] !== low || response[3] !== high)) return undefined
    return value(key, response)
  }
  if (opcode === 0x03 && data.length === 5) return value(toB524TimerReadKey(target, [...data.subarray(1)]), response)
  if (opcode === 0x04 && data.length > 5)
    return { kind: 'write', keys: [toB524TimerReadKey(target, [...data.subarray(1, 5)])] }
  return undefined
}

function boilerMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [verb, high = 0, low = 0] = data
  if (data.length < 3) return undefined
  const key = toBoilerReadKey(target, high * 256 + low)
  if (verb === 0x0d && data.length === 3) return value(key, response)
  return verb === 0x0e ? { kind: 'write', keys: [key] } : undefined
}

function timerMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [operation = 0, zone = 0, channel = 0, day = 0] = data
  if (
    ((operation === TIMER_PROGRAM_LIMITS_OPCODE || operation === TIMER_SLOT_COUNTS_OPCODE) && data.length === 3) ||
    (operation === TIMER_SLOT_READ_OPCODE && data.length === 5)
  )
    return value(toB555TimerReadKey(target, [...data]), response)
  if (operation !== TIMER_SLOT_WRITE_OPCODE || data.length < 5) return undefined
  const zones = channel === HOT_WATER_CHANNEL ? HOT_WATER_ZONES : [zone]
  const counts = zones.map((each) => toB555TimerReadKey(target, [TIMER_SLOT_COUNTS_OPCODE, each, channel]))
  // Index and count in front, then what a slot looks like when it is read.
  const celsius = decodeTimerSlot(Uint8Array.of(0x00, ...data.subarray(6)))?.celsius
  if (channel !== HOT_WATER_CHANNEL || celsius === undefined)
    return { kind: 'write', keys: [...counts, ...zones.flatMap((each) => daySlots(target, [each, channel, day]))] }
  return {
    kind: 'write',
    keys: [...counts, toRegisterReadKey(target, HOT_WATER_REGISTERS.target), ...hotWaterSlots(target)],
  }
}

const HOT_WATER_CHANNEL = TIMER_PROGRAM_CHANNELS.indexOf('dhw')
/** Asked for under either number, it is one program. */
const HOT_WATER_ZONES = [NO_ZONE_NUMBER, 0x00]

/**
 * What a regulator sets by itself when something of the group is set: whoever writes the hours of a quick veto starts
 * it. The temperature of a hot water slot is the setpoint, in all slots of the week: who changes one changes them all.
 */
function changedWith(key: RegisterReadKey, address: number): readonly RegisterReadKey[] {
  const [opcode, group, instance] = decodeReadKeyBytes(key)
  const following = (opcode === 0x02 ? FOLLOWING.get(group) : undefined) ?? []
  const slots = key === toRegisterReadKey(address, HOT_WATER_REGISTERS.target) ? hotWaterSlots(address) : []
  return [...following.map((register) => toRegisterReadKey(address, register, instance)), ...slots]
}

const FOLLOWING: ReadonlyMap<number, readonly RegulatorRegister[]> = new Map([
  [
    ZONE_REGISTERS.index.group,
    [
      ZONE_REGISTERS.specialFunction,
      ZONE_REGISTERS.valve,
      ZONE_REGISTERS.currentSetpoint,
      ZONE_REGISTERS.quickVetoHours,
      ZONE_REGISTERS.quickVetoEndTime,
      ZONE_REGISTERS.quickVetoEndDate,
    ],
  ],
  [HOT_WATER_REGISTERS.target.group, [HOT_WATER_REGISTERS.specialFunction, HOT_WATER_REGISTERS.status]],
])

function hotWaterSlots(address: number): readonly RegisterReadKey[] {
  return HOT_WATER_ZONES.flatMap((zone) =>
    WEEKDAYS.flatMap((_, day) => daySlots(address, [zone, HOT_WATER_CHANNEL, day])),
  )
}

function daySlots(
  address: number,
  place: readonly [zone: number, channel: number, day: number],
): readonly RegisterReadKey[] {
  return Array.from({ length: MAX_DAY_SLOTS }, (_, slot) =>
    toB555TimerReadKey(address, [TIMER_SLOT_READ_OPCODE, ...place, slot]),
  )
}

function errorsMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [when, kind] = data
  if (kind !== ERROR_KIND_SELECTORS.errors && kind !== ERROR_KIND_SELECTORS.service) return undefined
  const isRequest =
    (when === CURRENT_ERRORS_SELECTOR && data.length === 2) || (when === PAST_ERRORS_SELECTOR && data.length === 3)
  return isRequest ? value(toErrorsReadKey(target, [...data]), response) : undefined
}

const ENERGY_SELECTOR = 8
const ENERGY_ANSWER = 11
const FLOAT_LENGTH = 4

function energyAnswer(data: Uint8Array, response: Uint8Array): TelegramMeaning | undefined {
  if (data[0] !== 0x10 || data.length !== ENERGY_SELECTOR) return undefined
  const key = toEnergyReadKey(selectorBytes(data))
  return value(key, extractAnswerValue(key, response))
}

/**
 * What of an answer is kept under its key. Answers about energy repeat the selector without its 10 and FF FF in front
 * of the figure; broadcasts do not, and the figure is all that counts.
 */
export function extractAnswerValue(key: RegisterReadKey, response: Uint8Array): Uint8Array {
  if (decodeReadKeyKind(key) !== READ_KEY_KINDS.energy) return response
  return response.length === ENERGY_ANSWER ? response.subarray(ENERGY_ANSWER - FLOAT_LENGTH) : new Uint8Array()
}

function broadcastMeaning({ primary, secondary, data }: Telegram): TelegramMeaning | undefined {
  if (primary === 0x07 && secondary === 0x00 && data.length >= 9) return value(CLOCK_READ_KEY, data)
  if (primary !== VAILLANT || secondary !== 0x16 || data[0] !== 0x10) return undefined
  if (data.length !== ENERGY_SELECTOR + FLOAT_LENGTH) return undefined
  return value(toEnergyReadKey(selectorBytes(data)), data.subarray(ENERGY_SELECTOR))
}

function selectorBytes(data: Uint8Array): readonly number[] {
  return [data[1] ?? 0, data[4] ?? 0, data[5] ?? 0, data[6] ?? 0, data[7] ?? 0]
}
