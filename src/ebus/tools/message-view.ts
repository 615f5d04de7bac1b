/**
 * Message view: a message definition and what it said, as tools show it.
 *
 * Pure.
 */
import type { Effect } from '../../bus/capability.ts'
import { hex } from '../../core/bytes.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { BusDefinitions, LastData } from '../definitions/bus-definitions.ts'
import type { DecodedMessage } from '../definitions/decode.ts'
import { decodeMessage, fieldKeys } from '../definitions/decode.ts'
import { messageTypeName } from '../definitions/definition-row.ts'
import type { DefinedField } from '../definitions/field.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import { isReplacement, printRaw } from '../definitions/number-codec.ts'
import { findMethod } from '../registry/plane.ts'
import { findRegister } from '../semantic/register-map.ts'
import { addressKind } from '../wire/address.ts'

/** Access codes and phone numbers are nobody's business, whatever a definition says about their level. */
const SECRET = /(?:phone|tel_?n(?:o|um)|key_?code|pass(?:word|code)|install(?:er)?_?(?:code|menu)|^pin$|_pin$)/i
const HIDDEN = '(hidden)'
/** Memory and EEPROM of a device, byte by byte. */
const MEMORY_SERVICE = 0x09

/**
 * What a write is to the guard. A definition's level decides; one without level is a setting of the people in the house
 * only if one device is told and can be asked afterwards. What our own register map knows better stays as it is.
 */
export function writeEffect(
  definitions: BusDefinitions,
  message: MessageDefinition,
  data: Uint8Array | undefined,
): Effect {
  const { level, zz, pb, circuit, name } = message
  if (level !== '' || zz === undefined || addressKind(zz) !== 'target' || pb === MEMORY_SERVICE) return 'sensitive'
  if (definitions.named(circuit, name, 'read') === undefined) return 'sensitive'
  return builtInEffect(message, data) ?? 'writes'
}

/**
 * B524 registers that the built-in map names: the residents' within their limits, the installer's otherwise. `undefined`
 * where the map has nothing to say.
 */
function builtInEffect({ pb, sb, id }: MessageDefinition, data: Uint8Array | undefined): Effect | undefined {
  const [opcode = 0, verb, group = 0, instance = 0, low = 0, high = 0, ...bytes] = data ?? id
  if (pb !== 0xb5 || sb !== 0x24 || verb !== 0x01) return undefined
  const addr = high * 256 + low
  const register = findRegister(opcode, group, addr)
  if (register === undefined) return undefined
  if (register.user === undefined) return 'sensitive'
  // A value that cannot be encoded is refused before anything is sent.
  if (data === undefined) return 'writes'
  const params = { group, instance, addr, opcode, data: hex(Uint8Array.from(bytes)) }
  const prepared = findMethod('system', 'set_ext_register')?.prepare(params)
  return prepared?.ok === true ? prepared.value.effect : 'sensitive'
}

export function isSecretField({ name }: MessageDefinition, field: Pick<DefinedField, 'name'>): boolean {
  return SECRET.test(name) || SECRET.test(field.name)
}

/** Values by field, as they are read; secrets hidden. */
export function valuesJson(message: MessageDefinition, { fields }: DecodedMessage): JsonObject {
  return Object.fromEntries(
    fields.map(({ key, field, reading }) => [key, isSecretField(message, field) ? HIDDEN : cleaned(reading.value)]),
  )
}

/** A text of a device has no control characters on its way to a model. */
function cleaned(value: number | string | null): Json {
  return typeof value === 'string' ? value.replaceAll(/\p{Cc}/gu, '') : value
}

export function unitsJson({ fields }: DecodedMessage): JsonObject {
  return Object.fromEntries(
    fields.flatMap(({ key, field }) => {
      const unit = field.attributes['unit']
      return unit === undefined ? [] : [[key, unit]]
    }),
  )
}

export function messageJson(definitions: BusDefinitions, message: MessageDefinition, nowMs: number): JsonObject {
  const comment = message.attributes['comment']
  return {
    circuit: message.circuit,
    name: message.name,
    type: messageTypeName(message),
    ...(comment === undefined ? {} : { comment }),
    ...(message.level === '' ? {} : { level: message.level }),
    ...(message.zz === undefined ? {} : { address: message.zz }),
    ...(message.isWrite && !message.isPassive ? { effect: writeEffect(definitions, message, undefined) } : {}),
    fields: fieldsJson(message),
    ...lastJson(message, definitions.last(message), nowMs),
  }
}

function lastJson(message: MessageDefinition, last: LastData | undefined, nowMs: number): JsonObject {
  if (last === undefined) return {}
  const decoded = decodeMessage(message, last)
  return decoded.ok
    ? { values: valuesJson(message, decoded.value), age_seconds: Math.max(0, Math.round((nowMs - last.atMs) / 1_000)) }
    : {}
}

function fieldsJson({ fields }: MessageDefinition): readonly JsonObject[] {
  const keys = fieldKeys(fields)
  return fields.flatMap((field, index) => (isIgnoredField(field) ? [] : [fieldJson(field, keys[index] ?? '')]))
}

function fieldJson(field: DefinedField, key: string): JsonObject {
  const { type, values, attributes, constant } = field
  const { unit, comment } = attributes
  const limit = (raw: number): Json =>
    type.kind !== 'number' || isReplacement(type, raw) ? null : Number(printRaw(type, raw))
  return {
    name: key,
    type: type.id,
    ...(unit === undefined ? {} : { unit }),
    ...(comment === undefined || comment === unit ? {} : { comment }),
    ...(constant === undefined ? {} : { constant: constant.text }),
    ...(values === undefined ? {} : { values: [...values.values()] }),
    ...(type.kind === 'number' && values === undefined && type.coding !== 'float' && !type.isTemParameter
      ? { min: limit(type.min), max: limit(type.max) }
      : {}),
  }
}
