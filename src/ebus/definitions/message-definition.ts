/**
 * Message definition: one message as a definition file describes it: its target, its bytes, and the meaning of the
 * fields in request and answer.
 *
 *   type,circuit,level,name,comment,qq,zz,pbsb,id,fields…
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { classifyAddress, isInitiatorAddress } from '../wire/address.ts'
import type { MessageCondition } from './message-condition.ts'
import { trimCell } from './csv-lines.ts'
import { MAX_DEFINED_DATA_BYTES } from './field-data-type.ts'
import type { DefinitionErrorCode, DefinitionLineFault } from './definition-error.ts'
import type { FieldAttributes, DefinedField, FieldPart } from './field.ts'
import type { CellsByColumn } from './field-rows.ts'
import { createFields, splitSemicolonList, collectAttributes, takeColumnValue } from './field-rows.ts'
import { computeFieldsLength } from './field-layout.ts'
import { isCircuitName, isIdentifier } from './identifier.ts'
import { parseBoundedNumber } from './scan-number.ts'
import type { FieldTemplates } from './field-templates.ts'

export interface ChainedMessagePart {
  readonly id: Uint8Array
  /** Bytes of data that belong to this part of a write. */
  readonly length: number
}

export interface MessageDefinition {
  /** The file that contains the line, which may be an included one. */
  readonly source: string
  readonly line: number
  readonly circuit: string
  readonly name: string
  /** The access level; empty if everybody may use it. */
  readonly level: string
  readonly isWrite: boolean
  /** Only listened for, never sent by us. */
  readonly isPassive: boolean
  /** 1 is read most often, 9 least often; 0 never. Raised when a condition turns out to depend on the message. */
  pollPriority: number
  readonly qq: number | undefined
  readonly zz: number | undefined
  readonly pb: number
  readonly sb: number
  /** For a chain: the common beginning of its parts' ids. */
  readonly id: Uint8Array
  readonly chain: readonly ChainedMessagePart[]
  /** All of them must hold. */
  readonly conditions: readonly MessageCondition[]
  readonly attributes: FieldAttributes
  readonly fields: readonly DefinedField[]
}

/** What a default line such as `*r` sets for the rows of its type. */
export interface MessageRowDefaults {
  readonly cells: ReadonlyMap<string, string>
  readonly groups: readonly CellsByColumn[]
}

export interface MessageRowContext {
  readonly source: string
  readonly line: number
  readonly conditions: readonly MessageCondition[]
  readonly templates: FieldTemplates
  readonly defaults: ReadonlyMap<string, MessageRowDefaults>
}

interface MessageType {
  readonly isWrite: boolean
  readonly isPassive: boolean
  readonly pollPriority: number
  /** Which default line applies. */
  readonly defaultName: string
}

const DEFAULT_CHAIN_LENGTH = 16

/** One message for each address of the line. */
export function createMessageDefinitions(
  typeText: string,
  { main, groups }: { readonly main: CellsByColumn; readonly groups: readonly CellsByColumn[] },
  context: MessageRowContext,
): Result<MessageDefinition[], DefinitionLineFault> {
  if (typeText === '') return fail({ code: 'end-of-input', detail: 'empty type' })
  const type = parseType(typeText)
  const defaults = context.defaults.get(type.defaultName)
  const row = new Map(main)
  const names = takeNames(row, defaults?.cells)
  if (!names.ok) return names
  const addresses = takeAddresses(row, defaults?.cells)
  if (!addresses.ok) return addresses
  const ids = takeIds(row, defaults?.cells, type)
  if (!ids.ok) return ids
  const { pb, sb, id, chain, maxLength } = ids.value
  const hasNoAnswer = addresses.value.targets.some((zz) => zz !== undefined && classifyAddress(zz) !== 'target')
  const fields = createFields([...(defaults?.groups ?? []), ...groups], {
    isTemplate: false,
    isWrite: type.isWrite,
    hasNoAnswer,
    maxLength,
    templates: context.templates,
  })
  if (!fields.ok) return fields
  const limit = (part: FieldPart, max: number): number => computeFieldsLength(fields.value, part, max)
  const commandMax = maxLength === MAX_DEFINED_DATA_BYTES ? MAX_DEFINED_DATA_BYTES - id.length - 2 : maxLength
  if (id.length + limit('m', commandMax) > maxLength || limit('s', maxLength) > maxLength)
    return fail({ code: 'invalid-position', detail: 'data length' })
  const { targets, qq } = addresses.value
  const attributes = collectAttributes(row)
  return ok(
    targets.map((zz, index) => {
      const circuit = targets.length > 1 ? `${names.value.circuit}.${index}` : names.value.circuit
      return {
        source: context.source,
        line: context.line,
        circuit,
        name: names.value.name,
        level: names.value.level,
        isWrite: type.isWrite,
        isPassive: type.isPassive,
        // The scan reads these messages at its own times.
        pollPriority: circuit.toLowerCase() === 'scan' ? 0 : type.pollPriority,
        qq,
        zz,
        pb,
        sb,
        id,
        chain,
        conditions: context.conditions,
        attributes,
        fields: fields.value,
      }
    }),
  )
}

