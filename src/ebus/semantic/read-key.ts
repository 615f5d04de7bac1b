/**
 * Read key: a number for everything that can be read on a bus, and the telegram that reads it.
 *
 *   kind (4 bits) · address (8) · what is asked (40)
 *
 * The answer to one key is the same whoever sends the request, so answers to other initiators are used as well.
 */
import { VAILLANT_MANUFACTURER_CODE as VAILLANT } from '../wire/device-identity.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import type { RegulatorRegisterId } from './register.ts'

export type RegisterReadKey = number

/** The kind of a key, which determines how its answer is decoded. */
export const READ_KEY_KINDS = {
  /** B524 02/06. */
  register: 1,
  /** B509 0D. */
  boiler: 2,
  /** B555 A3, A4, A5. */
  timer: 3,
  /** B524 03. */
  shortTimer: 4,
  /** B516 10, requested or broadcast. */
  energy: 5,
  /** B511. */
  status: 6,
  /** B504. */
  operational: 7,
  /** 07 00, broadcast only. */
  clock: 8,
  /** B503 00 and 01: present and past error and service messages. */
  errors: 9,
  /** 07 04: the identification. Stored like a value, so that it is known again after a restart. */
  identity: 10,
  /** B51A 05 FF and B516 18: counters and measurements of a heat pump. */
  heatPump: 11,
} as const
type Kind = (typeof READ_KEY_KINDS)[keyof typeof READ_KEY_KINDS]

const KIND_UNIT = 2 ** 48
const ADDRESS_UNIT = 2 ** 40
const FIRST_UNIT = 2 ** 32

function keyOf(kind: Kind, address: number, bytes: readonly number[]): RegisterReadKey {
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = bytes
  return placed(kind, address, first) + second * 2 ** 24 + third * 2 ** 16 + fourth * 256 + fifth
}

function placed(kind: Kind, address: number, first: number): number {
  return kind * KIND_UNIT + address * ADDRESS_UNIT + first * FIRST_UNIT
}

/** The most frequent kind of key, computed without an intermediate list. */
export function toRegisterReadKey(
  address: number,
  { opcode, group, number }: RegulatorRegisterId,
  instance = 0,
): RegisterReadKey {
  return placed(READ_KEY_KINDS.register, address, opcode) + group * 2 ** 24 + instance * 2 ** 16 + number
}

export function toBoilerReadKey(address: number, number: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.boiler, address, [number >> 8, number & 0xff])
}

export function toB555TimerReadKey(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.timer, address, bytes)
}

export function toB524TimerReadKey(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.shortTimer, address, bytes)
}

/** Meters belong to the bus, whichever device reports them. */
export function toEnergyReadKey(bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.energy, 0, bytes)
}

export function toStatusReadKey(address: number, block: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.status, address, [block])
}

export function toOperationalDataReadKey(address: number, block: number): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.operational, address, [block])
}

/** B503's first byte for present errors, as opposed to past ones. Other values clear or write, and read nothing. */
export const CURRENT_ERRORS_SELECTOR = 0x00
export const PAST_ERRORS_SELECTOR = 0x01
/** B503's second byte. */
export const ERROR_KIND_SELECTORS = { errors: 0x01, service: 0x02 } as const

/** `00 kind`, or `01 kind index`. */
export function toErrorsReadKey(address: number, bytes: readonly number[]): RegisterReadKey {
  return keyOf(READ_KEY_KINDS.errors, address, bytes)
}

/** By service and request: the same numbers mean other things under another service. */
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

export function decodeReadKeyBusAddress(key: RegisterReadKey): number {
  return Math.floor(key / ADDRESS_UNIT) % 256
}

/** The five bytes after the address. */
export function decodeReadKeyBytes(key: RegisterReadKey): readonly [number, number, number, number, number] {
  // The lower four bytes are the lower 32 bits, for which bit operations are cheap.
  const low = key | 0
  return [Math.floor(key / FIRST_UNIT) & 0xff, low >>> 24, (low >> 16) & 0xff, (low >> 8) & 0xff, low & 0xff]
}

/** The secondary of B51A, where a heat pump has its measurements. */
export const HEAT_PUMP_VALUES_SECONDARY = 0x1a

/**
 * The telegram that reads a key. `energyTarget` is the device with the meters. Throws for keys that are only broadcast.
 */
export function encodeReadRequest(key: RegisterReadKey, energyTarget?: number): EbusRequest {
  const target = decodeReadKeyBusAddress(key)
  const [first, second, third, fourth, fifth] = decodeReadKeyBytes(key)
  const createRequest = (secondary: number, data: readonly number[], to = target): EbusRequest => ({
    target: to,
    primary: VAILLANT,
    secondary,
    data: Uint8Array.from(data),
  })
  switch (decodeReadKeyKind(key)) {
    case READ_KEY_KINDS.register:
      return createRequest(0x24, [first, 0x00, second, third, fifth, fourth])
    case READ_KEY_KINDS.boiler:
      return createRequest(0x09, [0x0d, first, second])
    case READ_KEY_KINDS.timer:
      return createRequest(
        0x55,
        first === TIMER_SLOT_READ_OPCODE ? [first, second, third, fourth, fifth] : [first, second, third],
      )
    case READ_KEY_KINDS.shortTimer:
      return createRequest(0x24, [0x03, first, second, third, fourth])
    case READ_KEY_KINDS.energy:
      if (energyTarget === undefined) throw new RangeError('no device is known to keep the meters')
      return createRequest(0x16, [0x10, first, 0xff, 0xff, second, third, fourth, fifth], energyTarget)
    case READ_KEY_KINDS.status:
      return createRequest(0x11, [first])
    case READ_KEY_KINDS.operational:
      return createRequest(0x04, [first])
    case READ_KEY_KINDS.errors:
      return createRequest(0x03, first === CURRENT_ERRORS_SELECTOR ? [first, second] : [first, second, third])
    case READ_KEY_KINDS.heatPump:
      return createRequest(
        first,
        first === HEAT_PUMP_VALUES_SECONDARY ? [second, third, fourth, fifth] : [second, third],
      )
    default:
      throw new RangeError(`key ${key} cannot be asked for`)
  }
}

export const TIMER_PROGRAM_LIMITS_OPCODE = 0xa3
export const TIMER_SLOT_COUNTS_OPCODE = 0xa4
export const TIMER_SLOT_READ_OPCODE = 0xa5
export const TIMER_SLOT_WRITE_OPCODE = 0xa6
