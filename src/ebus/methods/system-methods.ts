/**
 * System methods: the methods of every Vaillant device.
 */
import { z } from 'zod'
import { areBytesEqual, toHex } from '../../core/bytes.ts'
import { decodeCurrentErrorCodes, decodeErrorHistoryEntry } from '../semantic/error-code-decoder.ts'
import { PAST_ERRORS_SELECTOR, CURRENT_ERRORS_SELECTOR, ERROR_KIND_SELECTORS } from '../semantic/read-key.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import { fromBcd } from '../wire/bcd.ts'
import { EXTENDED_REGISTER_METHODS } from './extended-register-methods.ts'
import type { DeviceMethod, MethodAnswer } from './device-method.ts'
import {
  byteSchema,
  createByteListSchema,
  commonMethodParams,
  defineMethod,
  createMissingParamIssue,
  registerNumberSchema,
} from './device-method.ts'
import { formatRegisterNumber, formatBoilerRegisterActuatorId } from '../semantic/register.ts'

/** Sixteen bits in 1/256 °C. */
const OUTSIDE = requireNumberDatatype('D2B')

const operational = z.strictObject({ ...commonMethodParams, op: byteSchema })

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
      op,
      payload: response,
      ...(op === 0x00 ? dateTime(response) : {}),
    }),
  }),
})

/** dcf SS MM HH DD MM ww YY temperature, or without the receiver's state on older devices. */
function dateTime(response: Uint8Array): MethodAnswer {
  // Ten bytes with the state of the radio clock in front, nine without.
  const at = response.length >= 10 ? 1 : 0
  const bcd = (index: number): number | undefined => fromBcd(response[at + index] ?? 0xff)
  const temperature = OUTSIDE.decode(response.subarray(at + 7))
  return {
    dcfstate: at === 1 ? response[0] : undefined,
    time_hour: bcd(2),
    time_minute: bcd(1),
    date_day: bcd(3),
    date_month: bcd(4),
    date_year: yearOf(bcd(6)),
    temp: temperature.ok ? temperature.value : undefined,
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
    // A telegram holds 255 bytes, of which the first is `op`.
    data: createByteListSchema(0, 254).optional(),
    payload: createByteListSchema(0, 254).optional(),
  }),
  prepare: ({ op, data, payload }) => ({
    data: Uint8Array.of(op, ...(data ?? payload ?? [])),
    // Its effect is not documented.
    effect: 'sensitive',
    actuator: `b505/${toHex(Uint8Array.of(op))}`,
    decode: (response) => ({ op, payload: response }),
  }),
})

function registerResult(cmd: number, addr: number, response: Uint8Array): MethodAnswer {
  return {
    cmd,
    addr,
    addr_hex: formatRegisterNumber(addr),
    payload: response,
    // A single byte 00 means that the register does not exist.
    value: response.length === 1 && response[0] === 0x00 ? new Uint8Array() : response,
  }
}

const getRegister = defineMethod({
  plane: 'system',
  name: 'get_register',
  secondary: 0x09,
  readOnly: true,
  params: z.strictObject({ ...commonMethodParams, addr: registerNumberSchema }),
  prepare: ({ addr }) => ({
    data: Uint8Array.of(0x0d, addr >> 8, addr & 0xff),
    effect: 'reads',
    actuator: formatBoilerRegisterActuatorId(addr),
    decode: (response) => registerResult(0x0d, addr, response),
  }),
})

const setRegister = defineMethod({
  plane: 'system',
  name: 'set_register',
  secondary: 0x09,
  readOnly: false,
  params: z.strictObject({
    ...commonMethodParams,
    addr: registerNumberSchema,
    // Three bytes contain the command and the register.
    data: createByteListSchema(1, 252).optional(),
    payload: createByteListSchema(1, 252).optional(),
  }),
  prepare: ({ addr, data, payload }) => {
    const bytes = data ?? payload
    if (bytes === undefined) return [createMissingParamIssue('data')]
    return {
      data: Uint8Array.of(0x0e, addr >> 8, addr & 0xff, ...bytes),
      // A boiler's registers are for installers: limits of flow, load and service.
      effect: 'sensitive',
      actuator: formatBoilerRegisterActuatorId(addr),
      decode: (response) => registerResult(0x0e, addr, response),
      confirm: {
        data: Uint8Array.of(0x0d, addr >> 8, addr & 0xff),
        // A register may be longer than the bytes that were written.
        holds: (response) => areBytesEqual(response.subarray(0, bytes.length), bytes),
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
  params: z.strictObject({ ...commonMethodParams, kind: errorKind }),
  prepare: ({ kind }) => ({
    data: Uint8Array.of(CURRENT_ERRORS_SELECTOR, ERROR_KIND_SELECTORS[kind]),
    effect: 'reads',
    actuator: `b503/${kind}`,
    decode: (response) => {
      const codes = decodeCurrentErrorCodes(response)
      return {
        kind,
        payload: response,
        codes,
      }
    },
  }),
})

const getErrorHistory = defineMethod({
  plane: 'system',
  name: 'get_error_history',
  secondary: 0x03,
  readOnly: true,
  params: z.strictObject({ ...commonMethodParams, kind: errorKind, index: byteSchema }),
  prepare: ({ kind, index }) => ({
    data: Uint8Array.of(PAST_ERRORS_SELECTOR, ERROR_KIND_SELECTORS[kind], index),
    effect: 'reads',
    actuator: `b503/${kind}`,
    decode: (response) => {
      const entry = decodeErrorHistoryEntry(response)
      const found = entry === undefined || entry === 'empty' ? undefined : entry
      return {
        kind,
        index,
        payload: response,
        status: found?.status,
        code: found?.code,
        at: found?.at,
      }
    },
  }),
})

export const VAILLANT_SYSTEM_METHODS: readonly DeviceMethod[] = [
  getErrors,
  getErrorHistory,
  getOperationalData,
  setOperationalData,
  getRegister,
  setRegister,
  ...EXTENDED_REGISTER_METHODS,
]
