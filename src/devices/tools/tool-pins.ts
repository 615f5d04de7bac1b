/**
 * Tool pins: what a device says a tool is, pinned by its hash. A tool that is described otherwise tomorrow is another
 * tool, whatever it is called.
 *
 *   first listing of a device ▸ all pinned        later ▸ same hash: available    new or changed: withheld
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/json.ts'
import type { DeviceTool } from '../wire/tool-list.ts'

/** Tool name → the definition that somebody, or the first listing, stood for. */
export type DeviceToolPins = ReadonlyMap<string, DeviceToolPin>

export interface DeviceToolPin {
  readonly hash: string
  readonly definition: DeviceTool
}

export interface WithheldDeviceTool {
  readonly tool: DeviceTool
  readonly hash: string
  /** What was pinned; absent for a tool that was not there before. */
  readonly pinned: DeviceTool | undefined
}

export interface ToolPinComparison {
  readonly available: readonly DeviceTool[]
  readonly withheld: readonly WithheldDeviceTool[]
}

const hashes = new WeakMap<DeviceTool, string>()

/** Over everything of the definition that a model or the guard gets to see. Remembered per object. */
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

/** Names what is withheld, so that an approval is for what was looked at and not for what came after. */
export function computeWithheldToolsDigest(withheld: readonly WithheldDeviceTool[]): string | undefined {
  if (withheld.length === 0) return undefined
  return hash('sha256', canonicalJson(withheld.map((each) => each.hash).toSorted())).slice(0, 16)
}
