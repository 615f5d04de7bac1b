/**
 * Extended methods: B524 of a Vaillant regulator, by register, by timer, and as it is.
 */
import { z } from 'zod'
import type { Effect, ArgumentIssue } from '../../bus/capability.ts'
import { areBytesEqual, toHex } from '../../core/bytes.ts'
import { decodeRegisterValue, encodeNumber, isWrittenValueReadBack, decodeWrittenNumber } from '../semantic/register.ts'
import { findRegister } from '../semantic/register-map.ts'
import { findRegisterName } from '../semantic/register-name.ts'
import type { DeviceMethod, MethodValues, EncodedMethodCall } from './device-method.ts'
import {
  CONFIG_VALUE_MAX_AGE_MS,
  INVALID_METHOD_VALUE,
  byteSchema,
  createByteListSchema,
  createBytesMethodValue,
  commonMethodParams,
  defineMethod,
  createMissingParamIssue,
  createNumberMethodValue,
  registerNumberSchema,
  createValidMethodValue,
} from './device-method.ts'

/**
 *   op 00 GG II lo hi          read       answer: kind, group, register lo hi, value …
 *   op 01 GG II lo hi value    write      op 02: regulator, op 06: what is paired with it
 *
 * The header of an answer is these four bytes; a shorter one holds no value.
 */
const EXTENDED_HEADER = 4
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

/** Names as the older gateway gives them; `decoded` is ours, where the register is known. */
function extendedResult(
  { group, instance, addr, opcode, op }: Extended,
  write: boolean,
  response: Uint8Array,
): MethodValues {
  const code = opcode ?? op ?? 2
  const known = findRegister(code, group, addr)
  const bytes = response.subarray(Math.min(EXTENDED_HEADER, response.length))
  const answered = response.length >= EXTENDED_HEADER
  const decoded = known === undefined || bytes.length === 0 ? undefined : decodeRegisterValue(known.type, bytes)
  const replyAddr = answered ? (response[2] ?? 0) + 256 * (response[3] ?? 0) : undefined
  return {
    optype: createValidMethodValue(write ? 1 : 0),
    opcode: createValidMethodValue(code),
    group: createValidMethodValue(group),
    instance: createValidMethodValue(instance),
    addr: createValidMethodValue(addr),
    addr_hex: createValidMethodValue(addr.toString(16).padStart(4, '0')),
    payload: createBytesMethodValue(response),
    prefix: answered ? createBytesMethodValue(response.subarray(0, EXTENDED_HEADER)) : INVALID_METHOD_VALUE,
    reply_kind: createNumberMethodValue(answered ? response[0] : undefined),
    reply_group: createNumberMethodValue(answered ? response[1] : undefined),
    reply_addr: createNumberMethodValue(replyAddr),
    reply_addr_hex:
      replyAddr === undefined ? INVALID_METHOD_VALUE : createValidMethodValue(replyAddr.toString(16).padStart(4, '0')),
    value: createBytesMethodValue(bytes),
    ...(known === undefined
      ? {}
      : { decoded: decoded === undefined ? INVALID_METHOD_VALUE : createValidMethodValue(decoded) }),
    ...(known?.user === undefined
      ? {}
      : {
          constraint_min: createValidMethodValue(known.user[0]),
          constraint_max: createValidMethodValue(known.user[1]),
        }),
  }
}

function extendedData({ group, instance, addr, opcode, op }: Extended, verb: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.of(opcode ?? op ?? 2, verb, group, instance, addr & 0xff, addr >> 8, ...bytes)
}

/** One register of one instance: limits and approvals are about this, not about the device. */
function extendedActuator({ group, instance, addr, opcode, op }: Extended): string {
  const place = [opcode ?? op ?? 2, group, instance].map((part) => part.toString(16).padStart(2, '0'))
  return `b524/${place.join('.')}.${addr.toString(16).padStart(4, '0')}`
}

const getExtRegister = defineMethod({
  plane: 'system',
  name: 'get_ext_register',
  secondary: 0x24,
  readOnly: true,
  params: extended,
  prepare: (params): EncodedMethodCall => ({
    data: extendedData(params, 0x00, new Uint8Array()),
    effect: 'reads',
    actuator: extendedActuator(params),
    decode: (response) => extendedResult(params, false, response),
  }),
})

