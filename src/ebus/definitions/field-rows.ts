/**
 * Field rows: fields from the cells of a message or template line.
 *
 *   name, part, type[:length] | template[:name] [; …], divisor or values, range, unit, comment
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { trimCell } from './csv-lines.ts'
import type { FieldDataType } from './field-data-type.ts'
import { REMAINDER_LENGTH, findDataType, isLengthAdjustable } from './field-data-type.ts'
import type { DefinitionErrorCode, DefinitionLineFault } from './definition-error.ts'
import type { FieldAttributes, DefinedField, FieldPart } from './field.ts'
import { checkNumberRange } from './number-codec.ts'
import { MAX_NUMBER_DIVISOR, deriveLimitedNumberType, deriveScaledNumberType } from './number-scale.ts'
import { isIdentifier } from './identifier.ts'
import { parseBoundedNumber, scanDecimal, scanListKey, splitAtFirst } from './scan-number.ts'

/** Cells by column name. */
export type CellsByColumn = Map<string, string>

export interface FieldRowContext {
  /** Templates have no part yet. */
  readonly isTemplate: boolean
  readonly isWrite: boolean
  /** There is no answer, so every field is in the initiator's part. */
  readonly hasNoAnswer: boolean
  readonly maxLength: number
  readonly templates: ReadonlyMap<string, readonly DefinedField[]>
}

type FieldsResult = Result<DefinedField[], DefinitionLineFault>

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
const MAX_KEY = 0xffff_ffff

export function createFields(rows: readonly CellsByColumn[], context: FieldRowContext): FieldsResult {
  const fields: DefinedField[] = []
  for (const [index, row] of rows.entries()) {
    const fault = addRowFields(new Map(row), { ...context, index, fields })
    if (fault !== undefined) return fail(fault)
  }
  return ok(fields)
}

interface RowContext extends FieldRowContext {
  readonly index: number
  readonly fields: DefinedField[]
}

/** The cells of one row that apply to its types. */
interface RowScale {
  divisor: number
  values: ReadonlyMap<number, string>
  readonly constant: DefinedField['constant']
  readonly range: string
}

function addRowFields(row: CellsByColumn, context: RowContext): DefinitionLineFault | undefined {
  const at = ` in field ${context.index}`
  const name = takeColumnValue(row, 'name')
  const partText = takeColumnValue(row, 'part').toLowerCase()
  const part = fieldPart(partText, context)
  if (part === 'invalid') return { code: 'invalid-argument', detail: `part ${partText}${at}` }
  const types = takeColumnValue(row, 'type')
  if (types === '') return { code: 'missing-argument', detail: `field type${at}` }
  const scale = readScale(row)
  if (!scale.ok) return { code: scale.fault.code, detail: `${scale.fault.detail}${at}` }

  const tokens = splitSemicolonList(types)
  for (const [position, untrimmed] of tokens.entries()) {
    const token = trimCell(untrimmed)
    const isFirst = position === 0
    const isLast = position === tokens.length - 1
    const template = findTemplate(token, context.templates)
    const fault =
      template === undefined
        ? addBaseField(token, { ...context, row, part, name: isFirst ? name : '' }, scale.value)
        : addTemplateFields(
            template,
            {
              ...context,
              // Only the last template of a list may use the row's own cells.
              row: isLast ? row : new Map(row),
              part,
              name: newName(token) ?? (isFirst && isLast ? name : ''),
            },
            scale.value,
          )
    if (fault !== undefined) return fault
    if (isFirst && !isLast) {
      row.delete('comment')
      row.delete('unit')
    }
  }
  return undefined
}

function fieldPart(text: string, context: FieldRowContext): FieldPart | undefined | 'invalid' {
  if (context.isTemplate) return undefined
  if (context.hasNoAnswer) return 'm'
  if (text === '') return context.isWrite ? 'm' : 's'
  return text === 'm' || text === 's' ? text : 'invalid'
}

