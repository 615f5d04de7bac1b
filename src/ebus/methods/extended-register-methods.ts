/**
 * Extended register methods: B524 of a Vaillant regulator: registers, timers, and raw requests.
 */
import { z } from 'zod'
import type { Effect, ArgumentIssue } from '../../bus/capability.ts'
import { areBytesEqual, toHex } from '../../core/bytes.ts'
import {
  decodeRegisterValue,
  encodeNumericRegisterValue,
  isWrittenValueReadBack,
  decodeWrittenNumber,
  extractRegisterBytes,
  REGISTER_HEADER_BYTES,
  formatRegisterNumber,
  encodeRegisterTelegramData,
  formatRegisterActuator,
} from '../semantic/register.ts'
import type { RegulatorRegisterId, RegulatorRegister } from '../semantic/register.ts'
import { findRegulatorRegister } from '../semantic/regulator-register-map.ts'
import { findRegisterNameAndType } from '../semantic/register-name.ts'
import type { DeviceMethod, MethodAnswer, MethodTelegramWithDecoder } from './device-method.ts'
import {
  CONFIG_VALUE_MAX_AGE_MS,
  byteSchema,
  createByteListSchema,
  commonMethodParams,
  defineMethod,
  createMissingParamIssue,
  registerNumberSchema,
} from './device-method.ts'

/** Spec 1, read_raw: 1 to 16 bytes. */
const MAX_RAW = 16

const extended = z.strictObject({
  ...commonMethodParams,
  group: byteSchema.describe('0 system, 1 hot water, 2 circuits, 3 zones, 4 solar, 5 cylinders.'),
  instance: byteSchema.describe('Which circuit or zone, the first one is 0; 0 for what there is once.'),
  addr: registerNumberSchema.describe('The register: a number, four hex digits, or its two bytes, high byte first.'),
  // Two names for one parameter: the contract says `opcode`, older callers `op`.
  opcode: z.literal([2, 6]).optional().describe('2, the default, is the regulator itself; 6 what is paired with it.'),
  op: z.literal([2, 6]).optional().describe('The older name of opcode.'),
})
type Extended = z.output<typeof extended>

/** Names of the older gateway; `decoded` is an addition, for known registers. */
function extendedResult(params: Extended, write: boolean, response: Uint8Array): MethodAnswer {
  const { group, instance, addr } = params
  const { opcode } = placeOf(params)
  const known = registerOf(params)
  const bytes = extractRegisterBytes(response)
  const answered = response.length >= REGISTER_HEADER_BYTES
  const decoded = known === undefined || bytes.length === 0 ? undefined : decodeRegisterValue(known.type, bytes)
  const replyAddr = answered ? (response[2] ?? 0) + 256 * (response[3] ?? 0) : undefined
  return {
    optype: write ? 1 : 0,
    opcode,
    group,
    instance,
    addr,
    addr_hex: formatRegisterNumber(addr),
    payload: response,
    prefix: response.subarray(0, answered ? REGISTER_HEADER_BYTES : 0),
    reply_kind: answered ? response[0] : undefined,
    reply_group: answered ? response[1] : undefined,
    reply_addr: replyAddr,
    reply_addr_hex: replyAddr === undefined ? undefined : formatRegisterNumber(replyAddr),
    value: bytes,
    ...(known === undefined ? {} : { decoded }),
    ...(known?.user === undefined ? {} : { constraint_min: known.user[0], constraint_max: known.user[1] }),
  }
}

function placeOf({ group, addr, opcode, op }: Extended): RegulatorRegisterId {
  return { opcode: opcode ?? op ?? 2, group, number: addr }
}

/** Limits and approvals are for one register of one instance, not for the device. */
function readCall(params: Extended): MethodTelegramWithDecoder {
  return {
    data: encodeRegisterTelegramData(placeOf(params), params.instance),
    effect: 'reads',
    actuator: formatRegisterActuator(placeOf(params), params.instance),
    decode: (response) => extendedResult(params, false, response),
  }
}

const EXTENDED = { plane: 'system', secondary: 0x24 } as const

const getExtRegister = defineMethod({
  ...EXTENDED,
  name: 'get_ext_register',
  readOnly: true,
  params: extended,
  prepare: readCall,
})