const setExtRegister = defineMethod({
  plane: 'system',
  name: 'set_ext_register',
  secondary: 0x24,
  readOnly: false,
  params: z.strictObject({
    ...extended.shape,
    // 255 bytes fit into a telegram; six of them say where.
    data: createByteListSchema(1, 249).optional().describe('What to write, as bytes.'),
    payload: createByteListSchema(1, 249).optional().describe('The older name of data.'),
    value: z.number().optional().describe('Instead of data: the number itself, where the register is known.'),
  }),
  prepare: ({ data, payload, value, ...params }): EncodedMethodCall | readonly ArgumentIssue[] => {
    const given = data ?? payload
    // Two answers to one question: neither is guessed to be the one that is meant.
    if (value !== undefined && given !== undefined) return [valueIssue('not together with data')]
    const bytes = value === undefined ? given : valueBytes(params, value)
    if (bytes === undefined) return [createMissingParamIssue('data', 'value')]
    if (!(bytes instanceof Uint8Array)) return [bytes]
    const judged = judgeWrite(params, bytes)
    if (typeof judged !== 'string') return [{ ...judged, path: ['params', value === undefined ? 'data' : 'value'] }]
    return {
      data: extendedData(params, 0x01, bytes),
      effect: judged,
      actuator: extendedActuator(params),
      decode: (response) => extendedResult(params, true, response),
      confirm: {
        data: extendedData(params, 0x00, new Uint8Array()),
        // The value without its header: byte for byte what was sent, unless it runs down by itself.
        holds: (response) => isKept(params, bytes, response.subarray(EXTENDED_HEADER)),
        decode: (response) => extendedResult(params, false, response),
      },
    }
  },
})

function isKept({ group, addr, opcode, op }: Extended, written: Uint8Array, found: Uint8Array): boolean {
  const register = findRegister(opcode ?? op ?? 2, group, addr)
  return register === undefined ? areBytesEqual(found, written) : isWrittenValueReadBack(register, written, found)
}

function valueBytes({ group, addr, opcode, op }: Extended, value: number): Uint8Array | ArgumentIssue {
  const known = findRegisterName(opcode ?? op ?? 2, group, addr)
  if (known === undefined) return valueIssue('nobody knows how this register writes numbers; give data')
  return encodeNumber(known.type, value) ?? valueIssue(`${known.name} does not take ${value}, as ${known.type}`)
}

function valueIssue(message: string): ArgumentIssue {
  return { path: ['params', 'value'], message, code: 'custom' }
}

/** What a resident may set is a write, within its limits; everything else, known or not, is an installer's business. */
function judgeWrite({ group, addr, opcode, op }: Extended, bytes: Uint8Array): Effect | Omit<ArgumentIssue, 'path'> {
  const register = findRegister(opcode ?? op ?? 2, group, addr)
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
  plane: 'system',
  name: 'read_timer',
  secondary: 0x24,
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
      opcode: createValidMethodValue(0x03),
      sel1: createValidMethodValue(sel1),
      sel2: createValidMethodValue(sel2),
      sel3: createValidMethodValue(sel3),
      weekday: createValidMethodValue(weekday),
      payload: createBytesMethodValue(response),
      value: createBytesMethodValue(response),
      slot_count: createNumberMethodValue(shortSlotCount(response)),
    }),
  }),
})

/** Pairs that begin before they end; `undefined` when the controller said nothing. */
function shortSlotCount(response: Uint8Array): number | undefined {
  if (response.length < 2) return undefined
  // An odd length begins with a status byte; then come begin and end of each slot in ten-minute steps.
  const pairs = response.length % 2 === 1 ? response.subarray(1) : response
  let count = 0
  for (let at = 0; at + 1 < pairs.length; at += 2) if ((pairs[at] ?? 0) < (pairs[at + 1] ?? 0)) count++
  return count
}

const readRaw = defineMethod({
  plane: 'system',
  name: 'read_raw',
  secondary: 0x24,
  // Any opcode at all, those that write among them.
  readOnly: false,
  params: z.strictObject({ ...commonMethodParams, payload: createByteListSchema(1, MAX_RAW) }),
  prepare: ({ payload }) => ({
    data: payload,
    effect: 'sensitive',
    // By opcode: an owner can limit or forbid "raw 04" without knowing every payload.
    actuator: `b524/raw.${toHex(payload.subarray(0, 1))}`,
    decode: (response) => ({
      request_payload: createBytesMethodValue(payload),
      response_payload: createBytesMethodValue(response),
      value: createBytesMethodValue(response),
    }),
  }),
})

export const EXTENDED_REGISTER_METHODS: readonly DeviceMethod[] = [getExtRegister, setExtRegister, readTimer, readRaw]
