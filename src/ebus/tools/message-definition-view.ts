/**
 * Message definition view: a message definition and its values, as tools show them.
 */
import type { Effect } from '../../bus/capability.ts'
import { toHex } from '../../core/bytes.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { sanitizeJson, sanitizeLine } from '../../core/untrusted-text.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { LastMessageData } from '../definitions/message-chain.ts'
import type { DecodedMessage } from '../definitions/message-decoder.ts'
import { decodeMessage, listFieldKeys } from '../definitions/message-decoder.ts'
import { formatMessageTypeName } from '../definitions/definition-export-row.ts'
import type { DefinedField } from '../definitions/field.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import { computeFieldLimits } from '../definitions/number-codec.ts'
import { SECRET_VALUE_PLACEHOLDER, isSecretField } from '../definitions/secret-field.ts'
import type { PreparedMethodCall } from '../methods/device-method.ts'
import { findBuiltInMethod } from '../methods/method-plane.ts'
import type { RegulatorRegister } from '../semantic/register.ts'
import { findRegulatorRegister } from '../semantic/regulator-register-map.ts'
import { classifyAddress } from '../wire/address.ts'

const MAX_TEXT = 200
/** Groups of messages that read a device's memory and EEPROM byte by byte. */
const MEMORY_SERVICE = 0x09

/**
 * What a write is to the guard. A definition's level decides; one without level is a setting of the people in the house
 * only if one device is told and can be asked afterwards. What our own register map knows better stays as it is.
 */
export function classifyMessageWrite(
  definitions: BusDefinitions,
  message: MessageDefinition,
  data: Uint8Array | undefined,
): Effect {
  const { level, zz, pb, circuit, name } = message
  if (level !== '' || zz === undefined || classifyAddress(zz) !== 'target' || pb === MEMORY_SERVICE) return 'sensitive'
  if (definitions.named(circuit, name, 'read') === undefined) return 'sensitive'
  return builtInEffect(message, data) ?? 'writes'
}

/**
 * B524 registers in the built-in map: residents may set those with limits, and installers the others. `undefined` if
 * the map does not have the register.
 */
function builtInEffect(message: MessageDefinition, data: Uint8Array | undefined): Effect | undefined {
  const register = builtInRegister(message, data ?? message.id)
  if (register === undefined) return undefined
  if (register.user === undefined) return 'sensitive'
  // A value that cannot be encoded is refused before anything is sent.
  if (data === undefined) return 'writes'
  return findBuiltInWrite(message, data)?.effect ?? 'sensitive'
}

function builtInRegister({ pb, sb }: MessageDefinition, data: Uint8Array): RegulatorRegister | undefined {
  const [opcode = 0, verb, group = 0, , low = 0, high = 0] = data
  return pb === 0xb5 && sb === 0x24 && verb === 0x01
    ? findRegulatorRegister(opcode, group, high * 256 + low)
    : undefined
}

/** The same write as the built-in map knows it; `undefined` if the map lacks the register. */
export function findBuiltInWrite(message: MessageDefinition, data: Uint8Array): PreparedMethodCall | undefined {
  if (builtInRegister(message, data) === undefined) return undefined
  const [opcode = 0, , group = 0, instance = 0, low = 0, high = 0, ...bytes] = data
  const params = { group, instance, addr: high * 256 + low, opcode, data: toHex(Uint8Array.from(bytes)) }
  const prepared = findBuiltInMethod('system', 'set_ext_register')?.prepare(params)
  return prepared?.ok === true ? prepared.value : undefined
}

/** Values by field, as they are read; secrets are hidden. */
export function toMessageValuesJson(message: MessageDefinition, { fields }: DecodedMessage): JsonObject {
  return Object.fromEntries(
    fields.map(({ key, field, reading }) => [
      key,
      isSecretField(message, field) ? SECRET_VALUE_PLACEHOLDER : cleaned(reading.value),
    ]),
  )
}

function cleaned(value: number | string | null): Json {
  return typeof value === 'string' ? sanitizeLine(value, MAX_TEXT) : value
}

export function toMessageUnitsJson({ fields }: DecodedMessage): JsonObject {
  return Object.fromEntries(
    fields.flatMap(({ key, field }) => {
      const unit = field.attributes['unit']
      return unit === undefined ? [] : [[key, unit]]
    }),
  )
}

/** Names, comments and units are untrusted text, because definition files have many authors. */
export function toMessageDefinitionJson(
  definitions: BusDefinitions,
  message: MessageDefinition,
  nowMs: number,
): JsonObject {
  const comment = message.attributes['comment']
  return sanitizeJson({
    circuit: message.circuit,
    name: message.name,
    type: formatMessageTypeName(message),
    ...(comment === undefined ? {} : { comment }),
    ...(message.level === '' ? {} : { level: message.level }),
    ...(message.zz === undefined ? {} : { address: message.zz }),
    ...(message.isWrite && !message.isPassive ? { effect: classifyMessageWrite(definitions, message, undefined) } : {}),
    fields: fieldsJson(message),
    ...lastJson(message, definitions.last(message), nowMs),
  }) as JsonObject
}

function lastJson(message: MessageDefinition, last: LastMessageData | undefined, nowMs: number): JsonObject {
  if (last === undefined) return {}
  const decoded = decodeMessage(message, last)
  return decoded.ok
    ? {
        values: toMessageValuesJson(message, decoded.value),
        age_seconds: Math.max(0, Math.round((nowMs - last.atMs) / 1_000)),
      }
    : {}
}

function fieldsJson({ fields }: MessageDefinition): readonly JsonObject[] {
  const keys = listFieldKeys(fields)
  return fields.flatMap((field, index) => (isIgnoredField(field) ? [] : [fieldJson(field, keys[index] ?? '')]))
}

function fieldJson(field: DefinedField, key: string): JsonObject {
  const { type, values, attributes, constant } = field
  const { unit, comment } = attributes
  const limits = type.kind === 'number' && values === undefined ? computeFieldLimits(type) : undefined
  return {
    name: key,
    type: type.id,
    ...(unit === undefined ? {} : { unit }),
    ...(comment === undefined || comment === unit ? {} : { comment }),
    ...(constant === undefined ? {} : { constant: constant.text }),
    ...(values === undefined ? {} : { values: [...values.values()] }),
    ...(limits === undefined ? {} : { min: limits.min, max: limits.max }),
  }
}
