/**
 * Definition file parser: reads the lines of one definition file in order. The first invalid line ends the file; the
 * lines before it are kept.
 *
 *   header ▸ *default │ *[condition] │ [condition]!include │ message
 */
import type { ColumnLayout, CsvRowCells } from './csv-columns.ts'
import { MESSAGE_COLUMNS, mapRowToColumns, readColumnLayout } from './csv-columns.ts'
import type { MessageCondition } from './message-condition.ts'
import { createCondition, narrowCondition } from './message-condition.ts'
import { parseCsvLines, trimCell } from './csv-lines.ts'
import type { DefinitionLineFault, DefinitionFileFault } from './definition-error.ts'
import type { CellsByColumn } from './field-rows.ts'
import { splitSemicolonList } from './field-rows.ts'
import type { DefinitionFileDefaults } from './definition-file-name.ts'
import type { MessageDefinition, MessageRowDefaults } from './message-definition.ts'
import { createMessageDefinitions } from './message-definition.ts'
import type { FieldTemplates } from './field-templates.ts'
import { MISSING_COLUMNS_FAULT } from './field-templates.ts'

/** An instruction to read another file after this one. */
export interface FileLoadInstruction {
  /** Of several `!load` of a file, only the first whose condition holds applies. */
  readonly isExclusive: boolean
  readonly path: string
  readonly conditions: readonly MessageCondition[]
  /** Defaults that are passed on to the file. */
  readonly defaults: DefinitionFileDefaults
}

export interface DefinitionFileParserContext {
  /** Path of the file, from the root of the definitions. */
  readonly source: string
  readonly defaults: DefinitionFileDefaults
  readonly templates: FieldTemplates
  readonly language: string
  /** Whether a condition that is defined twice is accepted. */
  readonly keepsFirstCondition: boolean
  /** May refuse a message, as a running ebusd refuses duplicates. */
  readonly accept: (message: MessageDefinition) => DefinitionLineFault | undefined
}

export interface DefinitionFileContent {
  readonly instructions: readonly FileLoadInstruction[]
  /** Also contains conditions that a use derived with its own values. */
  readonly conditions: readonly MessageCondition[]
  readonly fault: DefinitionFileFault | undefined
}

export function parseDefinitionFile(text: string, context: DefinitionFileParserContext): DefinitionFileContent {
  const reader = new DefinitionReader(context)
  let fault: DefinitionFileFault | undefined
  for (const { line, cells } of parseCsvLines(text)) {
    const found = reader.read(line, cells)
    if (found === undefined) continue
    fault = { ...found, file: context.source, line }
    break
  }
  return { instructions: reader.instructions, conditions: [...reader.conditions.values()], fault }
}

class DefinitionReader {
  readonly instructions: FileLoadInstruction[] = []
  readonly conditions = new Map<string, MessageCondition>()
  readonly #context: DefinitionFileParserContext
  readonly #defaults = new Map<string, MessageRowDefaults>()
  #layout: ColumnLayout | undefined

  constructor(context: DefinitionFileParserContext) {
    this.#context = context
  }

