/**
 * Tool capability names: the capability names of a device's tools. The device's own name for a tool is kept if clients
 * accept it.
 *
 *   kitchen + self.lamp.turn_on   ▸  device.kitchen.self.lamp.turn_on
 *   kitchen + 查询天气              ▸  device.kitchen.tool-5f0c1d2e        the suffix is a hash of the whole name
 *
 * The tool of a capability is found in its offer's params, which contain device and tool.
 */
import { hash } from 'node:crypto'

/** Names that MCP clients and the bus accept: A-Z a-z 0-9 _ - and single dots between them. */
const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/
/** The bus accepts 128 characters; with `device.` and a slug in front, this leaves enough room. */
const MAX_PLAIN = 64
const MARK_LENGTH = 8

export interface ToolWithCapabilityName<Tool> {
  readonly capability: string
  readonly tool: Tool
}

/**
 * One name per tool. Names that need no change are assigned first, so that a changed name never takes the place of a
 * plain one, whatever the order in the list; of two that still collide, the later is left out.
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
