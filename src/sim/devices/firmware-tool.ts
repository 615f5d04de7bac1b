/**
 * Firmware tool: a tool of a board as its firmware declares it, and its form in a list.
 *
 * Properties are boolean, 32-bit integer or string; a property without default is required. Nothing else exists.
 */
import { omitUndefined, type JsonObject } from '../../core/json.ts'

export interface FirmwareToolProperty {
  readonly name: string
  readonly type: 'boolean' | 'integer' | 'string'
  readonly default?: boolean | number | string
  readonly min?: number
  readonly max?: number
}

export type FirmwareToolArguments = Readonly<Record<string, boolean | number | string>>

/** The return values of a tool's body in C++. */
export type FirmwareToolReturn = boolean | number | string | JsonObject | { readonly jpeg: Uint8Array }

/** An error that a C++ tool throws; its text is sent to the backend unchanged. */
export class FirmwareToolError extends Error {}

export interface FirmwareTool {
  readonly name: string
  readonly description: string
  readonly properties: readonly FirmwareToolProperty[]
  readonly userOnly?: boolean
  /** How long the main loop is blocked. */
  readonly takesMs?: number
  readonly run: (args: FirmwareToolArguments) => FirmwareToolReturn | Promise<FirmwareToolReturn>
}

/** Member order as the firmware prints it. */
export function toFirmwareToolJson(tool: FirmwareTool): JsonObject {
  const properties = Object.fromEntries(tool.properties.map((property) => [property.name, propertyJson(property)]))
  const required = tool.properties.filter((property) => property.default === undefined).map(({ name }) => name)
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) },
    ...(tool.userOnly === true ? { annotations: { audience: ['user'] } } : {}),
  }
}

function propertyJson({ type, default: value, min, max }: FirmwareToolProperty): JsonObject {
  return {
    type,
    ...omitUndefined({ default: value, minimum: min, maximum: max }),
  }
}