  read(line: number, cells: string[]): DefinitionLineFault | undefined {
    if (line === 1) {
      const layout = readColumnLayout(cells, MESSAGE_COLUMNS, this.#context.language)
      if (!layout.ok) return layout.fault
      this.#layout = layout.value
      return undefined
    }
    const [first] = cells
    if (first === undefined) return undefined
    if (this.#layout === undefined) return MISSING_COLUMNS_FAULT
    const isDefault = first.startsWith('*')
    const row = mapRowToColumns(this.#layout, isDefault ? [first.slice(1), ...cells.slice(1)] : cells)
    if (!row.ok) return row.fault
    return isDefault ? this.#readDefault(row.value) : this.#readRow(line, row.value)
  }

  #readDefault({ main, groups }: CsvRowCells): DefinitionLineFault | undefined {
    const type = main.get('type') ?? ''
    main.delete('type')
    if (type.startsWith('[') && type.endsWith(']')) return this.#defineCondition(type.slice(1, -1), main)
    const { zz, circuit, suffix, ident } = this.#context.defaults
    if (type === '')
      return circuit === '' ? { code: 'invalid-argument', detail: 'invalid default definition' } : undefined
    const cells = new Map([
      ['zz', zz],
      ['circuit', circuit],
      ['name', ident],
    ])
    for (const [column, cell] of main) {
      const value = column === 'circuit' && circuit !== '' ? withSuffix(cell, circuit, suffix) : cell
      if (value !== '' || !cells.get(column)) cells.set(column, value)
    }
    this.#defaults.set(type, { cells, groups })
    return undefined
  }

  #defineCondition(name: string, row: CellsByColumn): DefinitionLineFault | undefined {
    if (/[[\]]/.test(name)) return { code: 'invalid-argument', detail: `invalid condition name ${name}` }
    if (this.conditions.has(name))
      return this.#context.keepsFirstCondition
        ? undefined
        : { code: 'duplicate-name', detail: `condition ${name} already defined` }
    const condition = createCondition(name, row, this.#context.defaults.zz)
    if (!condition.ok) return { code: condition.fault, detail: 'invalid condition' }
    this.conditions.set(name, condition.value)
    return undefined
  }

  #readRow(line: number, row: CsvRowCells): DefinitionLineFault | undefined {
    const { main, groups } = row
    let types = main.get('type') ?? ''
    main.delete('type')
    const conditions: MessageCondition[] = []
    while (types.startsWith('[')) {
      const end = types.indexOf(']')
      if (end < 0) break
      const condition = this.#findCondition(types.slice(1, end))
      if ('code' in condition) return condition
      conditions.push(condition)
      types = types.slice(end + 1)
    }
    if (types.startsWith('!')) return this.#addInstruction(types.slice(1), row, conditions)
    if (types.includes(']')) return { code: 'invalid-argument', detail: `invalid type ${types}` }
    const { source, templates, accept } = this.#context
    const context = { source, line, conditions, templates, defaults: this.#defaults }
    for (const type of types === '' ? ['r'] : splitSemicolonList(types)) {
      const messages = createMessageDefinitions(trimCell(type), { main, groups }, context)
      if (!messages.ok) return messages.fault
      for (const message of messages.value) {
        const fault = accept(message)
        if (fault !== undefined) return fault
      }
    }
    return undefined
  }

  #findCondition(text: string): MessageCondition | DefinitionLineFault {
    const known = this.conditions.get(text)
    if (known !== undefined) return known
    const at = text.search(/[=<>]/)
    const base = at < 0 ? undefined : this.conditions.get(text.slice(0, at))
    if (base === undefined) return { code: 'not-found', detail: `condition ${text} not defined` }
    const derived = narrowCondition(base, text.slice(at))
    if (derived === undefined)
      return { code: 'invalid-argument', detail: `derive condition with values ${text.slice(at)} failed` }
    this.conditions.set(text, derived)
    return derived
  }

  #addInstruction(
    type: string,
    { main, groups }: CsvRowCells,
    conditions: readonly MessageCondition[],
  ): DefinitionLineFault | undefined {
    const argument = main.get('file') ?? firstFilled(main)
    if ((type !== 'load' && type !== 'include') || groups.length > 0 || main.size === 0)
      return { code: 'invalid-argument', detail: 'invalid instruction' }
    const { source, defaults } = this.#context
    const path = source.slice(0, source.lastIndexOf('/') + 1) + argument
    this.instructions.push({ isExclusive: type === 'load', path, conditions, defaults })
    return undefined
  }
}

/** The first in the alphabetical order of the column names, which is usually the circuit. */
function firstFilled(row: CellsByColumn): string {
  const [first] = [...row].filter(([, value]) => value !== '').toSorted(([left], [right]) => (left < right ? -1 : 1))
  return first?.[1] ?? ''
}

/** The circuit number in a file's name is inserted after the circuit and before the level. */
function withSuffix(cell: string, circuit: string, suffix: string): string {
  if (cell === '' || cell.startsWith('#')) return `${circuit}${suffix}${cell}`
  if (suffix === '' || cell.includes('.')) return cell
  const level = cell.indexOf('#')
  return level < 0 ? cell + suffix : cell.slice(0, level) + suffix + cell.slice(level)
}