/** `r` reads, `w` writes, anything else only listens. */
function parseType(text: string): MessageType {
  const lower = text.toLowerCase()
  const second = lower[1] ?? ''
  if (lower.startsWith('r')) {
    const isPolled = /^\d$/.test(second)
    return {
      isWrite: false,
      isPassive: false,
      pollPriority: isPolled ? Number(second) : 0,
      defaultName: isPolled ? text.slice(0, 1) + text.slice(2) : text,
    }
  }
  const isActive = lower.startsWith('w')
  return { isWrite: isActive || second === 'w', isPassive: !isActive, pollPriority: 0, defaultName: text }
}

/** A `*` in a default is replaced by the cell; without one the default only applies if the cell is empty. */
function combine(value: string, fallback: string): string {
  const star = fallback.indexOf('*')
  if (star < 0) return value === '' ? fallback : value
  return fallback.slice(0, star) + value + fallback.slice(star + 1)
}

function takeNames(
  row: CellsByColumn,
  defaults: ReadonlyMap<string, string> | undefined,
): Result<{ readonly circuit: string; readonly level: string; readonly name: string }, DefinitionLineFault> {
  const fallback = (column: string): string => defaults?.get(column) ?? ''
  let circuit = combine(takeColumnValue(row, 'circuit'), fallback('circuit'))
  let level = combine(takeColumnValue(row, 'level'), fallback('level'))
  const hash = circuit.indexOf('#')
  if (hash >= 0) {
    level = circuit.slice(hash + 1)
    circuit = circuit.slice(0, hash)
  }
  if (circuit === '') return fail({ code: 'missing-argument', detail: 'circuit' })
  if (!isCircuitName(circuit)) return fail({ code: 'invalid-argument', detail: `circuit name ${circuit}` })
  const ownName = takeColumnValue(row, 'name')
  const name = ownName === '' ? '' : combine(ownName, fallback('name'))
  if (name === '') return fail({ code: 'missing-argument', detail: 'name' })
  if (!isIdentifier(name)) return fail({ code: 'invalid-argument', detail: `name ${name}` })
  const comment = combine(takeColumnValue(row, 'comment'), fallback('comment'))
  if (comment !== '') row.set('comment', comment)
  return ok({ circuit, level, name })
}

const BYTE = { base: 16, min: 0, max: 0xff } as const

function takeAddresses(
  row: CellsByColumn,
  defaults: ReadonlyMap<string, string> | undefined,
): Result<{ readonly qq: number | undefined; readonly targets: readonly (number | undefined)[] }, DefinitionLineFault> {
  const qqText = takeColumnValue(row, 'qq') || (defaults?.get('qq') ?? '')
  const qq = qqText === '' ? undefined : parseBoundedNumber(qqText, BYTE)
  if (typeof qq === 'string') return fail({ code: qq, detail: `qq ${qqText}` })
  if (qq !== undefined && !isInitiatorAddress(qq)) return fail({ code: 'invalid-address', detail: `qq ${qqText}` })
  const zzText = takeColumnValue(row, 'zz') || (defaults?.get('zz') ?? '')
  const targets: number[] = []
  for (const entry of splitSemicolonList(zzText)) {
    const token = trimCell(entry)
    const zz = parseBoundedNumber(token, BYTE)
    if (typeof zz === 'string') return fail({ code: zz, detail: `zz ${token}` })
    const kind = classifyAddress(zz)
    const answers = kind === 'target'
    if (kind === 'reserved' || (targets[0] !== undefined && (classifyAddress(targets[0]) === 'target') !== answers))
      return fail({ code: 'invalid-address', detail: `zz ${token}` })
    targets.push(zz)
  }
  return ok({ qq, targets: targets.length === 0 ? [undefined] : targets })
}

