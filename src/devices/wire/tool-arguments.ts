/**
 * Tool arguments: checks and coerces a caller's arguments against the schema that a device listed, before anything is
 * sent.
 *
 * The device itself checks little. Firmware up to 2.4.2 treats an argument of a wrong type as missing and silently uses
 * the default, truncates 33.9 to 33, ignores unknown keys, and finds keys without regard to case. Values whose meaning
 * is clear are coerced, and a fraction is truncated before its range is checked; everything else is refused with a
 * sentence that a model can act on.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { isSameJsonKeyIgnoringCase } from './case-insensitive-json-field.ts'
import type { DeviceTool } from './tool-list.ts'

export type DeviceArgumentsFault = { readonly kind: 'invalid-arguments'; readonly problems: readonly string[] }

const INT32 = { min: -2_147_483_648, max: 2_147_483_647 }

/** Devices keep a request in RAM while they parse it, and the smallest of them have little. */
const MAX_ARGUMENT_BYTES = 7_168

/**
 * The schema of `self.upgrade_firmware` has the description of `url` as that argument's default value, so without the
 * argument the device would try to flash itself from a sentence. These arguments must be given, whatever the schema
 * says.
 */
const REQUIRED_IN_TRUTH: ReadonlyMap<string, readonly string[]> = new Map([['self.upgrade_firmware', ['url']]])

export function checkDeviceToolArguments(
  tool: Pick<DeviceTool, 'name' | 'inputSchema'>,
  given: Json | undefined,
): Result<JsonObject, DeviceArgumentsFault> {
  if (given !== undefined && given !== null && !isJsonObject(given))
    return fail({ kind: 'invalid-arguments', problems: ['arguments must be an object'] })
  const properties = isJsonObject(tool.inputSchema['properties']) ? tool.inputSchema['properties'] : {}
  const checked: [string, Json][] = []
  const problems: string[] = []
  for (const [key, value] of Object.entries(given ?? {})) {
    const name = propertyNamed(properties, key)
    if (name === undefined) problems.push(unknownKey(key, Object.keys(properties)))
    else if (checked.some(([taken]) => taken === name)) problems.push(`${name} is given twice`)
    else {
      const coerced = coerce(name, value, properties[name])
      if (coerced.ok) checked.push([name, coerced.value])
      else problems.push(coerced.fault)
    }
  }
  for (const name of required(tool))
    if (!checked.some(([taken]) => taken === name) && !problems.some((text) => text.startsWith(`${name} `)))
      problems.push(`${name} is required`)
  const result = Object.fromEntries(checked)
  const written = JSON.stringify(result)
  // In the firmware's strings a NUL is the end, so the device would use less of the text than was checked.
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(written)) problems.push('a text with a NUL character is not sent')
  const bytes = Buffer.byteLength(written)
  if (bytes > MAX_ARGUMENT_BYTES) problems.push(`arguments take ${bytes} bytes, ${MAX_ARGUMENT_BYTES} allowed`)
  return problems.length === 0 ? ok(result) : fail({ kind: 'invalid-arguments', problems })
}

/** The schema that a call is checked against: required arguments are marked as such, and have no default. */
export function createToolArgumentSchema(tool: Pick<DeviceTool, 'name' | 'inputSchema'>): JsonObject {
  const names = REQUIRED_IN_TRUTH.get(tool.name)
  const { properties } = tool.inputSchema
  if (names === undefined || !isJsonObject(properties)) return tool.inputSchema
  const needed = Object.entries(properties).map(([name, property]) => {
    if (!names.includes(name) || !isJsonObject(property)) return [name, property]
    const { default: _, ...rest } = property
    return [name, rest]
  })
  return { ...tool.inputSchema, properties: Object.fromEntries(needed) as JsonObject, required: required(tool) }
}

function propertyNamed(properties: JsonObject, key: string): string | undefined {
  return Object.hasOwn(properties, key)
    ? key
    : Object.keys(properties).find((name) => isSameJsonKeyIgnoringCase(name, key))
}

function unknownKey(key: string, names: readonly string[]): string {
  const known = names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`
  return `${key.slice(0, 64)} is not an argument of this tool; ${known}`
}

function required(tool: Pick<DeviceTool, 'name' | 'inputSchema'>): readonly string[] {
  const listed = tool.inputSchema['required']
  const names = Array.isArray(listed) ? listed.filter((name): name is string => typeof name === 'string') : []
  return [...new Set([...names, ...(REQUIRED_IN_TRUTH.get(tool.name) ?? [])])]
}

function coerce(name: string, value: Json, schema: Json | undefined): Result<Json, string> {
  if (!isJsonObject(schema)) return ok(value)
  const coerced = coerceKind(name, value, schema)
  const choices = schema['enum']
  if (!coerced.ok || !Array.isArray(choices) || choices.includes(coerced.value)) return coerced
  return fail(`${name} must be one of ${choices.join(', ')}`)
}

function coerceKind(name: string, value: Json, schema: JsonObject): Result<Json, string> {
  switch (schema['type']) {
    case 'boolean':
      return coerceBoolean(name, value)
    case 'integer':
      return coerceInteger(name, value, schema)
    case 'number':
      return typeof value === 'number' ? inRange(name, value, schema) : fail(`${name} must be a number`)
    case 'string':
      return coerceString(name, value, schema)
    case 'array':
      return Array.isArray(value) ? ok(value) : fail(`${name} must be a list`)
    case 'object':
      return isJsonObject(value) ? ok(value) : fail(`${name} must be an object`)
    default:
      return ok(value)
  }
}

function coerceBoolean(name: string, value: Json): Result<Json, string> {
  if (typeof value === 'boolean') return ok(value)
  if (value === 1 || value === 'true') return ok(true)
  if (value === 0 || value === 'false') return ok(false)
  return fail(`${name} must be true or false`)
}

function coerceInteger(name: string, value: Json, schema: JsonObject): Result<Json, string> {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number') return fail(`${name} must be a whole number`)
  const whole = Math.trunc(number)
  if (whole < INT32.min || whole > INT32.max) return fail(`${name} must fit 32 bits`)
  // `+ 0` turns the −0 that truncation can produce into 0; JSON would write both as 0 anyway.
  return inRange(name, whole + 0, schema)
}

function coerceString(name: string, value: Json, schema: JsonObject): Result<Json, string> {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return fail(`${name} must be a text`)
  const { maxLength } = schema
  if (typeof maxLength === 'number' && text.length > maxLength)
    return fail(`${name} has ${text.length} characters, ${maxLength} allowed`)
  return ok(text)
}

function inRange(name: string, value: number, schema: JsonObject): Result<Json, string> {
  const { minimum, maximum } = schema
  if (typeof minimum === 'number' && value < minimum) return fail(`${name} must be at least ${minimum}, got ${value}`)
  if (typeof maximum === 'number' && value > maximum) return fail(`${name} must be at most ${maximum}, got ${value}`)
  return ok(value)
}
