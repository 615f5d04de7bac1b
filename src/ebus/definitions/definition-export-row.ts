/**
 * Definition export row: a message definition as one JSON row, field by field, for comparing what was read from a file.
 */
import { toHex } from '../../core/bytes.ts'
import type { MessageCondition } from './message-condition.ts'
import type { NumberType } from './field-data-type.ts'
import { REMAINDER_LENGTH } from './field-data-type.ts'
import type { DefinedField } from './field.ts'
import { isIgnoredField } from './field.ts'
import type { MessageDefinition } from './message-definition.ts'
import { isReplacementValue, formatRawNumber } from './number-codec.ts'

export type MessageTypeName = 'r' | 'w' | 'u' | 'uw'

export function formatMessageTypeName({ isPassive, isWrite }: MessageDefinition): MessageTypeName {
  if (isPassive) return isWrite ? 'uw' : 'u'
  return isWrite ? 'w' : 'r'
}

/** `nth` counts definitions of the same source, circuit, name and type. */
export function toDefinitionExportRow(message: MessageDefinition, file: string, nth: number): Record<string, unknown> {
  const { conditions, chain } = message
  const [only] = conditions
  return {
    file,
    source: message.source,
    circuit: message.circuit,
    name: message.name,
    level: message.level,
    type: formatMessageTypeName(message),
    nth,
    write: message.isWrite,
    passive: message.isPassive,
    poll: message.pollPriority,
    qq: message.qq === undefined ? null : byteText(message.qq),
    zz: message.zz === undefined ? null : byteText(message.zz),
    pbsb: byteText(message.pb) + byteText(message.sb),
    id: toHex(message.id),
    ...(chain.length === 0 ? {} : { chain: chain.map(({ id, length }) => ({ id: toHex(id), length })) }),
    ...(only === undefined
      ? {}
      : {
          condition: conditions.map(({ name }) => `[${name}]`).join(''),
          condition_json: conditions.length === 1 ? conditionRow(only) : conditions.map(conditionRow),
        }),
    attributes: message.attributes,
    fields: message.fields.map(fieldRow),
  }
}

function byteText(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

function conditionRow({
  definedAs,
  circuit,
  message,
  target,
  field,
  values,
}: MessageCondition): Record<string, unknown> {
  return {
    name: definedAs,
    ...(circuit === '' ? {} : { circuit }),
    message: message === '' ? 'scan' : message,
    ...(target === undefined ? {} : { zz: target }),
    ...(field === '' ? {} : { field }),
    ...(values.kind === 'numbers' ? { value: values.ranges.flat() } : {}),
    ...(values.kind === 'texts' ? { value: values.texts } : {}),
  }
}

function fieldRow(field: DefinedField): Record<string, unknown> {
  const { type, values, constant } = field
  return {
    name: field.name,
    part: field.part,
    type: type.id,
    ignored: isIgnoredField(field),
    ...(type.bits < 8 ? { bits: type.bits, ...(type.kind === 'number' ? { firstbit: type.firstBit } : {}) } : {}),
    length: field.length === REMAINDER_LENGTH && type.kind === 'text' ? '*' : field.length,
    ...(type.kind === 'number' ? numberRow(type) : {}),
    ...(values === undefined ? {} : { values: Object.fromEntries(values) }),
    ...(constant === undefined ? {} : { constant: constant.text, verify: constant.isVerified }),
    ...field.attributes,
  }
}

const FLOAT_ONE = 0x3f80_0000

function numberRow(type: NumberType): Record<string, unknown> {
  const one = type.coding === 'float' ? FLOAT_ONE : 1
  return {
    divisor: type.divisor,
    base_divisor: type.baseDivisor,
    min: limit(type, type.min),
    max: limit(type, type.max),
    step: limit(type, type.step === 0 ? one : type.step),
  }
}

function limit(type: NumberType, raw: number): number | string | null {
  if (isReplacementValue(type, raw)) return null
  const printed = formatRawNumber(type, raw)
  return type.isPadded && type.divisor === 1 ? printed : Number(printed)
}

/** Gives every message its number among those of the same name. */
export function* assignMessageNumbers(
  messages: Iterable<MessageDefinition>,
): Generator<{ readonly message: MessageDefinition; readonly key: string; readonly nth: number }> {
  const counts = new Map<string, number>()
  for (const message of messages) {
    const key = `${message.source}\n${message.circuit}\n${message.name}\n${formatMessageTypeName(message)}`
    const nth = counts.get(key) ?? 0
    counts.set(key, nth + 1)
    yield { message, key, nth }
  }
}
