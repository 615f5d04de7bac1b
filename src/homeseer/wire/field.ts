/**
 * Field: reading one member of an object a stranger sent. HomeSeer writes lower snake case, older code and the fakes of
 * other clients write PascalCase, so each reader takes the names it accepts, the real one first.
 *
 * A member of the wrong type reads as absent: one odd device must not hide two thousand good ones.
 *
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

export function field(record: JsonObject, ...names: readonly string[]): Json | undefined {
  for (const name of names) if (Object.hasOwn(record, name)) return record[name]
  return undefined
}

export function textField(record: JsonObject, ...names: readonly string[]): string | undefined {
  const value = field(record, ...names)
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : undefined
}

/** What people read in lists and answer for. Nobody's is as long as this; what is longer would fill every list. */
const MAX_NAME = 512
/** Some plug-ins show a small page. */
const MAX_STATUS = 4_096

export function nameField(record: JsonObject, ...names: readonly string[]): string {
  return cut(textField(record, ...names) ?? '', MAX_NAME)
}

export function statusField(record: JsonObject, ...names: readonly string[]): string {
  return cut(textField(record, ...names) ?? '', MAX_STATUS)
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`
}

/** Also takes numbers in quotes, which some replies use; `''` and `'None'` are not numbers. */
export function numberField(record: JsonObject, ...names: readonly string[]): number | undefined {
  return toNumber(field(record, ...names))
}

export function booleanField(record: JsonObject, ...names: readonly string[]): boolean | undefined {
  const value = field(record, ...names)
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  return undefined
}

export function objectField(record: JsonObject, ...names: readonly string[]): JsonObject | undefined {
  const value = field(record, ...names)
  return isJsonObject(value) ? value : undefined
}

/** The objects of a list; members that are none are left out. */
export function objectsField(record: JsonObject, ...names: readonly string[]): readonly JsonObject[] | undefined {
  const value = field(record, ...names)
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : undefined
}

export function numbersField(record: JsonObject, ...names: readonly string[]): readonly number[] {
  const value = field(record, ...names)
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? (value as readonly Json[]) : []
  return items.map(toNumber).filter((item) => item !== undefined)
}

export function textsField(record: JsonObject, ...names: readonly string[]): readonly string[] {
  const value = field(record, ...names)
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : []
}

function toNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}
