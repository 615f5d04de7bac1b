/**
 * Tool pins: a device's definition of a tool, pinned by its hash. A tool with another definition counts as another
 * tool, even under the same name.
 *
 *   first listing of a device ▸ all pinned        later ▸ same hash: available    new or changed: withheld
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/json.ts'
import type { DeviceTool } from '../wire/tool-list.ts'

/** Tool name → the definition that a person approved, or that the first listing had. */
export type DeviceToolPins = ReadonlyMap<string, DeviceToolPin>

export interface DeviceToolPin {
  readonly hash: string
  readonly definition: DeviceTool
}

export interface WithheldDeviceTool {
  readonly tool: DeviceTool
  readonly hash: string
  /** The pinned definition; absent for a tool that was not listed before. */
  readonly pinned: DeviceTool | undefined
}

export interface ToolPinComparison {
  readonly available: readonly DeviceTool[]
  readonly withheld: readonly WithheldDeviceTool[]
}

const hashes = new WeakMap<DeviceTool, string>()

/** The hash of everything in the definition that a model or the guard reads. Cached per object. */
export function computeToolDefinitionHash(tool: DeviceTool): string {
  const known = hashes.get(tool)
  if (known !== undefined) return known
  const { name, description, inputSchema, userOnly } = tool
  const digest = hash('sha256', canonicalJson({ name, description, inputSchema, userOnly }))
  hashes.set(tool, digest)
  return digest
}

export function compareToolsWithPins(tools: readonly DeviceTool[], pins: DeviceToolPins): ToolPinComparison {
  const isPinned = (tool: DeviceTool): boolean => pins.get(tool.name)?.hash === computeToolDefinitionHash(tool)
  return {
    available: tools.filter(isPinned),
    withheld: tools
      .filter((tool) => !isPinned(tool))
      .map((tool) => ({ tool, hash: computeToolDefinitionHash(tool), pinned: pins.get(tool.name)?.definition })),
  }
}

/** A digest of the withheld tools, so that an approval is valid only for the definitions that were shown. */
export function computeWithheldToolsDigest(withheld: readonly WithheldDeviceTool[]): string | undefined {
  if (withheld.length === 0) return undefined
  return hash('sha256', canonicalJson(withheld.map((each) => each.hash).toSorted())).slice(0, 16)
}