const setExtRegister = defineMethod({
  ...EXTENDED,
  name: 'set_ext_register',
  readOnly: false,
  params: z.strictObject({
    ...extended.shape,
    // A telegram holds 255 bytes; six of them are the register's address.
    data: createByteListSchema(1, 249).optional().describe('What to write, as bytes.'),
    payload: createByteListSchema(1, 249).optional().describe('The older name of data.'),
    value: z.number().optional().describe('Instead of data: the number itself, where the register is known.'),
  }),
  prepare: ({ data, payload, value, ...params }): MethodTelegramWithDecoder | readonly ArgumentIssue[] => {
    const given = data ?? payload
    // If both are given, it is unknown which one is meant.
    if (value !== undefined && given !== undefined) return [valueIssue('not together with data')]
    const bytes = value === undefined ? given : valueBytes(params, value)
    if (bytes === undefined) return [createMissingParamIssue('data', 'value')]
    if (!(bytes instanceof Uint8Array)) return [bytes]
    const effect = classifyWrite(params, bytes)
    if (typeof effect !== 'string') return [{ ...effect, path: ['params', value === undefined ? 'data' : 'value'] }]
    const look = readCall(params)
    return {
      ...look,
      data: encodeRegisterTelegramData(placeOf(params), params.instance, bytes),
      effect,
      decode: (response) => extendedResult(params, true, response),
      // The value without its header must be exactly what was sent, unless it counts down by itself.
      confirm: { ...look, holds: (response) => isStoredAsWritten(params, bytes, extractRegisterBytes(response)) },
    }
  },
})

function isStoredAsWritten(params: Extended, written: Uint8Array, found: Uint8Array): boolean {
  const register = registerOf(params)
  return register === undefined ? areBytesEqual(found, written) : isWrittenValueReadBack(register, written, found)
}

function registerOf(params: Extended): RegulatorRegister | undefined {
  return findRegulatorRegister(placeOf(params).opcode, params.group, params.addr)
}

function valueBytes(params: Extended, value: number): Uint8Array | ArgumentIssue {
  const known = findRegisterNameAndType(placeOf(params).opcode, params.group, params.addr)
  if (known === undefined) return valueIssue('the number format of this register is not known; give data')
  return (
    encodeNumericRegisterValue(known.type, value) ??
    valueIssue(`${known.name} does not take ${value}, as ${known.type}`)
  )
}

function valueIssue(message: string): ArgumentIssue {
  return { path: ['params', 'value'], message, code: 'custom' }
}

/** A setting for residents is a write, within its limits; everything else, known or not, is an installer's setting. */
function classifyWrite(params: Extended, bytes: Uint8Array): Effect | Omit<ArgumentIssue, 'path'> {
  const register = registerOf(params)
  if (register?.user === undefined) return 'sensitive'
  const [min, max] = register.user
  const value = decodeWrittenNumber(register.type, bytes)
  if (value !== undefined && value >= min && value <= max) return 'writes'
  return {
    message: `this register takes ${min} to ${max}, as ${register.type}`,
    code: 'custom',
  }
}

/** Spec 1: `[0x03, SEL1, SEL2, SEL3, WD]`, Monday is 0. The selectors are the regulator's own. */
const readTimer = defineMethod({
  ...EXTENDED,
  name: 'read_timer',
  readOnly: true,
  maxAgeMs: CONFIG_VALUE_MAX_AGE_MS,
  params: z.strictObject({
    ...commonMethodParams,
    sel1: byteSchema,
    sel2: byteSchema,
    sel3: byteSchema,
    weekday: z.int().min(0).max(6),
  }),
  prepare: ({ sel1, sel2, sel3, weekday }) => ({
    data: Uint8Array.of(0x03, sel1, sel2, sel3, weekday),
    effect: 'reads',
    actuator: `b524/03.${toHex(Uint8Array.of(sel1, sel2, sel3, weekday))}`,
    decode: (response) => ({
      opcode: 0x03,
      sel1,
      sel2,
      sel3,
      weekday,
      payload: response,
      value: response,
      slot_count: shortSlotCount(response),
    }),
  }),
})

/** The number of pairs that begin before they end; `undefined` when the controller returned nothing. */
function shortSlotCount(response: Uint8Array): number | undefined {
  if (response.length < 2) return undefined
  // An odd length begins with a status byte; then come begin and end of each slot in ten-minute steps.
  const pairs = response.length % 2 === 1 ? response.subarray(1) : response
  let count = 0
  for (let at = 0; at + 1 < pairs.length; at += 2) if ((pairs[at] ?? 0) < (pairs[at + 1] ?? 0)) count++
  return count
}

const readRaw = defineMethod({
  ...EXTENDED,
  name: 'read_raw',
  // Any opcode is accepted, also those that write.
  readOnly: false,
  params: z.strictObject({ ...commonMethodParams, payload: createByteListSchema(1, MAX_RAW) }),
  prepare: ({ payload }) => ({
    data: payload,
    effect: 'sensitive',
    // By opcode, so that an owner can limit or forbid "raw 04" without knowing every payload.
    actuator: `b524/raw.${toHex(payload.subarray(0, 1))}`,
    decode: (response) => ({
      request_payload: payload,
      response_payload: response,
      value: response,
    }),
  }),
})

export const EXTENDED_REGISTER_METHODS: readonly DeviceMethod[] = [getExtRegister, setExtRegister, readTimer, readRaw]
