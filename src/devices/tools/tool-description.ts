/**
 * Tool description: a device's description of a tool, with a prefix that says which device wrote it.
 */
import { sanitizeLine } from '../../core/untrusted-text.ts'

const MAX_DESCRIPTION = 1_024
const MAX_READ = 2 * MAX_DESCRIPTION
const MAX_NAME = 64

export function sanitizeDeviceName(name: string, slug: string): string {
  return sanitizeLine(name, MAX_NAME) || slug
}

export type ToolNameRewriter = (text: string) => string

export interface ToolDescriptionInput {
  readonly slug: string
  readonly name: string
  readonly description: string
  /**
   * Replaces the names of other tools of the device by their names on the bus, since descriptions refer to each other.
   */
  readonly rename: ToolNameRewriter
  readonly online: boolean
}

/** The author of the text comes first, so that no description can claim another one. */
export function formatToolDescription({ slug, name, description, rename, online }: ToolDescriptionInput): string {
  const state = online ? '' : ' Offline now.'
  const words = sanitizeLine(rename(beginning(description)), MAX_DESCRIPTION)
  const quote = words === '' ? 'The device does not describe it.' : `The device says: ${words}`
  return `On the device ${JSON.stringify(sanitizeDeviceName(name, slug))} (${slug}).${state} ${quote}`
}

/**
 * Names are replaced only in the beginning of the text, which is shown. It is somewhat longer than that, because many
 * of its characters may be invisible.
 */
function beginning(text: string): string {
  return text.length <= MAX_READ ? text : `${text.slice(0, MAX_READ)}…`
}

/**
 * Maps tool names to capabilities, for all tools of a device; made once for all their descriptions. Longer names come
 * first, or `self.lamp.on` would be replaced inside of `self.lamp.on_for`.
 */
export function createToolNameRewriter(capabilities: ReadonlyMap<string, string>): ToolNameRewriter {
  const names = [...capabilities.keys()]
    .filter((name) => name.includes('.') || name.includes('_'))
    .toSorted((left, right) => right.length - left.length)
  if (names.length === 0) return (text) => text
  const pattern = new RegExp(`(?<![\\w.-])(?:${names.map(escaped).join('|')})(?![\\w-]|\\.\\w)`, 'g')
  return (text) => text.replaceAll(pattern, (name) => capabilities.get(name) ?? name)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}
