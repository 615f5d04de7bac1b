/**
 * Tool name: a device's tools as capabilities. What the device calls a tool is kept where clients can take it.
 *
 *   kitchen + self.lamp.turn_on   ▸  device.kitchen.self.lamp.turn_on
 *   kitchen + 查询天气              ▸  device.kitchen.tool-5f0c1d2e        the mark follows from the whole name
 *
 * The way back is by table: the offer's params say device and tool, and `parseSlugFromCapabilityName` takes the device out of any name.
 */
import { hash } from 'node:crypto'

/** What MCP clients and the bus take: A-Z a-z 0-9 _ - and dots that separate something. */
const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/
/** The bus takes 128; with `device.` and a slug in front, this leaves room. */
const MAX_PLAIN = 64
const MARK_LENGTH = 8

export interface ToolWithCapabilityName<Tool> {
  readonly capability: string
  readonly tool: Tool
}

/**
 * One name per tool. Names that need no change go first, so that an odd name can never take the place of a plain one,
 * in whatever order a device lists them; of two that still collide the later is left out.
 */
export function assignCapabilityNames<Tool extends { readonly name: string }>(
  slug: string,
  tools: readonly Tool[],
): { readonly named: readonly ToolWithCapabilityName<Tool>[]; readonly collided: readonly Tool[] } {
  const taken = new Map<string, Tool>()
  const plainFirst = [...tools.filter(isPlain), ...tools.filter((tool) => !isPlain(tool))]
  const collided: Tool[] = []
  for (const tool of plainFirst) {
    const capability = `device.${slug}.${isPlain(tool) ? tool.name : marked(tool.name)}`
    if (taken.has(capability)) collided.push(tool)
    else taken.set(capability, tool)
  }
  return { named: [...taken].map(([capability, tool]) => ({ capability, tool })), collided }
}

/** The device in a capability's name. */
export function parseSlugFromCapabilityName(capability: string): string | undefined {
  return /^device\.([a-z0-9-]+)\../.exec(capability)?.[1]
}

function isPlain({ name }: { readonly name: string }): boolean {
  return name.length <= MAX_PLAIN && PLAIN.test(name)
}

function marked(name: string): string {
  const words = name
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, MAX_PLAIN - MARK_LENGTH - 1)
  return `${words === '' ? 'tool' : words}-${hash('sha256', name, 'hex').slice(0, MARK_LENGTH)}`
}
