/**
 * CSV columns: the columns that the first line of a definition file names, and the cells of later lines by these names.
 *
 *   type,circuit,name,…,id,*name,part,type,divisor/values,unit,comment
 *                          └ repeats for every field
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { trimCell } from './csv-lines.ts'
import type { DefinitionLineFault } from './definition-error.ts'
import type { CellsByColumn } from './field-rows.ts'

export interface ColumnLayout {
  /** Names in lower case; undefined for a column in another language. */
  readonly names: readonly (string | undefined)[]
  /** Whether a column begins a group, by position. */
  readonly starts: ReadonlySet<number>
}

export interface CsvRowCells {
  readonly main: CellsByColumn
  readonly groups: CellsByColumn[]
}

export interface CsvColumnSchema {
  readonly builtIn: readonly string[]
  /** The columns before the groups that must be filled, and the error if they are not. */
  readonly required: readonly string[]
  readonly missing: string
  /** Templates have nothing but a name before their fields. */
  readonly isTemplate: boolean
}

export const MESSAGE_COLUMNS: CsvColumnSchema = {
  builtIn: 'type,circuit,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'.split(','),
  required: ['type', 'name', 'pbsb'],
  missing: 'missing message type/name/pbsb',
  isTemplate: false,
}

export const TEMPLATE_COLUMNS: CsvColumnSchema = {
  builtIn: ['name', '*type', 'divisor/values', 'unit', 'comment', '*name', 'type', 'divisor/values', 'unit', 'comment'],
  required: ['name'],
  missing: 'missing template name',
  isTemplate: true,
}

/** `cells` is empty for a first line that is empty or a comment: the built-in columns apply. */
export function readColumnLayout(
  cells: readonly string[],
  kind: CsvColumnSchema,
  language: string,
): Result<ColumnLayout, DefinitionLineFault> {
  const header = cells.length === 0 ? kind.builtIn : cells
  const names: (string | undefined)[] = []
  const starts = new Set<number>()
  let isGroup = false
  let seen = new Map<string, number>()
  for (const [position, cell] of header.entries()) {
    const lower = trimCell(cell.toLowerCase())
    const isStart = lower.startsWith('*')
    const full = isStart ? lower.slice(1) : lower
    if (full === '') return fail({ code: 'invalid-argument', detail: `missing name in column ${position}` })
    if (isStart) {
      const fault = groupFault(seen, isGroup, kind)
      if (fault !== undefined) return fail(fault)
      isGroup = true
      starts.add(position)
      seen = new Map()
    }
    const [, base = full, variant] = /^(.+)\.(..)$/.exec(full) ?? []
    const previous = seen.get(base)
    if (previous !== undefined) {
      if (variant === undefined) {
        const owner = kind.isTemplate ? 'template' : 'message'
        return fail({ code: 'invalid-argument', detail: `duplicate ${isGroup ? 'field' : owner} ${cell}` })
      }
      if (variant !== language) {
        names.push(undefined)
        continue
      }
      // The replaced column no longer begins a group, either.
      names[previous] = undefined
      starts.delete(previous)
    }
    names.push(base)
    seen.set(base, position)
  }
  const fault = groupFault(seen, isGroup, kind) ?? (kind.isTemplate && !isGroup ? NO_FIELDS : undefined)
  return fault === undefined ? ok({ names, starts }) : fail(fault)
}

const NO_FIELDS: DefinitionLineFault = { code: 'end-of-input', detail: 'missing template fields' }

/** Whether the columns up to here are complete: those of the message, or of one group. */
function groupFault(
  seen: ReadonlyMap<string, number>,
  isGroup: boolean,
  kind: CsvColumnSchema,
): DefinitionLineFault | undefined {
  if (isGroup) return seen.has('type') ? undefined : { code: 'end-of-input', detail: 'missing field type' }
  if (!kind.required.every((name) => seen.has(name))) return { code: 'end-of-input', detail: kind.missing }
  return kind.isTemplate && seen.size > 1 ? { code: 'invalid-argument', detail: 'extra template columns' } : undefined
}

/** A group without a filled cell is dropped, even in the middle. */
export function mapRowToColumns(
  { names, starts }: ColumnLayout,
  cells: readonly string[],
): Result<CsvRowCells, DefinitionLineFault> {
  const main: CellsByColumn = new Map()
  const groups: CellsByColumn[] = []
  let current = main
  let isEmpty = true
  let repeatFrom = -1
  let column = 0
  for (const cell of cells) {
    if (column >= names.length) {
      if (repeatFrom < 0) return fail({ code: 'invalid-argument', detail: 'named columns exceeded' })
      column = repeatFrom
    }
    const name = names[column]
    if (starts.has(column)) {
      if (isEmpty) current.clear()
      if (!isEmpty || current === main) {
        current = new Map()
        groups.push(current)
      }
      repeatFrom = column
      isEmpty = true
    }
    column++
    if (name === undefined) continue
    if (cell !== '') isEmpty = false
    current.set(name, cell)
  }
  if (isEmpty) {
    current.clear()
    if (current !== main) groups.pop()
  }
  return ok({ main, groups })
}
