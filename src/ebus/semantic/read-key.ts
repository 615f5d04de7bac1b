/**
 * Read key: a name for everything that can be read on a bus, as one number, and the telegram that reads it.
 *
 *   kind (4 bits) · address (8) · what is asked (40)
 *
 * Whoever asks, the answer to one key is the same answer. That is why what others ask serves us, too.
 */
import type { BusRequest } from '../adapter/ebus-connection.ts'
import { BROADCAST_ADDRESS } from '../wire/symbol.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import type { RegulatorRegister } from './register.ts'
import { HOT_WATER_REGISTERS, ZONE_REGISTERS } from './register-map.ts'
import { PROGRAM_CHANNELS, NO_ZONE_NUMBER, WEEKDAYS, decodeSlot } from './schedule.ts'

export type RegisterReadKey = number

/** How a key was made; also how its answer is to be read. */
export const READ_KEY_KINDS = {
  /** B524 02/06. */
  register: 1,
  /** B509 0D. */
  boiler: 2,
  /** B555 A3, A4, A5. */
  timer: 3,
  /** B524 03. */
  shortTimer: 4,
  /** B516 10, asked or broadcast. */
  energy: 5,
  /** B511. */
  status: 6,
  /** B504. */
  operational: 7,
  /** 07 00, broadcast only. */
  clock: 8,
  /** B503 00 and 01: error and service messages, now and earlier. */
  errors: 9,
  /** 07 04: who somebody is. Kept like a value, so that it is known again after a restart. */
  identity: 10,
  /** B51A 05 FF and B516 18: what a heat pump counts and measures. */
  heatPump: 11,
} as const
type Kind = (typeof READ_KEY_KINDS)[keyof typeof READ_KEY_KINDS]

const KIND_UNIT = 2 ** 48
const ADDRESS_UNIT = 2 ** 40
const FIRST_UNIT = 2 ** 32
const VAILLANT = 0xb5

function keyOf(kind: Kind, address: number, bytes: readonly number[]): RegisterReadKey {
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = bytes
  return placed(kind, address, first) + second * 2 ** 24 + third * 2 ** 16 + fourth * 256 + fifth
}

function placed(kind: Kind, address: number, first: number): number {
  return kind * KIND_UNIT + address * ADDRESS_UNIT + first * FIRST_UNIT
}

/** The commonest key, without a list in between. */
function registerKeyAt(
  address: number,
  opcode: number,
  group: number,
  instance: number,
  number: number,
): RegisterReadKey {
  return placed(READ_KEY_KINDS.register, address, opcode) + group * 2 ** 24 + instance * 2 ** 16 + number
}

export function toRegisterReadKey(
  address: number,
  { opcode, group, number }: Pick<RegulatorRegister, 'opcode' | 'group' | 'number'>,
  instance = 0,
): RegisterReadKey {
  return registerKeyAt(address, opcode, group, instance, number)
}

export function toBoilerReadKey(address: number, number: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.boiler, address, [number >> 8, number & 0xff])
}

export function toTimerReadKey(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.timer, address, bytes)
}

export function toTimerReadKey700(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.shortTimer, address, bytes)
}

/** Meters belong to the bus, whichever device tells them. */
export function toEnergyReadKey(bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.energy, 0, bytes)
}

export function toStatusReadKey(address: number, block: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.status, address, [block])
}

/** B503's first byte: what there is now, or what there was. The others clear and take over, and read nothing. */
export const CURRENT_ERRORS_SELECTOR = 0x00
export const PAST_ERRORS_SELECTOR = 0x01
/** B503's second byte. */
export const ERROR_KIND_SELECTORS = { errors: 0x01, service: 0x02 } as const

/** `00 kind`, or `01 kind index`. */
export function toErrorsReadKey(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.errors, address, bytes)
}

/** By service and question: the same numbers mean other things under another service. */
export function toHeatPumpReadKey(
  address: number,
  { secondary, question }: { readonly secondary: number; readonly question: Iterable<number> },
): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.heatPump, address, [secondary, ...question])
}

export function toIdentityReadKey(address: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.identity, address, [])
}

export const CLOCK_READ_KEY: RegisterReadKey = keyOf(READ_KEY_KINDS.clock, 0, [])

export function decodeReadKeyKind(key: RegisterReadKey): number {
  return Math.floor(key / KIND_UNIT)
}

export function decodeReadKeyAddress(key: RegisterReadKey): number {
  return Math.floor(key / ADDRESS_UNIT) % 256
}

/** The five bytes behind the address. */
export function decodeReadKeyBytes(key: RegisterReadKey): readonly [number, number, number, number, number] {
  // The lower four are the lower 32 bits, where taking bytes out is cheap.
  const low = key | 0
  return [Math.floor(key / FIRST_UNIT) & 0xff, low >>> 24, (low >> 16) & 0xff, (low >> 8) & 0xff, low & 0xff]
}

/**
 * The telegram that reads a key. `energyTarget` is whoever keeps the meters. Throws for what is only ever broadcast.
 */
