/**
 * Message condition: when a message, an include or a load applies.
 *
 *   *[name],circuit,message,comment,field,zz,values     defines one
 *   [name]r,…   [name=3;5-7]r,…   [a][b]r,…            use it, as it is, with other values, and both
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { classifyAddress } from '../wire/address.ts'
import { trimCell } from './csv-lines.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import type { CellsByColumn } from './field-rows.ts'
import { splitSemicolonList } from './field-rows.ts'
import { parseBoundedNumber } from './scan-number.ts'

/** `numbers` are pairs of raw patterns, from and to, both included. */
export type RequiredConditionValues =
  | { readonly kind: 'seen' }
  | { readonly kind: 'numbers'; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'texts'; readonly texts: readonly string[] }

export interface MessageCondition {
  /** The name with the values that a use adds: `[sw>=100]` derives `sw>=100` from `sw`. */
  readonly name: string
  readonly definedAs: string
  readonly circuit: string
  readonly level: string
  /** The message's name; empty for the identification of the device at `target`. */
  readonly message: string
  readonly target: number | undefined
  /** The field's name; empty for any. */
  readonly field: string
  readonly values: RequiredConditionValues
}

export function createCondition(
  name: string,
  row: CellsByColumn,
  defaultTarget: string,
): Result<MessageCondition, DefinitionErrorCode> {
  const [circuit = '', level = ''] = splitLevel(row.get('circuit') ?? '')
  const message = row.get('name') ?? ''
  const zz = row.get('zz') || defaultTarget
  const address = zz === '' ? undefined : parseBoundedNumber(zz, { base: 16, min: 0, max: 0xff })
  if (typeof address === 'string') return fail(address)
  const kind = address === undefined || address === 0xaa ? undefined : classifyAddress(address)
  if (kind === 'reserved' || kind === 'broadcast') return fail('invalid-address')
  if (message === '' && kind !== 'target') return fail('invalid-address')
  const values = parseValues(row.get('pbsb') || (row.get('id') ?? ''))
  if (!values.ok) return values
  const target = kind === undefined ? undefined : address
  return ok({
    name,
    definedAs: name,
    circuit,
    level,
    message,
    target,
    field: row.get('qq') ?? '',
    values: values.value,
  })
}

/** Returns `undefined` when the values are invalid. */
export function narrowCondition(condition: MessageCondition, valuesText: string): MessageCondition | undefined {
  const list = valuesText.startsWith('=') ? valuesText.slice(1) : valuesText
  // A condition that compares texts cannot be narrowed with numbers.
  if (!list.startsWith("'") && condition.values.kind === 'texts') return undefined
  const values = list === '' ? ok<RequiredConditionValues>({ kind: 'numbers', ranges: [] }) : parseValues(list)
  return values.ok ? { ...condition, name: condition.name + valuesText, values: values.value } : undefined
}

function splitLevel(circuit: string): readonly string[] {
  const at = circuit.indexOf('#')
  return at < 0 ? [circuit] : [circuit.slice(0, at), circuit.slice(at + 1)]
}

function parseValues(list: string): Result<RequiredConditionValues, DefinitionErrorCode> {
  if (list === '') return ok({ kind: 'seen' })
  if (list.startsWith("'")) {
    const texts = splitSemicolonList(list).map((text) => (/^'.*'$/s.test(text) ? text.slice(1, -1) : text))
    return ok({ kind: 'texts', texts })
  }
  const ranges: (readonly [number, number])[] = []
  for (const entry of splitSemicolonList(list)) {
    const range = parseRange(trimCell(entry))
    if (typeof range === 'string') return fail(range)
    ranges.push(range)
  }
  return ok({ kind: 'numbers', ranges })
}

const TOP = 0xffff_ffff

function parseRange(text: string): readonly [number, number] | DefinitionErrorCode {
  if (text === '') return 'invalid-argument'
  const sign = text[0]
  if (sign === '<' || sign === '>') {
    if (text.length === 1) return 'invalid-argument'
    const isInclusive = text[1] === '='
    const min = sign === '<' && !isInclusive ? 1 : 0
    const max = sign === '>' && !isInclusive ? TOP - 1 : TOP
    const limit = parseBoundedNumber(text.slice(isInclusive ? 2 : 1), { base: 10, min, max })
    if (typeof limit === 'string') return limit
    if (sign === '<') return [0, isInclusive ? limit : limit - 1]
    return [isInclusive ? limit : limit + 1, TOP]
  }
  const at = text.indexOf('-')
  const from = at > 0 ? parseBoundedNumber(text.slice(0, at), { base: 10, min: 0, max: TOP }) : undefined
  if (typeof from === 'string') return from
  const to = parseBoundedNumber(at > 0 ? text.slice(at + 1) : text, { base: 10, min: 0, max: TOP })
  return typeof to === 'string' ? to : [from ?? to, to]
}

/** Whether the message's last data fulfil the condition. */
export function isConditionMet(
  values: RequiredConditionValues,
  { raw, text }: { readonly raw: number | undefined; readonly text: string | undefined },
): boolean {
  switch (values.kind) {
    case 'seen':
      return true
    case 'numbers':
      return raw !== undefined && values.ranges.some(([from, to]) => raw >= from && raw <= to)
    case 'texts':
      return text !== undefined && values.texts.includes(text)
  }
}