function readScale(row: CellsByColumn): Result<RowScale, DefinitionLineFault> {
  let divisorText = takeColumnValue(row, 'divisor')
  let valuesText = takeColumnValue(row, 'values')
  const range = takeColumnValue(row, 'range')
  if (divisorText === '' && valuesText === '') {
    divisorText = takeColumnValue(row, 'divisor/values')
    if (divisorText.includes('=')) [divisorText, valuesText] = ['', divisorText]
  }
  const divisor = divisorText === '' ? 0 : parseDivisor(divisorText)
  const values = new Map<number, string>()
  if (valuesText.startsWith('=') && valuesText.length > 1) {
    if (typeof divisor === 'string') return fail({ code: divisor, detail: `divisor ${divisorText}` })
    const isVerified = valuesText.startsWith('==')
    const text = valuesText.slice(isVerified ? 2 : 1)
    return ok({ divisor, values, range, constant: text === '' ? undefined : { text, isVerified } })
  }
  if (valuesText !== '') {
    if (!valuesText.includes('=')) return fail({ code: 'invalid-list', detail: `values ${valuesText}` })
    for (const entry of splitSemicolonList(valuesText)) {
      const token = trimCell(entry)
      const { value, end } = scanListKey(token)
      const text = token.slice(end).replace(/^ +/, '')
      if (end === 0 || value < 0 || value > MAX_KEY || !text.startsWith('='))
        return fail({ code: 'invalid-list', detail: `value ${token}` })
      values.set(value, trimCell(text.slice(1)))
    }
  }
  if (typeof divisor === 'string') return fail({ code: divisor, detail: `divisor ${divisorText}` })
  return ok({ divisor, values, range, constant: undefined })
}

function parseDivisor(text: string): number | DefinitionErrorCode {
  const { value, end } = scanDecimal(text)
  if (end === 0 || end !== text.length) return 'invalid-number'
  return Math.abs(value) > MAX_NUMBER_DIVISOR ? 'out-of-range' : value
}

interface FieldTarget extends RowContext {
  readonly row: CellsByColumn
  readonly part: FieldPart | undefined
  readonly name: string
}

function addBaseField(token: string, target: FieldTarget, scale: RowScale): DefinitionLineFault | undefined {
  const at = ` in field ${target.index}`
  const [typeText, lengthText] = splitAtFirst(token, ':')
  const length = lengthText === undefined ? 0 : parseLength(lengthText, target.maxLength)
  if (typeof length === 'string') return { code: length, detail: `field type ${token}${at}` }
  const typeName = typeText.toUpperCase()
  let type = findDataType(typeName, length === REMAINDER_LENGTH ? 0 : length)
  if (type?.kind === 'number' && scale.range !== '') {
    const scaled =
      scale.divisor === 0 || scale.divisor === 1 ? ok(type) : deriveScaledNumberType(type, scale.divisor, type.bits)
    if (scale.divisor !== 0) scale.divisor = 1
    const limited = scaled.ok ? deriveLimitedNumberType(scaled.value, scale.range) : scaled
    if (!limited.ok) return { code: 'out-of-range', detail: `"${scale.range}"${at}` }
    type = limited.value
  }
  if (type === undefined) return { code: 'not-found', detail: `field type ${typeName}${at}` }
  if (target.name !== '' && !isIdentifier(target.name))
    return { code: 'invalid-argument', detail: `field name ${target.name}` }
  const field = baseField(type, length, target, scale)
  if (!field.ok) return { code: field.fault, detail: `create field${at}` }
  target.fields.push(field.value)
  return undefined
}

function parseLength(text: string, max: number): number | 'invalid-number' | 'out-of-range' {
  return text === '*' ? REMAINDER_LENGTH : parseBoundedNumber(text, { base: 10, min: 1, max })
}

