/**
 * Decoded telegram: a telegram with the values that its definition finds in it.
 */
import type { TelegramExchange } from '../wire/telegram.ts'
import { classifyTelegramForm } from '../wire/telegram.ts'
import { decodeMessage } from './message-decoder.ts'
import type { MessageDefinition } from './message-definition.ts'
import { SECRET_VALUE_PLACEHOLDER, isSecretField } from './secret-field.ts'

export interface DecodedField {
  readonly name: string
  /** The value; `undefined` if the device sent that it has none. */
  readonly value: number | boolean | string | undefined
  readonly unit?: string | undefined
}

export interface DecodedTelegram {
  readonly name: string
  readonly act: 'read' | 'write' | 'broadcast'
  /** The number of the zone, circuit or slot, from 0. */
  readonly instance?: number
  readonly fields: readonly DecodedField[]
  /** Its bytes contain a code or a telephone number, which its fields do not show. */
  readonly secret?: true
}

/** Returns `undefined` when the definition cannot decode it. */
export function decodeDefinedTelegram(
  message: MessageDefinition,
  { telegram, response }: TelegramExchange,
): DecodedTelegram | undefined {
  const isSecret = message.fields.some((field) => isSecretField(message, field))
  const name = `${message.circuit}.${message.name}`
  const hasNoAnswer = classifyTelegramForm(telegram.target) === 'broadcast'
  const act = hasNoAnswer ? 'broadcast' : message.isWrite ? 'write' : 'read'
  // Bytes that the definition cannot decode may contain the secret as well.
  const unread: DecodedTelegram | undefined = isSecret ? { name, act, fields: [], secret: true } : undefined
  if (message.chain.length > 0) return unread
  const decoded = decodeMessage(message, { command: telegram.data, response: response ?? new Uint8Array() })
  if (!decoded.ok) return unread
  return {
    ...(isSecret ? { secret: true } : {}),
    name,
    act,
    fields: decoded.value.fields.map(({ key, field, reading }) => ({
      name: key,
      value: isSecretField(message, field) ? SECRET_VALUE_PLACEHOLDER : (reading.value ?? undefined),
      unit: field.attributes['unit'],
    })),
  }
}
