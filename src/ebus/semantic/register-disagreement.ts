/**
 * Register disagreement: a definition and our own register map decode the same bytes differently. The definition is
 * used then, and the owner is told, because one of the two is wrong.
 *
 *   register of the map ▸ its request ▸ definition of that request ▸ the same answers decoded by both
 */
import { toHex } from '../../core/bytes.ts'
import type { BoilerRegister } from './boiler-register-map.ts'
import {
  BOILER_CONFIG_REGISTERS,
  BOILER_DIAGNOSTIC_REGISTERS,
  BOILER_STATE_REGISTERS,
  decodeBoilerValue,
} from './boiler-register-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import { toBoilerReadKey, toRegisterReadKey, encodeReadRequest } from './read-key.ts'
import type { RegulatorRegister, RegisterType, DecodedRegisterValue } from './register.ts'
import { decodeRegisterValue } from './register.ts'
import { CIRCUIT_REGISTERS, HOT_WATER_REGISTERS, SYSTEM_REGISTERS, ZONE_REGISTERS } from './regulator-register-map.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { createTelegramExchange } from '../wire/telegram.ts'
import { decodeMessage } from '../definitions/message-decoder.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'

export interface RegisterDisagreement {
  readonly key: RegisterReadKey
  readonly message: MessageDefinition
  /** The first answer that the two decode differently, and the two values. */
  readonly sample: Uint8Array
  readonly builtIn: DecodedRegisterValue | undefined
  readonly defined: DecodedRegisterValue | undefined
}

/** The addresses to check, by the tables that apply to them. */
export interface CheckedBusAddresses {
  readonly regulator: number | undefined
  /** Only a boiler whose registers our map describes. */
  readonly boiler: number | undefined
}

type FindDefinition = (exchange: TelegramExchange) => MessageDefinition | undefined

/** Sample answers that are valid in every coding of the type: whole numbers, and 21.5 as a float. */
const SAMPLES: Readonly<Partial<Record<RegisterType, readonly (readonly number[])[]>>> = {
  u8: [[0x01], [0x02]],
  flag: [[0x00], [0x01]],
  u16: [
    [0x01, 0x00],
    [0x02, 0x00],
  ],
  u32: [[0x10, 0x27, 0x00, 0x00]],
  f32: [
    [0x00, 0x00, 0xac, 0x41],
    [0x00, 0x00, 0x80, 0x40],
  ],
}
/** 21.5 and 33.0 in sixteenths, one byte or two. */
const BOILER_SAMPLES: Readonly<Record<number, readonly (readonly number[])[]>> = {
  1: [[0x01]],
  2: [
    [0x58, 0x01],
    [0x10, 0x02],
  ],
}
const INSTANCES = 3

export function findRegistersContradictingDefinitions(
  find: FindDefinition,
  { regulator, boiler }: CheckedBusAddresses,
): readonly RegisterDisagreement[] {
  const found: RegisterDisagreement[] = []
  const check = (key: RegisterReadKey, ways: readonly SampleWay[]): void => {
    const disagreement = compareReadings(find, key, ways)
    if (disagreement !== undefined) found.push(disagreement)
  }
  if (regulator !== undefined)
    for (const [registers, instances] of [
      [SYSTEM_REGISTERS, 1],
      [HOT_WATER_REGISTERS, 1],
      [CIRCUIT_REGISTERS, INSTANCES],
      [ZONE_REGISTERS, INSTANCES],
    ] as const)
      for (let instance = 0; instance < instances; instance++)
        for (const register of Object.values<RegulatorRegister>(registers))
          check(toRegisterReadKey(regulator, register, instance), registerWays(register))
  if (boiler !== undefined)
    for (const part of [BOILER_STATE_REGISTERS, BOILER_CONFIG_REGISTERS, BOILER_DIAGNOSTIC_REGISTERS])
      for (const register of Object.values<BoilerRegister>(part))
        check(toBoilerReadKey(boiler, register.number), boilerWays(register))
  return found
}

/** The disagreement as one sentence for the owner. */
export function formatDisagreement({ message, sample, builtIn, defined }: RegisterDisagreement): string {
  const { source, line, circuit, name } = message
  const shown = (value: DecodedRegisterValue | undefined): string => (value === undefined ? 'nothing' : String(value))
  return `${source}:${line}: ${circuit}.${name} reads ${toHex(sample)} as ${shown(defined)}, the built-in register map as ${shown(builtIn)}; the definition counts`
}

/** The same value in one of the forms in which devices answer. */
interface SampleWay {
  readonly answers: readonly Uint8Array[]
  readonly decode: (answer: Uint8Array) => DecodedRegisterValue | undefined
}

function registerWays(register: RegulatorRegister): readonly SampleWay[] {
  const header = [0x01, register.group, register.number & 0xff, register.number >> 8]
  // A switch is answered with one byte or two.
  const tails = register.type === 'flag' ? [[], [0x00]] : [[]]
  return (SAMPLES[register.type] ?? []).map((value) => ({
    answers: tails.map((tail) => Uint8Array.from([...header, ...value, ...tail])),
    decode: (answer) => decodeRegisterValue(register.type, answer.subarray(header.length)),
  }))
}

/** Value alone, value and sensor, value with its mirror and sensor: the map decodes all three. */
function boilerWays(register: BoilerRegister): readonly SampleWay[] {
  return (BOILER_SAMPLES[register.coding.length] ?? []).map((value) => ({
    answers: [
      Uint8Array.from(value),
      Uint8Array.from([...value, 0x00]),
      Uint8Array.from([...value, ...value.map((byte) => byte ^ 0xff), 0x00]),
    ],
    decode: (answer) => decodeBoilerValue(register, answer),
  }))
}

/** They agree if both decode every sample equally in at least one form. */
function compareReadings(
  find: FindDefinition,
  key: RegisterReadKey,
  ways: readonly SampleWay[],
): RegisterDisagreement | undefined {
  const request = encodeReadRequest(key, undefined)
  const message = find(createTelegramExchange(request))
  if (message === undefined || message.isWrite || message.chain.length > 0) return undefined
  for (const { answers, decode } of ways) {
    const readings = answers.map((sample) => ({
      sample,
      builtIn: decode(sample),
      defined: decodeFirstNumericField(message, request.data, sample),
    }))
    const isAlike = readings.some(
      ({ builtIn, defined }) => defined !== undefined && builtIn !== undefined && isNear(Number(builtIn), defined),
    )
    const worst = readings.find(({ defined }) => defined !== undefined) ?? readings[0]
    if (!isAlike && worst !== undefined) return { key, message, ...worst }
  }
  return undefined
}

/** The first number that the definition decodes; `undefined` when the answer does not fit it. */
export function decodeFirstNumericField(
  message: MessageDefinition,
  command: Uint8Array,
  response: Uint8Array,
): number | undefined {
  const decoded = decodeMessage(message, { command, response })
  if (!decoded.ok) return undefined
  for (const { reading } of decoded.value.fields) {
    if (typeof reading.value === 'number') return reading.value
    if (reading.raw !== undefined) return reading.raw
  }
  return undefined
}

/** A difference in rounding is not a disagreement. */
function isNear(left: number, right: number): boolean {
  return Math.abs(left - right) <= 0.01 * Math.max(1, Math.abs(left))
}
