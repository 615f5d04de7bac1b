/**
 * Templates: named fields of a `_templates.csv`, from which others derive.
 *
 *   name[:fieldname],type,divisor/values,unit,comment[,name,type,…]
 */
import { TEMPLATE_COLUMNS, mapRowToColumns, readColumnLayout } from './csv-columns.ts'
import type { ColumnLayout } from './csv-columns.ts'
import { parseCsvLines } from './csv-lines.ts'
import { MAX_DEFINED_DATA_BYTES } from './field-data-type.ts'
import type { DefinitionLineFault, DefinitionFileFault } from './definition-error.ts'
import type { DefinedField } from './field.ts'
import { createFields } from './field-rows.ts'

export type FieldTemplates = ReadonlyMap<string, readonly DefinedField[]>

export interface TemplateFileContent {
  readonly templates: FieldTemplates
  /** The fault that ended the reading; templates before it are kept. */
  readonly fault: DefinitionFileFault | undefined
}

/** Starts with `inherited`, which may be redefined. No line may use a later one. */
export function parseTemplateFile(
  text: string,
  {
    file,
    inherited,
    language,
  }: { readonly file: string; readonly inherited: FieldTemplates; readonly language: string },
): TemplateFileContent {
  const templates = new Map(inherited)
  let layout: ColumnLayout | undefined
  for (const { line, cells } of parseCsvLines(text)) {
    if (line === 1) {
      const columns = readColumnLayout(cells, TEMPLATE_COLUMNS, language)
      if (!columns.ok) return { templates, fault: { ...columns.fault, file, line } }
      layout = columns.value
      continue
    }
    if (cells.length === 0) continue
    const fault = layout === undefined ? MISSING_COLUMNS_FAULT : addTemplate(layout, cells, templates)
    if (fault !== undefined) return { templates, fault: { ...fault, file, line } }
  }
  return { templates, fault: undefined }
}

export const MISSING_COLUMNS_FAULT: DefinitionLineFault = { code: 'invalid-argument', detail: 'missing field map' }

function addTemplate(
  layout: ColumnLayout,
  cells: readonly string[],
  templates: Map<string, readonly DefinedField[]>,
): DefinitionLineFault | undefined {
  const row = mapRowToColumns(layout, cells)
  if (!row.ok) return row.fault
  const { main, groups } = row.value
  const [, name = '', fieldName = name] = /^([^:]*)(?::(.*))?$/s.exec(main.get('name') ?? '') ?? []
  if (groups.length === 0) return { code: 'end-of-input', detail: 'no fields' }
  const [first] = groups
  if (first !== undefined && !first.get('name')) first.set('name', fieldName)
  const fields = createFields(groups, {
    isTemplate: true,
    isWrite: false,
    hasNoAnswer: false,
    maxLength: MAX_DEFINED_DATA_BYTES,
    templates,
  })
  if (!fields.ok) return fields.fault
  // A template without a name gets that of its first field.
  templates.set(name === '' ? (fields.value[0]?.name ?? '') : name, fields.value)
  return undefined
}
