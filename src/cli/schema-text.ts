/**
 * Schema text: a JSON Schema in a few words that fit into a table cell.
 */
import type { JsonSchema } from '../bus/capability.ts'

/** Bars are escaped, because they would end the cell. */
export function formatSchemaType(schema: JsonSchema): string {
  const { const: constant, enum: values, anyOf, oneOf, type, items } = schema
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(' \\| ')
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) return alternatives.map((each) => formatSchemaType(each as JsonSchema)).join(' \\| ')
  if (type === 'array') return `array of ${formatSchemaType((items ?? {}) as JsonSchema)}`
  if (Array.isArray(type)) return type.join(' \\| ')
  return typeof type === 'string' ? type : 'any'
}

/** Text on one line that stays inside its cell. */
export function formatTableCell(text: unknown): string {
  return typeof text === 'string' ? text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim() : ''
}
