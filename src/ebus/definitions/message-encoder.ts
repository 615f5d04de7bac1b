/**
 * Message encoder: the telegrams that read or write a message, from a text with one value for each field, joined by
 * `;`.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import type { FieldPart } from './field.ts'
import { isIgnoredField, writeField } from './field.ts'
import { FieldCursor } from './field-layout.ts'
import type { MessageDefinition } from './message-definition.ts'

export interface EncodedCommand {
  readonly target: number
  /** The bytes after NN: id and values. */
  readonly data: Uint8Array
}

/**
 * Returns one command, or one for each part of a chained message. `target` is used if the message defines no target.
 */
export function encodeCommands(
  message: MessageDefinition,
  values: string,
  target?: number,
): Result<readonly EncodedCommand[], DefinitionErrorCode> {
  if (message.isPassive) return fail('invalid-argument')
  const zz = target ?? message.zz
  if (zz === undefined) return fail('invalid-address')
  if (message.chain.length === 0) {
    const data = [...message.id]
    const fault = writePart(message, 'm', { values, data, offset: message.id.length })
    return fault === undefined ? ok([{ target: zz, data: Uint8Array.from(data) }]) : fail(fault)
  }
  return encodeChain(message, values, zz)
}

/** The values of a write are split by the lengths that its parts name; a read sends only the ids. */
function encodeChain(
  message: MessageDefinition,
  values: string,
  target: number,
): Result<readonly EncodedCommand[], DefinitionErrorCode> {
  const data: number[] = []
  const fault = writePart(message, 'm', { values, data, offset: 0 })
  if (fault !== undefined) return fail(fault)
  let at = 0
  return ok(
    message.chain.map(({ id, length }, index) => {
      const isLast = index === message.chain.length - 1
      const piece = message.isWrite ? data.slice(at, isLast ? data.length : at + length) : []
      at += length
      return { target, data: Uint8Array.from([...id, ...piece]) }
    }),
  )
}

/** The answer of a device to a read, for simulated devices. */
export function encodeDefinedResponse(
  message: MessageDefinition,
  values: string,
): Result<Uint8Array, DefinitionErrorCode> {
  if (message.isWrite) return fail('invalid-argument')
  const data: number[] = []
  const fault = writePart(message, 's', { values, data, offset: 0 })
  return fault === undefined ? ok(Uint8Array.from(data)) : fail(fault)
}

function writePart(
  { fields }: MessageDefinition,
  part: FieldPart,
  { values, data, offset }: { readonly values: string; readonly data: number[]; readonly offset: number },
): DefinitionErrorCode | undefined {
  // With one field only, the whole text is its value.
  const tokens = fields.length === 1 ? [values] : values.split(';')
  const cursor = new FieldCursor(offset)
  let next = 0
  for (const field of fields) {
    if (field.part !== part) continue
    const token = isIgnoredField(field) ? '' : (tokens[next++] ?? '')
    const used = writeField(field, token, { data, offset: cursor.begin(field) })
    if (typeof used === 'string') return used
    cursor.end(field, used)
  }
  return undefined
}
