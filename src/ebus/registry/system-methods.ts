/**
 * System methods: what can be asked of any Vaillant device, by name.
 */
import { z } from 'zod'
import { equalBytes, toHex } from '../../core/bytes.ts'
import { decodeErrorCodes, decodeErrorEntry } from '../semantic/error-codes.ts'
import { ERRORS_BEFORE, ERRORS_NOW, ERROR_KINDS } from '../semantic/read-key.ts'
import { numberDatatype } from '../wire/datatypes.ts'
import { fromBcd } from '../wire/digit-type.ts'
import { EXTENDED_METHODS } from './extended-methods.ts'
import type { DeviceMethod, NamedValues } from './method.ts'
import {
  INVALID_VALUE,
  byteSchema,
  byteListSchema,
  bytesValue,
  commonParams,
  defineMethod,
  missingParamIssue,
  numberValue,
  registerNumberSchema,
  validValue,
} from './method.ts'

/** Sixteen bits in 1/256 °C. */
const OUTSIDE = numberDatatype('D2B')

const operational = z.strictObject({ ...commonParams, op: byteSchema })

const getOperationalData = defineMethod({
  plane: 'system',
  name: 'get_operational_data',
  secondary: 0x04,
  readOnly: true,
  params: operational,
  prepare: ({ op }) => ({
    data: Uint8Array.of(op),
    effect: 'reads',
    actuator: `b504/${toHex(Uint8Array.of(op))}`,
    decode: (response) => ({
      op: validValue(op),
      payload: bytesValue(response),
      ...(op === 0x00 ? dateTime(response) : {}),
    }),
  }),
})

/** dcf SS MM HH DD MM ww YY temperature, or without the receiver's state on older devices. */
function dateTime(response: Uint8Array): NamedValues {
  // Ten bytes with the state of the radio clock in front, nine without.
  const at = response.length >= 10 ? 1 : 0
  const bcd = (index: number): number | undefined => fromBcd(response[at + index] ?? 0xff)
  const temperature = OUTSIDE.decode(response.subarray(at + 7))
  return {
    dcfstate: at === 1 ? numberValue(response[0]) : INVALID_VALUE,
    time_hour: numberValue(bcd(2)),
    time_minute: numberValue(bcd(1)),
    date_day: numberValue(bcd(3)),
    date_month: numberValue(bcd(4)),
    date_year: numberValue(yearOf(bcd(6))),
    temp: temperature.ok ? numberValue(temperature.value) : INVALID_VALUE,
  }
}

function yearOf(twoDigits: number | undefined): number | undefined {
  return twoDigits === undefined ? undefined : 2_000 + twoDigits
}

const setOperationalData = defineMethod({
  plane: 'system',
  name: 'set_operational_data',
  secondary: 0x05,
  readOnly: false,
  params: z.strictObject({
    ...operational.shape,
    // 255 bytes fit into a telegram; the first is `op`.
    data: byteListSchema(0, 254).optional(),
    payload: byteListSchema(0, 254).optional(),
  }),
  prepare: ({ op, data, payload }) => ({
    data: Uint8Array.of(op, ...(data ?? payload ?? [])),
    // What it does is written nowhere.
    effect: 'sensitive',
    actuator: `b505/${toHex(Uint8Array.of(op))}`,
    decode: (response) => ({ op: validValue(op), payload: bytesValue(response) }),
  }),
})

function registerResult(cmd: number, addr: number, response: Uint8Array): NamedValues {
  return {
    cmd: validValue(cmd),
    addr: validValue(addr),
    addr_hex: validValue(addr.toString(16).padStart(4, '0')),
    payload: bytesValue(response),
    // One byte 00 is how a register says that it does not exist.
    value: response.length === 1 && response[0] === 0x00 ? INVALID_VALUE : bytesValue(response),
  }
}

const getRegister = defineMethod({
  plane: 'system',
  name: 'get_register',
  secondary: 0x09,
  readOnly: true,
  params: z.strictObject({ ...commonParams, addr: registerNumberSchema }),
  prepare: ({ addr }) => ({
    data: Uint8Array.of(0x0d, addr >> 8, addr & 0xff),
    effect: 'reads',
    actuator: `b509/${addr.toString(16).padStart(4, '0')}`,
    decode: (response) => registerResult(0x0d, addr, response),
  }),
})

const setRegister = defineMethod({
  plane: 'system',
  name: 'set_register',
  secondary: 0x09,
  readOnly: false,
  params: z.strictObject({
    ...commonParams,
    addr: registerNumberSchema,
    // Three bytes say what to write where.
    data: byteListSchema(1, 252).optional(),
    payload: byteListSchema(1, 252).optional(),
  }),
  prepare: ({ addr, data, payload }) => {
    const bytes = data ?? payload
    if (bytes === undefined) return [missingParamIssue('data')]
    return {
      data: Uint8Array.of(0x0e, addr >> 8, addr & 0xff, ...bytes),
      // A boiler's registers are an installer's: limits of flow, load and service.
      effect: 'sensitive',
      actuator: `b509/${addr.toString(16).padStart(4, '0')}`,
      decode: (response) => registerResult(0x0e, addr, response),
      confirm: {
        data: Uint8Array.of(0x0d, addr >> 8, addr & 0xff),
        // A register may be longer than what was written of it.
        holds: (response) => equalBytes(response.subarray(0, bytes.length), bytes),
        decode: (response) => registerResult(0x0d, addr, response),
      },
    }
  },
})

const errorKind = z.enum(['errors', 'service']).default('errors')

const getErrors = defineMethod({
  plane: 'system',
  name: 'get_errors',
  secondary: 0x03,
  readOnly: true,
  params: z.strictObject({ ...commonParams, kind: errorKind }),
  prepare: ({ kind }) => ({
    data: Uint8Array.of(ERRORS_NOW, ERROR_KINDS[kind]),
    effect: 'reads',
    actuator: `b503/${kind}`,
    decode: (response) => {
      const codes = decodeErrorCodes(response)
      return {
        kind: validValue(kind),
        payload: bytesValue(response),
        codes: codes === undefined ? INVALID_VALUE : validValue([...codes]),
      }
    },
  }),
})

const getErrorHistory = defineMethod({
  plane: 'system',
  name: 'get_error_history',
  secondary: 0x03,
  readOnly: true,
  params: z.strictObject({ ...commonParams, kind: errorKind, index: byteSchema }),
  prepare: ({ kind, index }) => ({
    data: Uint8Array.of(ERRORS_BEFORE, ERROR_KINDS[kind], index),
    effect: 'reads',
    actuator: `b503/${kind}`,
    decode: (response) => {
      const entry = decodeErrorEntry(response)
      const found = entry === undefined || entry === 'empty' ? undefined : entry
      return {
        kind: validValue(kind),
        index: validValue(index),
        payload: bytesValue(response),
        status: numberValue(found?.status),
        code: numberValue(found?.code),
        at: found?.at === undefined ? INVALID_VALUE : validValue(found.at),
      }
    },
  }),
})

export const SYSTEM_METHODS: readonly DeviceMethod[] = [
  getErrors,
  getErrorHistory,
  getOperationalData,
  setOperationalData,
  getRegister,
  setRegister,
  ...EXTENDED_METHODS,
]