interface MessageIds {
  readonly pb: number
  readonly sb: number
  readonly id: Uint8Array
  readonly chain: readonly ChainedMessagePart[]
  readonly maxLength: number
}

function takeIds(
  row: CellsByColumn,
  defaults: ReadonlyMap<string, string> | undefined,
  type: MessageType,
): Result<MessageIds, DefinitionLineFault> {
  const ownService = takeColumnValue(row, 'pbsb')
  const serviceText = ownService === '' ? (defaults?.get('pbsb') ?? '') : ownService
  const service = parseIdBytes(serviceText)
  if (typeof service === 'string') return fail({ code: service, detail: `pbsb ${serviceText}` })
  const [pb, sb] = service
  if (pb === undefined || sb === undefined || service.length !== 2)
    return fail({ code: 'invalid-argument', detail: `pbsb ${serviceText}` })
  const prefix = ownService === '' ? (defaults?.get('id') ?? '') : ''
  const chain: ChainedMessagePart[] = []
  let maxLength = 0
  let length = DEFAULT_CHAIN_LENGTH
  let hasLength = false
  const entries = splitSemicolonList(takeColumnValue(row, 'id'))
  for (const entry of entries.length === 0 ? [''] : entries) {
    const text = prefix + trimCell(entry)
    const [idText = '', lengthText] = text.split(/:(.*)/s)
    hasLength = lengthText !== undefined
    if (lengthText !== undefined) {
      const parsed = parseBoundedNumber(lengthText, { base: 10, min: 0, max: MAX_DEFINED_DATA_BYTES })
      if (typeof parsed === 'string') return fail({ code: parsed, detail: `id ${text}` })
      length = parsed
    }
    const id = parseIdBytes(idText)
    if (typeof id === 'string') return fail({ code: id, detail: `id ${idText}` })
    if (chain[0] !== undefined && id.length !== chain[0].id.length)
      return fail({ code: 'invalid-list', detail: `id length ${idText}` })
    chain.push({ id: Uint8Array.from(id), length })
    maxLength += length
    if (maxLength > 255) return fail({ code: 'invalid-position', detail: `id length ${idText}` })
  }
  const [first] = chain
  const firstId = first?.id ?? new Uint8Array()
  if (chain.length === 1)
    return ok({ pb, sb, id: firstId, chain: [], maxLength: hasLength ? maxLength : MAX_DEFINED_DATA_BYTES })
  if (type.isPassive) return fail({ code: 'invalid-list', detail: 'id (passive)' })
  if (!hasLength && length < MAX_DEFINED_DATA_BYTES) maxLength += MAX_DEFINED_DATA_BYTES - length
  return ok({ pb, sb, id: firstId.subarray(0, commonLength(chain)), chain, maxLength })
}

function commonLength(chain: readonly ChainedMessagePart[]): number {
  const first = chain[0]?.id ?? new Uint8Array()
  let length = 0
  while (length < first.length && chain.every(({ id }) => id[length] === first[length])) length++
  return length
}

/** Pairs of hexadecimal digits, with blanks between them. */
function parseIdBytes(text: string): number[] | DefinitionErrorCode {
  const bytes: number[] = []
  let at = 0
  for (;;) {
    while (text[at] === ' ') at++
    if (at >= text.length) return bytes
    const byte = /^[\da-f]{2}$/i.test(text.slice(at, at + 2)) ? Number.parseInt(text.slice(at, at + 2), 16) : undefined
    if (byte === undefined) return 'invalid-number'
    bytes.push(byte)
    at += 2
  }
}