export function encodeReadRequest(key: RegisterReadKey, energyTarget?: number): BusRequest {
  const target = decodeReadKeyAddress(key)
  const [first, second, third, fourth, fifth] = decodeReadKeyBytes(key)
  const ask = (secondary: number, data: readonly number[], to = target): BusRequest => ({
    target: to,
    primary: VAILLANT,
    secondary,
    data: Uint8Array.from(data),
  })
  switch (decodeReadKeyKind(key)) {
    case READ_KEY_KINDS.register:
      return ask(0x24, [first, 0x00, second, third, fifth, fourth])
    case READ_KEY_KINDS.boiler:
      return ask(0x09, [0x0d, first, second])
    case READ_KEY_KINDS.timer:
      return ask(
        0x55,
        first === TIMER_SLOT_READ_OPCODE ? [first, second, third, fourth, fifth] : [first, second, third],
      )
    case READ_KEY_KINDS.shortTimer:
      return ask(0x24, [0x03, first, second, third, fourth])
    case READ_KEY_KINDS.energy:
      if (energyTarget === undefined) throw new RangeError('nobody is known to keep the meters')
      return ask(0x16, [0x10, first, 0xff, 0xff, second, third, fourth, fifth], energyTarget)
    case READ_KEY_KINDS.status:
      return ask(0x11, [first])
    case READ_KEY_KINDS.operational:
      return ask(0x04, [first])
    case READ_KEY_KINDS.errors:
      return ask(0x03, first === CURRENT_ERRORS_SELECTOR ? [first, second] : [first, second, third])
    case READ_KEY_KINDS.heatPump:
      return ask(first, first === HEAT_PUMP_VALUES ? [second, third, fourth, fifth] : [second, third])
    default:
      throw new RangeError(`key ${key} cannot be asked for`)
  }
}

export const TIMER_CONFIG_OPCODE = 0xa3
export const TIMER_SLOT_COUNTS_OPCODE = 0xa4
export const TIMER_SLOT_READ_OPCODE = 0xa5
export const TIMER_SLOT_WRITE_OPCODE = 0xa6
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
    case HEAT_PUMP_VALUES:
      return telegram.data.length === 4 && telegram.data[0] === 0x05 && telegram.data[1] === 0xff
        ? value(toHeatPumpReadKey(target, { secondary, question: telegram.data }), response)
        : undefined
    case 0x11:
      return telegram.data.length === 1 ? value(toStatusReadKey(target, telegram.data[0] ?? 0), response) : undefined
    case 0x03:
      return errorsMeaning(telegram, response)
    case 0x04:
      return telegram.data.length === 1
        ? value(keyOf(READ_KEY_KINDS.operational, target, [telegram.data[0] ?? 0]), response)
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
    const key = registerKeyAt(target, opcode, group, instance, high * 256 + low)
    if (verb === 0x01) return { kind: 'write', keys: [...new Set([key, ...changedWith(key, target)])] }
    if (verb !== 0x00 || data.length > 6) return undefined
    // An answer that names another register answers another question.
    if (response.length >= 4 && (response[1] !== group || response[2] !== low || response[3] !== high)) return undefined
    return value(key, response)
  }
  if (opcode === 0x03 && data.length === 5) return value(toTimerReadKey700(target, [...data.subarray(1)]), response)
  if (opcode === 0x04 && data.length > 5)
    return { kind: 'write', keys: [toTimerReadKey700(target, [...data.subarray(1, 5)])] }
  return undefined
}

function boilerMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [verb, high = 0, low = 0] = data
  if (data.length < 3) return undefined
  const key = keyOf(READ_KEY_KINDS.boiler, target, [high, low])
  if (verb === 0x0d && data.length === 3) return value(key, response)
  return verb === 0x0e ? { kind: 'write', keys: [key] } : undefined
}

function timerMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [operation = 0, zone = 0, channel = 0, day = 0] = data
  if (
    ((operation === TIMER_CONFIG_OPCODE || operation === TIMER_SLOT_COUNTS_OPCODE) && data.length === 3) ||
    (operation === TIMER_SLOT_READ_OPCODE && data.length === 5)
  )
    return value(toTimerReadKey(target, [...data]), response)
  if (operation !== TIMER_SLOT_WRITE_OPCODE || data.length < 5) return undefined
  const zones = channel === HOT_WATER_CHANNEL ? HOT_WATER_ZONES : [zone]
  const counts = zones.map((each) => toTimerReadKey(target, [TIMER_SLOT_COUNTS_OPCODE, each, channel]))
  // Index and count in front, then what a slot looks like when it is read.
  const celsius = decodeSlot(Uint8Array.of(0x00, ...data.subarray(6)))?.celsius
  if (channel !== HOT_WATER_CHANNEL || celsius === undefined)
    return { kind: 'write', keys: [...counts, ...zones.flatMap((each) => daySlots(target, [each, channel, day]))] }
  return {
    kind: 'write',
    keys: [...counts, toRegisterReadKey(target, HOT_WATER_REGISTERS.target), ...hotWaterSlots(target)],
  }
}

const HOT_WATER_CHANNEL = PROGRAM_CHANNELS.indexOf('dhw')
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
    toTimerReadKey(address, [TIMER_SLOT_READ_OPCODE, ...place, slot]),
  )
}

function errorsMeaning({ target, data }: Telegram, response: Uint8Array): TelegramMeaning | undefined {
  const [when, kind] = data
  if (kind !== ERROR_KIND_SELECTORS.errors && kind !== ERROR_KIND_SELECTORS.service) return undefined
  const asks =
    (when === CURRENT_ERRORS_SELECTOR && data.length === 2) || (when === PAST_ERRORS_SELECTOR && data.length === 3)
  return asks ? value(toErrorsReadKey(target, [...data]), response) : undefined
}

const HEAT_PUMP_VALUES = 0x1a

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