function baseField(
  type: FieldDataType,
  length: number,
  target: FieldTarget,
  scale: RowScale,
): Result<DefinedField, DefinitionErrorCode> {
  const { divisor, constant } = scale
  let bits = type.bits
  let bytes = Math.ceil(bits / 8)
  if (isLengthAdjustable(type)) {
    if (bits % 8 !== 0) {
      if (length > bits) return fail('out-of-range')
      bits = length === 0 ? 1 : length
      bytes = 1
    } else {
      if (length > bytes && length !== REMAINDER_LENGTH) return fail('out-of-range')
      bytes = length === 0 ? 1 : length
    }
  }
  const field = { name: target.name, part: target.part, length: bytes, attributes: collectAttributes(target.row) }
  if (constant !== undefined) return ok({ ...field, type, constant, values: undefined })
  if (type.kind !== 'number')
    return divisor !== 0 || scale.values.size > 0
      ? fail('invalid-argument')
      : ok({ ...field, type, constant: undefined, values: undefined })
  // In ebusd, the names of weekdays also apply to the following types in the same cell.
  if (scale.values.size === 0 && type.isWeekday)
    scale.values = new Map(WEEKDAYS.map((day, index) => [type.min + index, day]))
  const listed = scale.values
  const scaled = deriveScaledNumberType(type, divisor, bits)
  if (!scaled.ok) return scaled
  for (const key of listed.keys()) {
    const fault = checkNumberRange(scaled.value, key)
    if (fault !== undefined) return fail(fault)
  }
  return ok({ ...field, type: scaled.value, constant: undefined, values: listed.size > 0 ? listed : undefined })
}

function addTemplateFields(
  template: readonly DefinedField[],
  target: FieldTarget,
  scale: RowScale,
): DefinitionLineFault | undefined {
  const at = ` in field ${target.index}`
  const { name, row } = target
  if (scale.constant !== undefined)
    return { code: 'invalid-argument', detail: `constant value ${scale.constant.text}${at}` }
  if (name !== '' && !isIdentifier(name)) return { code: 'invalid-argument', detail: `field name ${name}` }
  const isSet = template.length !== 1
  const refusal: DefinitionLineFault = { code: 'invalid-argument', detail: `derive field ${name}${at}` }
  if (isSet && scale.values.size > 0) return refusal
  for (const member of template) {
    for (const [key, value] of Object.entries(member.attributes)) if (!row.get(key)) row.set(key, value)
    const derived = deriveField(member, { name: isSet ? '' : name, part: target.part, row }, scale)
    if (!derived.ok) return { ...refusal, code: derived.fault }
    target.fields.push(derived.value)
    if (isSet) {
      row.delete('comment')
      row.delete('unit')
    }
  }
  return undefined
}

function deriveField(
  template: DefinedField,
  target: Pick<FieldTarget, 'name' | 'part' | 'row'>,
  { divisor, values }: RowScale,
): Result<DefinedField, DefinitionErrorCode> {
  const field: DefinedField = {
    ...template,
    name: target.name === '' ? template.name : target.name,
    part: target.part,
    attributes: collectAttributes(target.row),
  }
  const { type } = template
  if (template.constant !== undefined || type.kind !== 'number')
    return divisor !== 0 || values.size > 0 ? fail('invalid-argument') : ok(field)
  if (template.values !== undefined) {
    if (divisor !== 0 && divisor !== 1) return fail('invalid-argument')
    if ([...values.keys()].some((key) => checkNumberRange(type, key) !== undefined)) return fail('invalid-argument')
    return ok(values.size > 0 ? { ...field, values } : field)
  }
  const scaled = deriveScaledNumberType(type, divisor, 0)
  return scaled.ok ? ok({ ...field, type: scaled.value, values: values.size > 0 ? values : undefined }) : scaled
}

function findTemplate(
  token: string,
  templates: ReadonlyMap<string, readonly DefinedField[]>,
): readonly DefinedField[] | undefined {
  const exact = templates.get(token)
  if (exact !== undefined) return exact
  const [name, replaced] = splitAtFirst(token, ':')
  return replaced === undefined ? undefined : templates.get(name)
}

function newName(token: string): string | undefined {
  return splitAtFirst(token, ':')[1]
}

const NO_ATTRIBUTES: FieldAttributes = {}

/** The cells that are filled. */
export function collectAttributes(row: CellsByColumn): FieldAttributes {
  let attributes: Record<string, string> | undefined
  for (const [key, value] of row) if (value !== '') (attributes ??= {})[key] = value
  return attributes ?? NO_ATTRIBUTES
}

export function takeColumnValue(row: CellsByColumn, column: string): string {
  const value = row.get(column) ?? ''
  row.delete(column)
  return value
}

/** Splits as ebusd reads a stream up to each `;`: nothing follows a last one. */
export function splitSemicolonList(text: string): readonly string[] {
  const parts = text.split(';')
  if (parts.at(-1) === '') parts.pop()
  return parts
}
