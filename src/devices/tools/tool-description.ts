/**
 * Tool description: a device's words about one of its tools, with whose words they are.
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
  /** Other tools of the device by the names they have here: descriptions refer to each other. */
  readonly rename: ToolNameRewriter
  readonly online: boolean
}

/** Whose words these are comes first, so that no description can claim to be something else. */
export function formatToolDescription({ slug, name, description, rename, online }: ToolDescriptionInput): string {
  const state = online ? '' : ' Offline now.'
  const words = sanitizeLine(rename(beginning(description)), MAX_DESCRIPTION)
  const said = words === '' ? 'The device says nothing about it.' : `The device says: ${words}`
  return `On the device ${JSON.stringify(sanitizeDeviceName(name, slug))} (${slug}).${state} ${said}`
}

/** Nobody looks for names where nobody will read. Some more than is shown, because much of it may be invisible. */
function beginning(text: string): string {
  return text.length <= MAX_READ ? text : `${text.slice(0, MAX_READ)}…`
}

/**
 * Tool name → capability, of all tools of a device; made once for all their descriptions. Longest names first, or
 * `self.lamp.on` would be rewritten inside `self.lamp.on_for`.
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
